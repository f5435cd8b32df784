package tasks

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/deskhand/deskhand/runtime/fault"
)

func refuse(code, hint, format string, args ...any) *fault.Fault {
	return fault.New(code, fmt.Sprintf(format, args...), hint)
}

// later is a refusal of what may be possible in a while.
func later(code, hint, format string, args ...any) *fault.Fault {
	f := refuse(code, hint, format, args...)
	f.Retryable = true
	return f
}

// lists says which tool lists what has an id.
var lists = map[string]string{
	"project_id":           "list_projects and pass one of its project_id",
	"repo_id":              "list_repos with the project_id and pass one of its repo_id",
	"task_id":              "list_tasks with the project_id and pass one of its task_id",
	"attempt_id":           "list_task_attempts with the task_id and pass one of its attempt_id",
	"session_id":           "get_attempt_status with the attempt_id and pass its latest_session_id",
	"execution_process_id": "get_attempt_status with the attempt_id and pass its latest_execution_process_id",
}

func unknown(field, id string) *fault.Fault {
	return refuse(NotFound, "call "+lists[field], "there is no %s %s", noun(field), brief(id))
}

func noun(field string) string {
	return strings.ReplaceAll(strings.TrimSuffix(field, "_id"), "_", " ")
}

// parseID gives an id as it is in the store.
func parseID(field, id string) (string, error) {
	if id == "" {
		return "", refuse(MissingRequired, "call "+lists[field], "%s is missing", field)
	}
	u, err := uuid.Parse(id)
	if err != nil || len(id) != 36 {
		return "", refuse(InvalidArgument, "call "+lists[field], "%s %q is not a UUID", field, brief(id))
	}
	return u.String(), nil
}

// newID makes an id; later ones of this process sort behind earlier ones.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// brief is a value from outside in a message.
func brief(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "..."
}

// text checks a text from outside: what a database takes, and not too long.
func text(field, s string, most int) error {
	switch {
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return refuse(InvalidArgument, "pass "+field+" as text", "%s is not valid UTF-8 without NUL", field)
	case utf8.RuneCountInString(s) > most:
		return refuse(InvalidArgument, fmt.Sprintf("shorten %s, or put the rest into a file of the repository", field),
			"%s has %d characters, %d at most are taken", field, utf8.RuneCountInString(s), most)
	}
	return nil
}

// Bounds of texts, in characters, as the schemas of the tools publish them. A
// command line takes 128 KiB in one argument: an agent that gets a prompt so
// does not start with a longer one.
const (
	mostName   = 200
	mostTitle  = 500
	mostPrompt = 100_000
	mostBranch = 1000
)
