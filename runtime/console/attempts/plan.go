package attempts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// Planning holds the flags that plan a task.
type Planning struct {
	Priority          string
	Labels, BlockedBy []string // an empty text among them removes all others

	changed func(flag string) bool
}

// Read remembers which of the flags were given.
func (p *Planning) Read(changed func(flag string) bool) { p.changed = changed }

// Given reports whether one of the flags was given.
func (p *Planning) Given() bool {
	return p.changed != nil && (p.changed("priority") || p.changed("label") || p.changed("blocked-by"))
}

// filled returns an error if a flag was given without a value, which means something only
// for a task that has a plan.
func (p *Planning) filled() error {
	for flag, values := range map[string][]string{"label": p.Labels, "blocked-by": p.BlockedBy} {
		if p.changed(flag) && strings.TrimSpace(strings.Join(values, "")) == "" {
			return fault.Misuse("--"+flag+" is empty", "omit it, or pass a value")
		}
	}
	return nil
}

// plan returns the plan was with the changes of the flags.
func (c *Command) plan(ctx context.Context, was tasks.Plan, p Planning) (tasks.Plan, error) {
	if !p.Given() {
		return was, nil
	}
	kept := func(given []string) []string {
		return slices.DeleteFunc(slices.Clone(given), func(s string) bool { return s == "" })
	}
	if p.changed("priority") {
		was.Priority = tasks.Priority(p.Priority)
	}
	if p.changed("label") {
		was.Labels = kept(p.Labels)
	}
	if p.changed("blocked-by") {
		was.BlockedBy = nil
		for _, prefix := range kept(p.BlockedBy) {
			id, err := c.task(ctx, prefix)
			if err != nil {
				return was, err
			}
			was.BlockedBy = append(was.BlockedBy, id)
		}
	}
	return was.Check()
}

// setPlan changes the plan of a task by the flags.
func (c *Command) setPlan(ctx context.Context, taskID string, p Planning) error {
	if !p.Given() {
		return nil
	}
	t, err := c.Manager.Task(ctx, taskID)
	if err != nil {
		return err
	}
	plans, err := c.Manager.Plans(ctx, t.ProjectID)
	if err != nil {
		return err
	}
	plan, err := c.plan(ctx, plans[taskID], p)
	if err != nil {
		return err
	}
	c.Knows("task", taskID)
	_, err = c.Manager.SetPlan(ctx, taskID, plan)
	return err
}

// planned returns a title with the task's plan in words.
func planned(title string, c tasks.Card) string {
	if c.Priority != tasks.NormalPriority {
		title = "[" + string(c.Priority) + "] " + title
	}
	for _, l := range c.Labels {
		title += " #" + l
	}
	if len(c.Blocked) > 0 {
		short := make([]string, len(c.Blocked))
		for i, id := range c.Blocked {
			short[i] = brief(id)
		}
		title += " (blocked by " + strings.Join(short, ", ") + ")"
	}
	return title
}

// planLines returns the lines of show about a task's plan, or "".
func (c *Command) planLines(ctx context.Context, projectID, taskID string) string {
	plans, err := c.Manager.Plans(ctx, projectID)
	plan, ok := plans[taskID]
	if err != nil || !ok {
		return ""
	}
	var text string
	if plan.Priority != tasks.NormalPriority {
		text += "\npriority    " + string(plan.Priority)
	}
	if len(plan.Labels) > 0 {
		text += "\nlabels      " + strings.Join(plan.Labels, ", ")
	}
	for _, id := range plan.BlockedBy {
		if t, err := c.Manager.Task(ctx, id); err == nil {
			text += "\nblocked by  " + brief(id) + "  " + string(t.Status) + "  " + t.Title
		}
	}
	return text
}

// Listing selects the tasks to list. An empty field means any.
type Listing struct {
	Project, Status string
	Limit           int
	Sieve           tasks.Sieve
}

// Check returns an error if a flag was given without a value, or the limit is none.
func (q *Listing) Check(changed func(flag string) bool) error {
	if q.Limit < 1 || q.Limit > 500 {
		return fault.Misuse(fmt.Sprintf("--limit must be between 1 and 500, not %d", q.Limit), "use a number from 1 to 500")
	}
	for flag, value := range map[string]string{"label": q.Sieve.Label, "priority": q.Sieve.Priority} {
		if changed(flag) && strings.TrimSpace(value) == "" {
			return fault.Misuse("--"+flag+" is empty", "omit it to list all tasks, or pass a "+flag)
		}
	}
	return nil
}

// plans returns a project's cards by task ID, with no more than their plans.
func (c *Command) plans(ctx context.Context, projectID string) (map[string]tasks.Card, error) {
	plans, err := c.Manager.Plans(ctx, projectID)
	if err != nil || len(plans) == 0 {
		return nil, err
	}
	statuses, err := c.Manager.Statuses(ctx, projectID)
	all := map[string]tasks.Card{}
	for id, p := range plans {
		all[id] = tasks.Card{Plan: p, Blocked: p.Blockers(func(id string) tasks.Status { return statuses[id] })}
	}
	return all, err
}

// sifted returns the tasks that the listing's sieve selects, by priority and then newest
// first. more reports whether the listing's limit left some out.
func (c *Command) sifted(ctx context.Context, projectID string, q Listing, plans map[string]tasks.Card) (out work.Tasks, more bool, err error) {
	asked := tasks.TaskQuery{ProjectID: projectID, Status: tasks.Status(q.Status), Page: tasks.Page{Limit: 500}}
	var found []tasks.Card
	for {
		page, err := c.Manager.Tasks(ctx, asked)
		if err != nil {
			return out, false, err
		}
		for _, t := range page.Tasks {
			card := plans[t.ID]
			if card.TaskSummary = t; q.Sieve.Match(&card) {
				found = append(found, card)
			}
		}
		if asked.Cursor = page.Next; asked.Cursor == "" {
			break
		}
	}
	tasks.SortCards(found, tasks.ByPriority)
	asked.Limit = q.Limit
	var listed tasks.TaskPage
	for _, card := range found[:min(len(found), q.Limit)] {
		listed.Tasks = append(listed.Tasks, card.TaskSummary)
	}
	return work.TasksOf(asked, listed), len(found) > q.Limit, nil
}
