package board

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// comparedAttempts is how many of a task's newest attempts are shown with
// totals of their changes, which git has to count.
const comparedAttempts = 6

// taskView is the data of a task's page.
type taskView struct {
	tasks.Task
	Project  choice
	Statuses []choice
	Attempts []side
	Agents   []agent
	Usual    string // the agent that the menu shows first; empty if the person has to choose
	Repos    []tasks.Repo
	Plan     planView
	Filled   filled // a form that was refused
}

// side is an attempt that is shown next to other attempts.
type side struct {
	standing
	Changes *tally // nil if the changes were not counted
	Reply   string // the agent's last message
}

// tally holds totals of an attempt's changes.
type tally struct {
	Files, Added, Deleted int
	Unknown               bool // whether the changes could not be counted
}

// agent is an item in the menu for starting an attempt: an executor or one of its
// variants.
type agent struct{ Value, Name, Missing string }

// variantMark separates an executor and its variant in the value of a menu
// item.
const variantMark = "\n"

func agentsOf(e tasks.Executor) []agent {
	list := []agent{{e.ID, e.ID, e.Missing}}
	for _, v := range e.Variants {
		if e.Missing == "" && v != e.Default {
			list = append(list, agent{e.ID + variantMark + v, e.ID + ", " + v, ""})
		}
	}
	return list
}

func (b *Board) oneTask(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	return b.showTask(w, r, m, filled{})
}

func (b *Board) showTask(w http.ResponseWriter, r *http.Request, m *tasks.Manager, f filled) error {
	v, err := b.taskOf(r.Context(), m, r.PathValue("id"))
	if err != nil {
		return err
	}
	v.Filled = f
	v.Plan.refill(f)
	b.write(w, r, f.status(), b.task, v.Title, v)
	return nil
}

func (b *Board) taskOf(ctx context.Context, m *tasks.Manager, id string) (v taskView, err error) {
	if v.Task, err = m.Task(ctx, id); err != nil {
		return v, err
	}
	for _, s := range tasks.Statuses {
		v.Statuses = append(v.Statuses, choice{string(s), statusNames[s], s == v.Status})
	}
	projects, err := m.Projects(ctx, tasks.Page{Limit: 500})
	if err != nil {
		return v, err
	}
	for _, p := range projects.Projects {
		if p.ID == v.ProjectID {
			v.Project = choice{Value: p.ID, Name: p.Name}
		}
	}
	if v.Plan, err = b.planOf(ctx, m, v.Task); err != nil {
		return v, err
	}
	if v.Repos, err = m.Repos(ctx, v.ProjectID); err != nil {
		return v, err
	}
	executors, err := m.Executors(ctx)
	if err != nil {
		return v, err
	}
	for _, e := range executors {
		v.Agents = append(v.Agents, agentsOf(e)...)
	}
	attempts, err := m.Attempts(ctx, id)
	if err != nil {
		return v, err
	}
	for i, a := range attempts {
		one, err := b.sideOf(ctx, m, a.ID, i < comparedAttempts)
		if err != nil {
			return v, err
		}
		v.Attempts = append(v.Attempts, one)
	}
	v.Usual = v.usual(executors)
	return v, nil
}

// usual returns the agent that worked last, on this task or on another task of the
// project, or else the first that is installed. The scripted agent is never the
// first choice of somebody who has not used it.
func (v *taskView) usual(executors []tasks.Executor) string {
	var used []string
	for _, a := range v.Attempts {
		used = append(used, a.Executor)
	}
	used = append(used, v.Plan.Used...)
	for _, e := range executors {
		if e.Protocol != "fake" {
			used = append(used, e.ID)
		}
	}
	for _, id := range used {
		if slices.ContainsFunc(v.Agents, func(a agent) bool { return a.Value == id && a.Missing == "" }) {
			return id
		}
	}
	return ""
}

// Missing returns the agents that cannot be started.
func (v taskView) Missing() (missing []agent) {
	for _, a := range v.Agents {
		if a.Missing != "" {
			missing = append(missing, a)
		}
	}
	return missing
}

func (b *Board) sideOf(ctx context.Context, m *tasks.Manager, id string, compared bool) (s side, err error) {
	if s.standing, err = b.standingOf(ctx, m, id); err != nil || !compared {
		return s, err
	}
	changes, err := m.Changes(ctx, id, false)
	if err != nil && fault.Of(err) == nil {
		return s, err
	}
	s.Changes = &tally{changes.Count, changes.Added, changes.Deleted, err != nil || changes.Blocked.Reason == "summary_failed"}
	if s.SessionID != "" {
		page, err := m.Messages(ctx, tasks.MessageQuery{AttemptID: id, Limit: 1})
		if err != nil {
			return s, err
		}
		for _, turn := range page.Turns {
			s.Reply = turn.Summary
		}
	}
	return s, nil
}

// actOnTask handles a button on the task's page.
func (b *Board) actOnTask(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	id := r.PathValue("id")
	switch r.PostFormValue("act") {
	case "start":
		return b.start(w, r, m, id)
	case "plan":
		return b.plan(w, r, m, id)
	case "delete":
		return b.remove(w, r, m, id)
	case "status":
		status := tasks.Status(r.PostFormValue("status"))
		if _, err := m.UpdateTask(r.Context(), id, tasks.TaskChange{Status: &status}); err != nil {
			return err
		}
	case "edit":
		title, description := typed(r, "title"), typed(r, "description")
		if _, err := m.UpdateTask(r.Context(), id, tasks.TaskChange{Title: &title, Description: &description}); err != nil {
			return err
		}
	default:
		return errButton
	}
	return back(w, r, taskPath(id))
}

// start starts an attempt by its form.
func (b *Board) start(w http.ResponseWriter, r *http.Request, m *tasks.Manager, id string) error {
	task, err := m.Task(r.Context(), id)
	if err != nil {
		return err
	}
	repos, err := m.Repos(r.Context(), task.ProjectID)
	if err != nil {
		return err
	}
	executor, variant, _ := strings.Cut(typed(r, "agent"), variantMark)
	start := tasks.StartRequest{TaskID: id, Executor: executor, Variant: variant, Prompt: typed(r, "prompt"), RequestID: page.Once(r)}
	for _, repo := range repos {
		start.Repos = append(start.Repos, tasks.RepoTarget{RepoID: repo.ID, TargetBranch: r.PostFormValue("branch-" + repo.ID)})
	}
	started, err := m.Start(r.Context(), start)
	if f := fault.Of(err); f != nil {
		return b.showTask(w, r, m, filledBy(r, f))
	}
	if err != nil {
		return err
	}
	return back(w, r, AttemptPath(started.AttemptID))
}

var errButton = fault.New(tasks.InvalidArgument, "Unknown button.", "Reload the page.")
