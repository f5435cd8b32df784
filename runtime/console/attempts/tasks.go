package attempts

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// Add creates a task. The map given holds arguments of create_task. An empty
// project means the only project.
func (c *Command) Add(ctx context.Context, project string, given map[string]any) error {
	id, err := c.project(ctx, project)
	if err != nil {
		return err
	}
	given["project_id"] = id
	var out work.CreatedTask
	return c.answer(ctx, "create_task", withoutEmpty(given), &out, func() error { return c.Line("%s", out.ID) })
}

// List prints at most limit tasks of a project. An empty status means any status.
func (c *Command) List(ctx context.Context, project, status string, limit int) error {
	id, err := c.project(ctx, project)
	if err != nil {
		return err
	}
	var out work.Tasks
	args := withoutEmpty(map[string]any{"project_id": id, "status": status, "limit": limit})
	return c.answer(ctx, "list_tasks", args, &out, func() error {
		if out.NextCursor != nil {
			defer c.Tell(fmt.Sprintf("only the first %d are listed; raise --limit (at most 500)", out.Count))
		}
		if out.Count == 0 {
			c.Tell("there are no tasks; add one: deskhand tasks add TITLE")
			return nil
		}
		paint := console.PainterFor(c.Stdout)
		w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tSTATUS\tATTEMPT\tEXECUTOR\tCHANGED\tCOST\tTITLE")
		costs := c.costs(ctx, tasks.UsageQuery{By: tasks.UsageByTask, ProjectID: id})
		for _, t := range out.Tasks {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", brief(t.ID), t.Status, standing(t), orDash(t.Executor), console.Age(t.Updated.Time), costOf(costs[string(t.ID)]), paint.Plain(console.OneLine(t.Title)))
		}
		defer c.tellStranded(out.Tasks)
		return w.Flush()
	})
}

// tellStranded reports the attempts that no process will start, and says what to
// do.
func (c *Command) tellStranded(list []work.TaskSummary) {
	n := 0
	for _, t := range list {
		if t.WaitsFor != nil && tasks.Wait(*t.WaitsFor) == tasks.ForStarter {
			n++
		}
	}
	if n > 0 {
		c.Tell(fmt.Sprintf("%d waiting attempts were started with another environment or other settings, and no launcher for them is running; see the next step with \"deskhand tasks show ID\"", n))
	}
}

// standing returns the state of a task's newest attempt.
func standing(t work.TaskSummary) string {
	switch {
	case t.AttemptID == nil:
		return "-"
	case t.WaitsFor != nil:
		return waitWord(*t.WaitsFor)
	case t.InProgress:
		return "running"
	case t.LastFailed:
		return "failed"
	case t.OffBranch:
		return "off branch"
	case t.Landed:
		return "landed"
	}
	return "ended"
}

// Set changes a task. The map given holds arguments of update_task.
func (c *Command) Set(ctx context.Context, prefix string, given map[string]any) (err error) {
	if given["task_id"], err = c.task(ctx, prefix); err != nil {
		return err
	}
	var out work.TaskAnswer
	return c.answer(ctx, "update_task", given, &out, func() error {
		return c.Line("%s  %s  %s", brief(out.Task.ID), out.Task.Status, console.OneLine(out.Task.Title))
	})
}

// Remove deletes a task with its attempts. If keep is set and a folder has files that
// git ignores, it deletes nothing and returns an error.
func (c *Command) Remove(ctx context.Context, prefix string, keep bool) error {
	id, err := c.task(ctx, prefix)
	if err != nil {
		return err
	}
	ignored, err := c.Manager.Ignored(ctx, id)
	if err != nil {
		return err
	}
	if keep && len(ignored) > 0 {
		return fault.New(tasks.WorkUnsaved, "these files are ignored by git and would be deleted: "+textutil.Some(ignored, 8), "move the files that you need elsewhere, or omit --keep-ignored")
	}
	var out work.DeletedTask
	return c.answer(ctx, "delete_task", map[string]any{"task_id": id}, &out, func() error {
		if len(ignored) > 0 {
			c.Tell("also deleted, because git ignores them: " + textutil.Some(ignored, 8))
		}
		return c.Line("%s  deleted", brief(out.ID))
	})
}
