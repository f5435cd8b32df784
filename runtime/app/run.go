package app

import (
	"context"
	"strings"

	"github.com/deskhand/deskhand/runtime/a2a"
	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// agentsRun runs the tasks that other agents request. Each becomes a task with an
// attempt in one project.
type agentsRun struct {
	app               *App
	project, executor string
}

// titleLength is the maximum length of a task title taken from a prompt, in characters.
const titleLength = 100

// Start implements [a2a.Runner].
func (r *agentsRun) Start(ctx context.Context, prompt, key string) (attempt string, err error) {
	if err := mayStart(ctx); err != nil {
		return "", err
	}
	m, err := r.app.Work(ctx)
	if err != nil {
		return "", err
	}
	project, err := m.Find(ctx, tasks.KindProject, r.project)
	if err != nil {
		return "", err
	}
	repos, err := m.Repos(ctx, project)
	if err != nil {
		return "", err
	}
	title, _, _ := strings.Cut(prompt, "\n")
	title = textutil.Shorten(title, titleLength)
	task, err := m.CreateTask(ctx, tasks.NewTask{ProjectID: project, Title: title, Description: prompt, RequestID: key})
	if err != nil {
		return "", err
	}
	start := tasks.StartRequest{TaskID: task.ID, Executor: r.executor, Prompt: prompt, RequestID: key}
	for _, repo := range repos {
		start.Repos = append(start.Repos, tasks.RepoTarget{RepoID: repo.ID})
	}
	started, err := m.Start(ctx, start)
	return started.AttemptID, err
}

// Look implements [a2a.Runner].
func (r *agentsRun) Look(ctx context.Context, attempt string) (a2a.Run, error) {
	m, err := r.app.Work(ctx)
	if err != nil {
		return a2a.Run{}, err
	}
	s, err := m.Status(ctx, attempt)
	if err != nil {
		return a2a.Run{}, err
	}
	run := a2a.Run{State: a2a.Working, Branch: s.Branch, Active: s.Active}
	switch {
	case s.State == tasks.Completed:
		run.State = a2a.Completed
		page, err := m.Messages(ctx, tasks.MessageQuery{AttemptID: attempt, Limit: 1})
		if fault.Of(err) == nil && err != nil {
			return a2a.Run{}, err
		}
		if n := len(page.Turns); n > 0 {
			run.Text = page.Turns[n-1].Summary
		}
	case s.State == tasks.Failed && s.Failure == "killed":
		run.State, run.Text = a2a.Canceled, "the agent was stopped"
	case s.State == tasks.Failed:
		run.State, run.Text = a2a.Failed, s.Failure
	}
	return run, nil
}

// mayStart refuses a caller with a name that may start no work.
func mayStart(ctx context.Context) error {
	if c := access.Of(ctx); c.Name != "" && !c.May(startsWork) {
		return fault.New("insufficient_scope", "this token of "+c.Name+" lacks the scope "+string(startsWork.Scope), "ask a person instead, or use a token with that scope")
	}
	return nil
}

// Stop implements [a2a.Runner].
func (r *agentsRun) Stop(ctx context.Context, attempt string) error {
	if err := mayStart(ctx); err != nil {
		return err
	}
	m, err := r.app.Work(ctx)
	if err != nil {
		return err
	}
	_, err = m.Stop(ctx, attempt, false)
	return err
}
