package attempts

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// Start holds the options for starting an attempt. Empty fields take the values of the
// task and the project.
type Start struct {
	Executor, Variant, Prompt, RequestID string
	Repos                                []string // each NAME or NAME=BRANCH
	Follow                               bool     // follow the attempt to its end
}

// Start starts an attempt at the task whose ID begins with prefix, and prints the
// attempt's ID. If f.Follow is set, it instead prints the log to the end.
func (c *Command) Start(ctx context.Context, prefix string, f Start) error {
	id, err := c.task(ctx, prefix)
	if err != nil {
		return err
	}
	task, err := c.Manager.Task(ctx, id)
	if err != nil {
		return err
	}
	repos, err := c.repos(ctx, task.ProjectID, f.Repos)
	if err != nil {
		return err
	}
	args := withoutEmpty(map[string]any{
		"task_id": id, "executor": f.Executor, "variant": f.Variant, "prompt": f.Prompt, "request_id": f.RequestID,
	})
	args["repos"] = repos
	var out work.Started
	return c.answer(ctx, "start_task_attempt", args, &out, func() error {
		if !f.Follow {
			return c.Line("%s  started on branch %s", brief(out.AttemptID), out.Branch)
		}
		c.Tell(fmt.Sprintf("attempt %s started on branch %s", brief(out.AttemptID), out.Branch))
		return c.followToEnd(ctx, string(out.AttemptID))
	})
}

// repos returns the project's repositories that --repo selects, or all of them if none
// is given.
func (c *Command) repos(ctx context.Context, projectID string, given []string) (chosen []map[string]any, err error) {
	var all work.Repos
	if _, err := c.call(ctx, "list_repos", map[string]any{"project_id": projectID}, &all); err != nil {
		return nil, err
	}
	if len(given) == 0 {
		for _, r := range all.Repos {
			chosen = append(chosen, map[string]any{"repo_id": r.ID})
		}
		return chosen, nil
	}
	for _, one := range given {
		name, branch, _ := strings.Cut(one, "=")
		var id any
		var names []string
		for _, r := range all.Repos {
			if names = append(names, r.Name); r.Name == name {
				id = r.ID
			}
		}
		if id == nil {
			return nil, fault.Misuse(fmt.Sprintf("the project has no repository %q", name), "its repositories are "+strings.Join(names, ", "))
		}
		chosen = append(chosen, withoutEmpty(map[string]any{"repo_id": id, "target_branch": branch}))
	}
	return chosen, nil
}

// Say sends a message to an attempt's agent, or queues or cancels a message. The map
// given holds the arguments of follow_up. If follow is set, Say prints the log to the
// end.
func (c *Command) Say(ctx context.Context, prefix string, given map[string]any, follow bool) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	given["attempt_id"] = id
	var out work.FollowUp
	return c.answer(ctx, "follow_up", withoutEmpty(given), &out, func() error {
		switch {
		case follow:
			return c.followToEnd(ctx, id)
		case out.Action == string(tasks.Cancel):
			return c.Line("%s  no message is queued now", brief(id))
		case out.Status == "queued" && out.ProcessID == nil:
			return c.Line("%s  queued until the agent has finished", brief(id))
		}
		return c.Line("%s  sent", brief(id))
	})
}

// Stop stops an attempt's running process.
func (c *Command) Stop(ctx context.Context, prefix string, force bool) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	var out work.Stopped
	return c.answer(ctx, "stop_attempt", map[string]any{"attempt_id": id, "force": force}, &out, func() error {
		if !out.Stopped {
			return c.Line("%s  nothing is running; the attempt is %s", brief(out.AttemptID), out.State)
		}
		return c.Line("%s  stopped", brief(out.AttemptID))
	})
}

// Resume lets a waiting attempt run with the environment of this command.
func (c *Command) Resume(ctx context.Context, prefix string) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	if err := c.Manager.Resume(ctx, id); err != nil {
		return err
	}
	return c.Line("%s  will run with this environment when a slot is free", brief(id))
}
