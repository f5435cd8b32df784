package attempts

import (
	"bytes"
	"context"
	"io"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/surface/terminal"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Board shows the tasks of all projects at the terminal until the person leaves.
func (c *Command) Board(ctx context.Context) error {
	device, err := terminal.Open()
	if err != nil || console.Linewise(false) {
		if err == nil {
			device.Close()
		}
		return fault.Misuse("deskhand work needs a terminal with a cursor", "without one, use \"deskhand tasks ls\" and the other commands of deskhand tasks, or open the board in a browser: run \"deskhand serve --http 127.0.0.1:8080 --tools ask,work\", then open /work at the address that it prints")
	}
	defer device.Close()
	return terminal.WorkBoard(ctx, device, board{c})
}

// act carries out what a person chose on the board, or at the end of run. It prints the
// result as the command for it does.
func (c *Command) act(ctx context.Context, o terminal.Order) error {
	allowed := tasks.Allowance{Named: o.Allowed}
	switch o.Act {
	case terminal.ActLand:
		return c.Land(ctx, o.Attempt, tasks.LandRequest{How: worktree.Merge, Secrets: allowed})
	case terminal.ActPull:
		return c.OpenPulls(ctx, o.Attempt, tasks.PullQuery{Secrets: allowed})
	case terminal.ActDiscard:
		return c.Discard(ctx, o.Attempt, true, false)
	case terminal.ActUndo:
		return c.Undo(ctx, o.Attempt, false)
	case terminal.ActStop:
		return c.Stop(ctx, o.Attempt, false)
	case terminal.ActSay: // queued, so that it also works while the agent is running
		return c.Say(ctx, o.Attempt, map[string]any{"action": string(tasks.Queue), "prompt": o.Text}, nil, false)
	case terminal.ActStart:
		return c.Start(ctx, o.Task, Start{Executor: o.Agent})
	case terminal.ActNew:
		title, rest := splitPrompt(o.Text)
		return c.Add(ctx, o.Project, map[string]any{"title": title, "description": rest}, Planning{})
	}
	return fault.Misuse("there is no act "+string(o.Act), "")
}

// board implements [terminal.Work] with the commands of deskhand tasks.
type board struct{ c *Command }

// boardTasks is the maximum number of tasks of each status and project on the board.
const boardTasks = 200

func (b board) Board(ctx context.Context) ([]tasks.Project, []tasks.CardColumn, error) {
	page, err := b.c.Manager.Projects(ctx, tasks.Page{Limit: 500})
	if err != nil {
		return nil, nil, err
	}
	var all []tasks.CardColumn
	for _, p := range page.Projects {
		columns, err := b.c.Manager.Cards(ctx, p, tasks.CardQuery{Limit: boardTasks})
		if err != nil {
			return nil, nil, err
		}
		all = append(all, columns...)
	}
	return page.Projects, all, nil
}

func (b board) Costs(ctx context.Context) (spent terminal.Costs, err error) {
	spent.Tasks = b.c.costs(ctx, tasks.UsageQuery{By: tasks.UsageByTask})
	y, m, d := time.Now().Date()
	spent.Today, spent.Total, err = b.c.Manager.Usage(ctx, tasks.UsageQuery{By: tasks.UsageByAgent, Since: time.Date(y, m, d, 0, 0, 0, 0, time.Local)})
	return spent, err
}

func (b board) Attempts(ctx context.Context, task string) ([]tasks.AttemptSummary, error) {
	return b.c.Manager.Attempts(ctx, task)
}

func (b board) Status(ctx context.Context, attempt string) (tasks.AttemptStatus, error) {
	return b.c.Manager.Status(ctx, attempt)
}

func (b board) Agents(ctx context.Context) (ready []string, err error) {
	first, err := b.c.installed(ctx)
	if f := fault.Of(err); err != nil && (f == nil || f.Code != noExecutor) {
		return nil, err
	}
	all, err := b.c.Manager.Executors(ctx)
	if first != "" {
		ready = []string{first}
	}
	for _, e := range all {
		if e.Missing == "" && e.ID != first {
			ready = append(ready, e.ID)
		}
	}
	return ready, err
}

// quiet returns the command with its output in out, and without anyone to ask.
func (b board) quiet(out io.Writer) *Command {
	own := *b.c
	own.Console, own.about = &console.Console{Stdin: strings.NewReader(""), Stdout: out, Stderr: out}, nil
	return &own
}

func (b board) Do(ctx context.Context, o terminal.Order) (terminal.Result, error) {
	var out, told bytes.Buffer
	own := b.quiet(&out)
	own.Stderr = &told
	err := own.act(ctx, o)
	switch text := out.String(); {
	case err != nil:
		return terminal.Result{}, own.Worded(err)
	case o.Act == terminal.ActNew: // it prints the ID only
		return terminal.Result{Told: "added; press r to start an attempt", Task: strings.TrimSpace(text)}, nil
	case text != "":
		return terminal.Result{Told: strings.ReplaceAll(text, "\n", " ")}, nil
	}
	return terminal.Result{Told: told.String()}, nil
}

// followed is how many entries of a run that has begun the board shows.
const followed = 500

func (b board) Follow(ctx context.Context, attempt string, to io.Writer) error {
	return b.quiet(to).followLogs(ctx, attempt, "normalized", followed)
}

func (b board) Diff(ctx context.Context, attempt string, to io.Writer) error {
	own := b.quiet(to)
	return own.Worded(own.Diff(ctx, attempt, nil, Shown{ToRead: true}))
}

func (b board) Watch(ctx context.Context, changed func()) error {
	w, err := b.c.Manager.Watch(ctx, -1, "")
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		if err := w.Wait(ctx); err != nil {
			return err
		}
		changed()
	}
}

func (b board) Undoable(ctx context.Context, attempt string) error {
	_, err := b.c.Manager.Undo(ctx, attempt, true)
	return err
}

func (b board) Inbox(ctx context.Context, d *terminal.Device) error {
	hub, err := b.c.Hub(ctx)
	if err != nil {
		return err
	}
	return terminal.Inbox(ctx, d, hub, false)
}
