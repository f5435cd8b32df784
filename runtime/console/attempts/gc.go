package attempts

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// gcReport is the JSON output of gc.
type gcReport struct {
	DryRun    bool         `json:"dry_run"`
	Worktrees []gcWorktree `json:"worktrees"`
	Bytes     int64        `json:"total_bytes"`
	Freed     int64        `json:"freed_bytes"`
}

type gcWorktree struct {
	AttemptID contract.UUID `json:"attempt_id"`
	TaskID    contract.UUID `json:"task_id"`
	Title     string        `json:"task_title"`
	Status    tasks.Status  `json:"task_status"`
	Dir       string        `json:"dir"`
	Bytes     int64         `json:"total_bytes"`
	LastUsed  contract.Time `json:"last_used_at"`
	Removed   bool          `json:"removed"`
	Kept      string        `json:"kept_reason,omitempty"`
	Ignored   []string      `json:"ignored"`
}

// GC removes the folders that g selects, or the folder of the attempt named in args.
func (c *Command) GC(ctx context.Context, args []string, g tasks.GC) (err error) {
	if len(args) == 1 {
		if g.AttemptID, err = c.attempt(ctx, args[0]); err != nil {
			return err
		}
	}
	r, err := c.Manager.GC(ctx, g)
	if err != nil {
		return err
	}
	out := gcReport{DryRun: g.DryRun, Worktrees: []gcWorktree{}, Bytes: r.Bytes, Freed: r.Freed}
	for _, w := range r.Worktrees {
		out.Worktrees = append(out.Worktrees, gcWorktree{
			contract.UUID(w.AttemptID), contract.UUID(w.TaskID), w.Title, w.Status, w.Dir, w.Bytes, contract.Time{Time: w.LastUsed}, w.Removed, w.Kept, append([]string{}, w.Ignored...),
		})
	}
	if c.AsJSON {
		return c.JSON(out)
	}
	if len(out.Worktrees) == 0 {
		c.Tell("no attempt has a folder")
		return nil
	}
	paint := console.PainterFor(c.Stdout)
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ATTEMPT\tSIZE\tUSED\tSTATUS\tFOLDER\tTASK")
	removed := map[bool]string{false: "removed", true: "would be removed"}[g.DryRun]
	for _, one := range out.Worktrees {
		state := removed
		if !one.Removed {
			state = "kept: " + one.Kept
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", brief(one.AttemptID), console.Size(one.Bytes), console.Age(one.LastUsed.Time), one.Status, paint.Plain(state), paint.Plain(console.OneLine(one.Title)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, one := range out.Worktrees {
		if len(one.Ignored) > 0 && one.Removed {
			if err := c.Line("%s  files ignored by git: %s", brief(one.AttemptID), textutil.Some(one.Ignored, 8)); err != nil {
				return err
			}
		}
	}
	verb := map[bool]string{false: "freed", true: "could be freed"}[g.DryRun]
	return c.Line("%s in total, %s %s", console.Size(out.Bytes), console.Size(out.Freed), verb)
}

// pauseTime is how long a command waits for an event before it checks again.
const pauseTime = 2 * time.Second
