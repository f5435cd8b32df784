package tasks

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

func refuse(code, hint, format string, args ...any) *fault.Fault {
	return fault.New(code, fmt.Sprintf(format, args...), hint)
}

// retryable returns a fault for something that may work later.
func retryable(code, hint, format string, args ...any) *fault.Fault {
	f := refuse(code, hint, format, args...)
	f.Retryable = true
	return f
}

// caseOf is the case of a fault about an ID.
var caseOf = map[string]string{
	"project_id": WhichProject, "repo_id": WhichRepo, "task_id": WhichTask,
	"attempt_id": WhichAttempt, "session_id": WhichSession, "execution_process_id": WhichProcess,
}

func unknown(field, id string) *fault.Fault {
	return refuse(NotFound, "pass the id of a "+noun(field)+" that exists", "there is no %s %s", noun(field), brief(id)).WithCase(caseOf[field])
}

// elsewhere returns a fault for what only the machine with the attempt's folder
// can do.
func elsewhere(attemptID, machine, format string, args ...any) *fault.Fault {
	return refuse(WorktreeMissing, "do it on that machine", format, args...).WithCase(OtherMachine, "attempt", attemptID, "machine", machine)
}

// withAttempt adds the attempt to a fault, for its hint.
func withAttempt(err error, attemptID string) error {
	if f := fault.Of(err); f != nil {
		return f.WithCase(f.Case, "attempt", attemptID)
	}
	return err
}

func noun(field string) string {
	return strings.ReplaceAll(strings.TrimSuffix(field, "_id"), "_", " ")
}

// parseID returns an ID as it is stored.
func parseID(field, id string) (string, error) {
	if id == "" {
		return "", refuse(MissingRequired, "pass the id of a "+noun(field), "%s is missing", field).WithCase(caseOf[field])
	}
	u, err := uuid.Parse(id)
	if err != nil || len(id) != 36 {
		return "", refuse(InvalidArgument, "pass the id of a "+noun(field)+" as it is listed", "%s %q is not a UUID", field, brief(id)).WithCase(caseOf[field])
	}
	return u.String(), nil
}

// NewID returns a new ID for what a caller of this package names itself, such as
// a [Comment].
func NewID() string { return newID() }

// newID returns a new ID. IDs of one process sort by age.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// brief shortens a value from outside for a message.
func brief(s string) string {
	return textutil.Excerpt(s, 80)
}

// checkText checks a text from outside: valid UTF-8 without NUL, and not too
// long.
func checkText(field, s string, most int) error {
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
	maxName   = 200
	maxTitle  = 500
	maxPrompt = 100_000
	maxBranch = 1000
)
