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

// caseOf maps the name of an ID field to its fault case.
var caseOf = map[string]string{
	"project_id": WhichProject, "repo_id": WhichRepo, "task_id": WhichTask,
	"attempt_id": WhichAttempt, "session_id": WhichSession, "execution_process_id": WhichProcess,
}

func unknown(field, id string) *fault.Fault {
	return refuse(NotFound, "pass the ID of an existing "+noun(field), "there is no %s %s", noun(field), brief(id)).WithCase(caseOf[field])
}

// elsewhere returns a fault for an operation that only the machine with the attempt's
// folder can do.
func elsewhere(attemptID, machine, format string, args ...any) *fault.Fault {
	return refuse(WorktreeMissing, "do it on that machine", format, args...).WithCase(OtherMachine, "attempt", attemptID, "machine", machine)
}

// withAttempt adds the attempt to a fault so that the fault's hint can name it.
func withAttempt(err error, attemptID string) error {
	if f := fault.Of(err); f != nil {
		return f.WithCase(f.Case, "attempt", attemptID)
	}
	return err
}

func noun(field string) string {
	return strings.ReplaceAll(strings.TrimSuffix(field, "_id"), "_", " ")
}

// parseID returns an ID in its stored form.
func parseID(field, id string) (string, error) {
	if id == "" {
		return "", refuse(MissingRequired, "pass the ID of a "+noun(field), "%s is missing", field).WithCase(caseOf[field])
	}
	u, err := uuid.Parse(id)
	if err != nil || len(id) != 36 {
		return "", refuse(InvalidArgument, "pass the ID of a "+noun(field)+" exactly as listed", "%s %q is not a UUID", field, brief(id)).WithCase(caseOf[field])
	}
	return u.String(), nil
}

// NewID returns a new ID, for a record whose ID a caller of this package
// chooses, for example a [Comment].
func NewID() string { return newID() }

// newID returns a new ID. IDs of one process sort by age.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// brief shortens an untrusted value for a message.
func brief(s string) string {
	return textutil.Excerpt(s, 80)
}

// checkText returns a fault if s, which comes from outside, is longer than most
// characters, is not valid UTF-8, or contains NUL.
func checkText(field, s string, most int) error {
	switch {
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return refuse(InvalidArgument, "pass "+field+" as text", "%s contains a NUL or is not valid UTF-8", field)
	case utf8.RuneCountInString(s) > most:
		return refuse(InvalidArgument, fmt.Sprintf("shorten %s, or put the rest into a file in the repository", field),
			"%s has %d characters; the maximum is %d", field, utf8.RuneCountInString(s), most)
	}
	return nil
}

// Limits in characters, as published in the tool schemas. A command-line
// argument holds at most 128 KiB. An agent that gets its prompt as an argument
// would not start with a longer prompt.
const (
	maxName   = 200
	maxTitle  = 500
	maxPrompt = 100_000
	maxBranch = 1000
)
