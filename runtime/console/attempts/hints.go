package attempts

import (
	"strings"
	"unicode"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Worded replaces an error's hint with one that names commands. If the fault does not
// name the attempt or task, the hint names the attempt or task given to the command.
func (c *Command) Worded(err error) error {
	f := fault.Of(err)
	if f == nil {
		return err
	}
	own := *f
	hint, ok := c.Hints.Of(briefly(f), c.about)
	if ok && hint != "" {
		own.Hint = hint
	}
	if field, ok := f.Details["field"].(string); ok && own.Hint == "" {
		own.Hint = "fix " + field + " and retry"
	}
	return &own
}

// briefly shortens a fault's IDs as tables show them, and quotes its project for a shell.
func briefly(f *fault.Fault) *fault.Fault {
	for _, name := range []string{"attempt", "task"} {
		if id := f.Values[name]; id != "" {
			f = f.WithCase(f.Case, name, brief(contract.UUID(id)))
		}
	}
	if name := f.Values["project"]; name != "" {
		f = f.WithCase(f.Case, "project", shellWord(name))
	}
	return f
}

// shellWord returns a name as a shell reads it, in quotes if it needs them.
func shellWord(name string) string {
	plain := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./", r) }
	if !strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) && !strings.HasPrefix(name, "-") {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// Knows records the attempt or task that the command is about, for hints.
func (c *Command) Knows(name, id string) {
	if c.about == nil {
		c.about = map[string]string{}
	}
	if id != "" {
		c.about[name] = brief(contract.UUID(id))
	}
}
