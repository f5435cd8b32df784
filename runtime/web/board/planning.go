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

// mostOthers is the maximum number of tasks in the menu of those that block a task.
const mostOthers = 300

// priorityNames maps priorities to their names for people.
var priorityNames = map[tasks.Priority]string{
	tasks.UrgentPriority: "Urgent", tasks.HighPriority: "High", tasks.NormalPriority: "Normal", tasks.LowPriority: "Low",
}

// planView is a task's plan with the menus to change it.
type planView struct {
	tasks.Plan
	Priorities []choice
	Others     []choice // tasks that can block this one; those that do are marked
	Waits      []choice // tasks that it still waits for
	Used       []string // executors of the project's tasks, of the newest task first
}

// LabelText returns the labels as they are typed: separated by commas.
func (v taskView) LabelText() string {
	return v.Filled.Or("labels", strings.Join(v.Plan.Labels, ", "))
}

func (b *Board) planOf(ctx context.Context, m *tasks.Manager, t tasks.Task) (v planView, err error) {
	plans, err := m.Plans(ctx, t.ProjectID)
	if err != nil {
		return v, err
	}
	v.Plan = plans[t.ID]
	for _, p := range tasks.Priorities {
		v.Priorities = append(v.Priorities, choice{string(p), priorityNames[p], p == v.Priority})
	}
	blocks := map[string]bool{}
	for _, id := range v.BlockedBy {
		blocks[id] = true
	}
	statuses, err := m.Statuses(ctx, t.ProjectID)
	if err != nil {
		return v, err
	}
	waits := v.Blockers(func(id string) tasks.Status { return statuses[id] })
	for _, id := range waits {
		one, err := m.Task(ctx, id)
		if err != nil {
			return v, err
		}
		v.Waits = append(v.Waits, choice{Value: id, Name: one.Title})
	}
	list, err := m.Tasks(ctx, tasks.TaskQuery{ProjectID: t.ProjectID, Page: tasks.Page{Limit: mostOthers}})
	if err != nil {
		return v, err
	}
	for _, one := range list.Tasks {
		v.Used = append(v.Used, one.Executor)
		if open := one.Status != tasks.Done && one.Status != tasks.Cancelled; one.ID != t.ID && (open || blocks[one.ID]) {
			v.Others = append(v.Others, choice{one.ID, one.Title, blocks[one.ID]})
			delete(blocks, one.ID)
		}
	}
	for id := range blocks { // older than the menu; kept unless the person removes them
		if one, err := m.Task(ctx, id); err == nil {
			v.Others = append(v.Others, choice{id, one.Title, true})
		}
	}
	return v, nil
}

// refill shows what was chosen in a refused form.
func (v *planView) refill(f filled) {
	if f.Act != "plan" {
		return
	}
	for i := range v.Priorities {
		v.Priorities[i].Here = v.Priorities[i].Value == f.fields.Get("priority")
	}
	for i := range v.Others {
		v.Others[i].Here = slices.Contains(f.fields["blocked"], v.Others[i].Value)
	}
}

// plan changes a task's plan by its form.
func (b *Board) plan(w http.ResponseWriter, r *http.Request, m *tasks.Manager, id string) error {
	p := tasks.Plan{Priority: tasks.Priority(r.PostFormValue("priority")), Labels: strings.Split(typed(r, "labels"), ","), BlockedBy: r.PostForm["blocked"]}
	_, err := m.SetPlan(r.Context(), id, p)
	if f := fault.Of(err); f != nil {
		return b.showTask(w, r, m, filledBy(r, f))
	}
	if err != nil {
		return err
	}
	return back(w, r, taskPath(id))
}

// remove deletes a task.
func (b *Board) remove(w http.ResponseWriter, r *http.Request, m *tasks.Manager, id string) error {
	t, err := m.Task(r.Context(), id)
	if err != nil {
		return err
	}
	err = m.DeleteTask(r.Context(), id)
	if f := fault.Of(err); f != nil && f.Code != tasks.NotFound {
		return b.showTask(w, r, m, filledBy(r, f))
	}
	if err != nil {
		return err
	}
	return back(w, r, boardPath(t.ProjectID))
}

// Count returns how many tasks run, for the navigation.
func (b *Board) Count(ctx context.Context) (int, error) {
	m, err := b.options.Manager(ctx)
	if err != nil {
		return 0, err
	}
	return m.CountRunning(ctx)
}

// Find returns the newest tasks whose title contains all the words; see [page.Shell].
func (b *Board) Find(ctx context.Context, words string, limit int) (found []page.Found, err error) {
	m, err := b.options.Manager(ctx)
	if err != nil {
		return nil, err
	}
	list, err := m.FindTasks(ctx, words, limit)
	for _, t := range list {
		found = append(found, page.Found{Name: page.Line(t.Title), Path: taskPath(t.ID), Kind: "task"})
	}
	return found, err
}
