package attempts

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// newest names the newest task or attempt in place of its ID.
const newest = "newest"

// find returns the ID of the task or attempt that begins or ends with part, or of the
// newest one: that of this repository's project or, elsewhere, of all projects.
func (c *Command) find(ctx context.Context, kind tasks.Kind, part string) (string, error) {
	if part != newest {
		return c.Manager.Find(ctx, kind, part)
	}
	where := ""
	here, err := c.Manager.ProjectOf(ctx, ".")
	if err == nil && here.ID != "" {
		where = " in project " + here.Name
	}
	id, err := c.Manager.Newest(ctx, kind, here.ID)
	if err == nil && id == "" {
		hint := "add one: deskhand tasks add TITLE"
		if kind == tasks.KindAttempt {
			hint = "start one: deskhand tasks start TASK"
		}
		err = fault.New(tasks.NotFound, fmt.Sprintf("there is no %s yet%s", kind, where), hint)
	}
	return id, err
}

// attempt returns the ID of the attempt with this part of its ID. If the part is a task's,
// it returns the task's newest attempt.
func (c *Command) attempt(ctx context.Context, prefix string) (string, error) {
	id, err := c.find(ctx, tasks.KindAttempt, prefix)
	if prefix == newest {
		c.Knows("attempt", id)
		return id, err
	}
	if f := fault.Of(err); f == nil || f.Code != tasks.NotFound {
		c.Knows("attempt", id)
		return id, err
	}
	task, err := c.Manager.Find(ctx, tasks.KindTask, prefix)
	if f := fault.Of(err); f != nil && f.Code == tasks.NotFound {
		return "", fault.New(f.Code, fmt.Sprintf("there is no attempt or task %q", prefix), "list the tasks: deskhand tasks ls")
	}
	if err != nil {
		return "", err
	}
	attempts, err := c.Manager.Attempts(ctx, task)
	if err != nil {
		return "", err
	}
	if len(attempts) == 0 {
		return "", fault.New(tasks.NotFound, "task "+brief(task)+" has no attempt yet", "start one: deskhand tasks start "+brief(task))
	}
	c.Knows("task", task)
	c.Knows("attempt", attempts[0].ID)
	return attempts[0].ID, nil
}

func (c *Command) task(ctx context.Context, prefix string) (string, error) {
	id, err := c.find(ctx, tasks.KindTask, prefix)
	if f := fault.Of(err); f != nil && f.Code == tasks.NotFound && prefix != newest {
		return "", fault.New(f.Code, fmt.Sprintf("there is no task %q", prefix), "list the tasks: deskhand tasks ls")
	}
	c.Knows("task", id)
	return id, err
}

// project returns the ID of the project with this name or ID, or of the only project
// if given is empty.
func (c *Command) project(ctx context.Context, given string) (string, error) {
	if given != "" {
		id, err := c.Manager.Find(ctx, tasks.KindProject, given)
		if f := fault.Of(err); f != nil && f.Code == tasks.NotFound {
			return "", fault.New(f.Code, fmt.Sprintf("there is no project %q", given), "list the projects: deskhand tasks project ls")
		}
		return id, err
	}
	page, err := c.Manager.Projects(ctx, tasks.Page{Limit: 20})
	switch {
	case err != nil:
		return "", err
	case len(page.Projects) == 0:
		return "", fault.New(tasks.NotFound, "there is no project yet", "create one: deskhand tasks project add PATH --name NAME")
	case len(page.Projects) == 1:
		return page.Projects[0].ID, nil
	}
	if p, err := c.Manager.ProjectOf(ctx, "."); err == nil && p.ID != "" {
		return p.ID, nil
	}
	var names []string
	for _, p := range page.Projects {
		names = append(names, p.Name)
	}
	return "", fault.Misuse("there are several projects", "choose one with --project: "+strings.Join(names, ", "))
}
