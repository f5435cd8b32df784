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
	Images                               []string // files to attach to the prompt
	Follow                               bool     // follow the attempt to its end
	On                                   []string // queue it for any host with these labels; empty: run it here
}

// flagged is a manager that adds to the tools' calls what only flags can say.
type flagged struct {
	*tasks.Manager
	on   []string    // labels of the hosts that may run what it starts
	plan *tasks.Plan // of the task that it creates
}

func (m flagged) Start(ctx context.Context, r tasks.StartRequest) (tasks.Started, error) {
	r.On = m.on
	return m.Manager.Start(ctx, r)
}

func (m flagged) CreateTask(ctx context.Context, n tasks.NewTask) (tasks.Task, error) {
	n.Plan = m.plan
	return m.Manager.CreateTask(ctx, n)
}

func (c *Command) manager() work.Manager { return flagged{c.Manager, c.on, c.planAs} }

// warnOfQueue tells the person if no host takes what they have queued.
func (c *Command) warnOfQueue(ctx context.Context) error {
	takers, err := c.Manager.Takers(ctx, c.on)
	if err == nil && len(c.on) > 0 && len(takers) == 0 {
		c.Tell("no machine with these labels takes attempts now; on one that should: deskhand runner --labels " + strings.Join(c.on, ","))
	}
	return err
}

// ServeQueue takes queued attempts until ctx ends. Only if limited is not set may o.Places
// be zero.
func (c *Command) ServeQueue(ctx context.Context, o tasks.QueueOptions, limited bool) error {
	if limited && o.Places == 0 {
		return fault.Misuse("--places must be at least 1, not 0", "omit it to use the setting tasks.max_running")
	}
	if err := o.Check(); err != nil {
		return err
	}
	o.Tell = c.Tell
	c.Tell("taking queued attempts; Ctrl-C ends this, and what runs goes on")
	return c.Manager.ServeQueue(ctx, o)
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
	chosen := f.Executor
	if f.Executor, err = c.Executor(ctx, chosen, "--executor"); err != nil {
		return err
	}
	if chosen == "" {
		c.Tell("executor: " + f.Executor + "; --executor names another")
	}
	if len(f.Images) > 0 && f.Prompt == "" {
		f.Prompt = task.Title + "\n\n" + task.Description
	}
	if f.Prompt, err = c.WithImages(ctx, f.Prompt, f.Images); err != nil {
		return err
	}
	repos, err := c.repos(ctx, task.ProjectID, f.Repos)
	if err != nil {
		return err
	}
	args := withoutEmpty(map[string]any{
		"task_id": id, "executor": f.Executor, "variant": f.Variant, "prompt": f.Prompt, "request_id": f.RequestID,
	})
	args["repos"], c.on = repos, f.On
	var out work.Started
	return c.answer(ctx, "start_task_attempt", args, &out, func() error {
		if err := c.warnOfQueue(ctx); err != nil {
			return err
		}
		word := "started"
		if len(c.on) > 0 {
			word = "queued for a machine,"
		}
		if !f.Follow {
			return c.Line("%s  %s on branch %s", brief(out.AttemptID), word, out.Branch)
		}
		c.Tell(fmt.Sprintf("attempt %s %s on branch %s", brief(out.AttemptID), word, out.Branch))
		return c.followToEnd(ctx, string(out.AttemptID))
	})
}

// Executor returns the executor to start: the given one; if that cannot be started here,
// the one with another way to run the same agent; if none is given, the first one that is
// installed. It tells if it took another one than given. Hints name the flag.
func (c *Command) Executor(ctx context.Context, given, flag string) (string, error) {
	if given == "" {
		id, err := c.installed(ctx)
		if f := fault.Of(err); f != nil && f.Code == noExecutor {
			err = fault.New(noExecutor, f.Message, f.Hint+"; "+flag+" fake runs without one")
		}
		return id, err
	}
	all, err := c.Manager.Executors(ctx)
	if err != nil {
		return "", err
	}
	id, why := instead(all, given)
	if why != "" {
		c.Tell(fmt.Sprintf("%s, so %s runs instead", why, id))
	}
	return id, nil
}

// streamed is the end of the names of executors that run an agent's own program where the
// executor without it needs an adapter.
const streamed = "-stream"

// instead returns the executor for the one named: itself, or its twin if it cannot be
// started here and the twin can. Then why is the reason.
func instead(all []tasks.Executor, named string) (id, why string) {
	missing := map[string]string{}
	for _, e := range all {
		missing[e.ID] = e.Missing
	}
	twin, ok := strings.CutSuffix(named, streamed)
	if !ok {
		twin += streamed
	}
	if why, known := missing[twin]; missing[named] == "" || !known || why != "" {
		return named, ""
	}
	why, _, _ = strings.Cut(missing[named], ";") // without how to install it
	return twin, fmt.Sprintf("executor %s cannot be started: %s", named, why)
}

// repos returns the project's repositories that --repo selects, or all if none is given.
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
func (c *Command) Say(ctx context.Context, prefix string, given map[string]any, images []string, follow bool) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	if prompt, _ := given["prompt"].(string); len(images) > 0 {
		if given["prompt"], err = c.WithImages(ctx, prompt, images); err != nil {
			return err
		}
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
