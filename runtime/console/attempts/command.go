// Package attempts implements the commands of deskhand tasks. It prints results for
// people, or as the JSON of the tools that agents use. It does not depend on flags, and
// receives its settings as arguments.
package attempts

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// Command is one run of a deskhand tasks command. It works through the tools that agents
// use, so --json prints exactly the tools' answers.
type Command struct {
	*console.Console
	Options
	tools   work.Options
	defined map[string]contract.Tool // by name; see tool
	on      []string                 // labels of the hosts that may run what this command starts; empty: this one
	// planAs is the plan of the task that this command creates, or nil.
	planAs *tasks.Plan
	about  map[string]string // IDs of the attempt and the task, for hints
}

// Options holds everything that a command needs from the installation. No field
// may be nil.
type Options struct {
	Manager *tasks.Manager
	// Questions and Pauses return an attempt's questions: see [work.Options].
	Questions func(ctx context.Context, attemptID string) ([]work.Question, error)
	Pauses    func(ctx context.Context, attemptID string) ([]work.Pause, error)
	Hub       func(ctx context.Context) (*elicit.Hub, error)
	// Hints maps each failure to the next step on the command line.
	Hints fault.Hints
	// AsJSON prints only the tools' answers as JSON.
	AsJSON bool
}

// New returns a command that prints to c.
func New(c *console.Console, o Options) *Command {
	own := &Command{Console: c, Options: o, defined: map[string]contract.Tool{}}
	own.tools = work.Options{
		Open:      func(context.Context) (work.Manager, error) { return own.manager(), nil },
		Questions: o.Questions, Pauses: o.Pauses, MaxAnswerBytes: 64 << 20,
		Hint: func(_ string, f *fault.Fault) string { return f.Hint }, // Worded adds the commands
	}
	return own
}

// tool returns a tool, which it defines at its first call.
func (c *Command) tool(name string) contract.Tool {
	tool, ok := c.defined[name]
	if !ok {
		tool = work.Tool(c.tools, name)
		c.defined[name] = tool
	}
	return tool
}

// call calls a tool and decodes its answer into out.
func (c *Command) call(ctx context.Context, tool string, args map[string]any, out any) (json.RawMessage, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	result, err := c.tool(tool).Call(ctx, contract.Caller{Name: "deskhand"}, raw)
	if err != nil {
		return nil, err
	}
	answer := result.Structured.(json.RawMessage)
	return answer, json.Unmarshal(answer, out)
}

// answer calls a tool and decodes its answer into out. It prints the answer unchanged
// with --json, and otherwise calls table.
func (c *Command) answer(ctx context.Context, tool string, args map[string]any, out any, table func() error) error {
	raw, err := c.call(ctx, tool, args, out)
	if err != nil {
		return err
	}
	if c.AsJSON {
		return c.JSON(raw)
	}
	return table()
}

// brief returns an ID as tables show it.
func brief[T ~string](id T) string { return tasks.ShortID(string(id)) }

// briefOr works like brief, but returns a replacement text if the ID is nil.
func briefOr[T ~string](id *T, otherwise string) string {
	if id == nil {
		return otherwise
	}
	return brief(*id)
}

func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// withoutEmpty removes empty strings from args, which stand for flags
// that were not given.
func withoutEmpty(args map[string]any) map[string]any {
	maps.DeleteFunc(args, func(_ string, v any) bool { return v == "" })
	return args
}
