// Package attempts does what the commands of deskhand tasks do, and prints it for
// people or as the JSON of the tools that agents have. It knows no flags, and no
// settings but what is passed to it.
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

// Command is one run of a command of deskhand tasks. What it does it does with the
// tools that agents have, so that --json is their answer, to the byte.
type Command struct {
	*console.Console
	Options
	tools map[string]contract.Tool
	about map[string]string // the attempt and the task, for hints
}

// Options are what a command needs of an installation. None may be nil.
type Options struct {
	Manager *tasks.Manager
	// Questions and Pauses are what an attempt asks: see [work.Options].
	Questions func(ctx context.Context, attemptID string) ([]work.Question, error)
	Pauses    func(ctx context.Context, attemptID string) ([]work.Pause, error)
	Hub       func(ctx context.Context) (*elicit.Hub, error)
	// Hints are the next step after each failure, in commands.
	Hints fault.Hints
	// AsJSON prints the answers of tools, and nothing for people.
	AsJSON bool
}

// New returns a command that prints to c.
func New(c *console.Console, o Options) *Command {
	own := &Command{Console: c, Options: o, tools: map[string]contract.Tool{}}
	for _, tool := range work.Tools(work.Options{
		Open:      func(context.Context) (work.Manager, error) { return o.Manager, nil },
		Questions: o.Questions, Pauses: o.Pauses, MaxAnswerBytes: 64 << 20,
		Hint: func(_ string, f *fault.Fault) string { return f.Hint }, // Worded has the commands
	}) {
		own.tools[tool.Name] = tool
	}
	return own
}

// call calls a tool and reads its answer into out.
func (c *Command) call(ctx context.Context, tool string, args map[string]any, out any) (json.RawMessage, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	result, err := c.tools[tool].Call(ctx, contract.Caller{Name: "deskhand"}, raw)
	if err != nil {
		return nil, err
	}
	answer := result.Structured.(json.RawMessage)
	return answer, json.Unmarshal(answer, out)
}

// show calls a tool and prints its answer: as it is with --json, else as table
// words it.
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

// brief is an id as tables show it: up to the millisecond that it was made in.
func brief[T ~string](id T) string {
	if len(id) != 36 {
		return string(id)
	}
	return string(id[:13])
}

// briefOr is brief of an id that may be missing.
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

// withoutEmpty is args without the texts that are empty: nobody has given them.
func withoutEmpty(args map[string]any) map[string]any {
	maps.DeleteFunc(args, func(_ string, v any) bool { return v == "" })
	return args
}
