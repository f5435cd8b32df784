package attempts

import (
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// Add creates a task with a plan. The map given holds arguments of create_task. An empty
// project means the only project.
func (c *Command) Add(ctx context.Context, project string, given map[string]any, p Planning) error {
	id, err := c.project(ctx, project)
	if err != nil {
		return err
	}
	c.planAs = nil
	if p.Given() {
		if err := p.filled(); err != nil {
			return err
		}
		plan, err := c.plan(ctx, tasks.Plan{}, p)
		if err != nil {
			return err
		}
		c.planAs = &plan
	}
	given["project_id"] = id
	var out work.CreatedTask
	raw, err := c.call(ctx, "create_task", withoutEmpty(given), &out)
	switch {
	case err != nil:
		return err
	case c.AsJSON:
		return c.JSON(raw)
	}
	return c.Line("%s", out.ID)
}

// List prints tasks of a project, newest first, or by priority if a sieve is set.
func (c *Command) List(ctx context.Context, q Listing) error {
	if _, err := (tasks.Plan{Priority: tasks.Priority(q.Sieve.Priority)}).Check(); err != nil {
		return err
	}
	id, err := c.project(ctx, q.Project)
	if err != nil {
		return err
	}
	cards, err := c.plans(ctx, id)
	if err != nil {
		return err
	}
	if q.Sieve.On() {
		out, more, err := c.sifted(ctx, id, q, cards)
		if err != nil {
			return err
		}
		if more {
			defer c.tellMore(out.Count)
		}
		switch {
		case c.AsJSON:
			return c.JSON(out)
		case out.Count == 0:
			c.Tell("no task matches")
			return nil
		}
		return c.listed(ctx, id, out, cards)
	}
	var out work.Tasks
	args := withoutEmpty(map[string]any{"project_id": id, "status": q.Status, "limit": q.Limit})
	return c.answer(ctx, "list_tasks", args, &out, func() error {
		if out.Count == 0 {
			c.Tell("there are no tasks; add one: deskhand tasks add TITLE")
			return nil
		}
		return c.listed(ctx, id, out, cards)
	})
}

func (c *Command) tellMore(n int) {
	c.Tell(fmt.Sprintf("only the first %d are listed; raise --limit (at most 500)", n))
}

// listed prints a table of tasks.
func (c *Command) listed(ctx context.Context, id string, out work.Tasks, cards map[string]tasks.Card) error {
	if out.NextCursor != nil {
		defer c.tellMore(out.Count)
	}
	paint := console.PainterFor(c.Stdout)
	w := console.NewTable(c.Stdout)
	fmt.Fprintln(w, "ID\tSTATUS\tATTEMPT\tEXECUTOR\tCHANGED\tCOST\tTITLE")
	costs := c.costs(ctx, tasks.UsageQuery{By: tasks.UsageByTask, ProjectID: id})
	for _, t := range out.Tasks {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", brief(t.ID), t.Status, standing(t), orDash(t.Executor), console.Age(t.Updated.Time), costs[string(t.ID)].Short(), paint.Plain(planned(console.OneLine(t.Title), cards[string(t.ID)])))
	}
	defer c.tellStranded(out.Tasks)
	return w.Flush()
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
		c.Tell(fmt.Sprintf("%d waiting attempts were started with another environment or other settings, and no runner for them is running; see the next step with \"deskhand tasks show ID\"", n))
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

// Set changes a task and its plan. The map given holds arguments of update_task; it may
// be empty.
func (c *Command) Set(ctx context.Context, prefix string, given map[string]any, p Planning) error {
	id, err := c.task(ctx, prefix)
	if err == nil {
		err = c.setPlan(ctx, id, p)
	}
	if err != nil {
		return err
	}
	tool := "get_task"
	if len(given) > 0 {
		tool = "update_task"
	}
	given["task_id"] = id
	var out work.TaskAnswer
	return c.answer(ctx, tool, given, &out, func() error {
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
