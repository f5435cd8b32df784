package board

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// bulkActs are the values of the buttons that change the selected tasks.
var bulkActs = []string{"label", "unlabel", "move", "prioritize", "delete"}

// isBulk reports whether a button changes the selected tasks.
func isBulk(act string) bool { return slices.Contains(bulkActs, act) }

// Bulk reports whether the form is that of the selected tasks.
func (f filled) Bulk() bool { return isBulk(f.Act) }

// pickedBy returns the IDs of the tasks that a form has selected.
func pickedBy(form url.Values) map[string]bool {
	picked := map[string]bool{}
	for _, id := range form["task"] {
		picked[id] = true
	}
	return picked
}

// changePicked makes the same change in each selected task. Tasks that refuse it stay
// selected, and the board says why.
func (b *Board) changePicked(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	var refused []string
	var why *fault.Fault
	all := r.PostForm["task"]
	if strings.HasSuffix(r.PostFormValue("act"), "label") && typed(r, "label") == "" {
		refused, why = all, fault.New(tasks.MissingRequired, "there is no label", "type one or more labels, separated by commas")
	}
	for _, id := range all {
		if len(refused) == len(all) && why != nil {
			break
		}
		err := b.changeOne(r.Context(), m, id, r.PostForm)
		f := fault.Of(err)
		switch {
		case err == nil, f != nil && f.Code == tasks.NotFound: // somebody else has deleted it
		case f == nil:
			return err
		default:
			refused, why = append(refused, id), f
		}
	}
	board := cmp.Or(page.Local(r.PostFormValue("back")), Path)
	switch {
	case len(all) == 0:
		why = fault.New(tasks.MissingRequired, "no task is selected", "select tasks by the boxes on their cards")
	case why == nil:
		return back(w, r, board)
	case len(all) > 1:
		why = fault.New(why.Code, textutil.Count(len(refused), "task")+" of "+textutil.Count(len(all), "task")+" not changed: "+why.Message, why.Hint)
	}
	r.PostForm["task"] = refused
	f := filledBy(r, why)
	if u, err := url.Parse(board); err == nil {
		r.Form = u.Query() // the board as it was
	}
	return b.showBoard(w, r, m, f)
}

// changeOne makes the change of a form in one task.
func (b *Board) changeOne(ctx context.Context, m *tasks.Manager, id string, form url.Values) error {
	act := form.Get("act")
	switch act {
	case "move":
		status := tasks.Status(form.Get("status"))
		_, err := m.UpdateTask(ctx, id, tasks.TaskChange{Status: &status})
		return err
	case "delete":
		return m.DeleteTask(ctx, id)
	}
	t, err := m.Task(ctx, id)
	if err != nil {
		return err
	}
	plans, err := m.Plans(ctx, t.ProjectID)
	if err != nil {
		return err
	}
	p := plans[id]
	labels := strings.Split(form.Get("label"), ",")
	switch act {
	case "prioritize":
		p.Priority = tasks.Priority(form.Get("priority"))
	case "label":
		p.Labels = append(p.Labels, labels...)
	case "unlabel":
		p.Labels = slices.DeleteFunc(p.Labels, func(l string) bool {
			return slices.ContainsFunc(labels, func(gone string) bool { return l == strings.Join(strings.Fields(gone), " ") })
		})
	}
	_, err = m.SetPlan(ctx, id, p)
	return err
}
