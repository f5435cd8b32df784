package attempts

import (
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Worded is an error whose hint names commands. What they are about is the
// attempt or the task that the command was given, if the fault does not say.
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
		own.Hint = "correct " + field + " and try again"
	}
	return &own
}

// briefly is a fault with ids as tables show them.
func briefly(f *fault.Fault) *fault.Fault {
	for _, name := range []string{"attempt", "task"} {
		if id := f.Values[name]; id != "" {
			f = f.WithCase(f.Case, name, brief(contract.UUID(id)))
		}
	}
	return f
}

// Knows remembers what the command is about, for hints.
func (c *Command) Knows(name, id string) {
	if c.about == nil {
		c.about = map[string]string{}
	}
	if id != "" {
		c.about[name] = brief(contract.UUID(id))
	}
}
