package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/deskhand/deskhand/runtime/store"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Priority orders the tasks of a column.
type Priority string

// Priorities of a task. The zero value is normal.
const (
	LowPriority    Priority = "low"
	NormalPriority Priority = ""
	HighPriority   Priority = "high"
	UrgentPriority Priority = "urgent"
)

// Priorities lists all priorities, the most urgent first.
var Priorities = []Priority{UrgentPriority, HighPriority, NormalPriority, LowPriority}

// Limits of a plan.
const (
	maxLabels   = 20
	maxLabel    = 50 // characters
	maxBlockers = 50
)

// Plan is how a task is planned. The zero value is the plan of a new task.
type Plan struct {
	Priority Priority
	// Labels are sorted and unique.
	Labels []string
	// BlockedBy holds the IDs of tasks of the same project that have to end first. A
	// task that was deleted blocks nothing.
	BlockedBy []string
}

// Plans returns the plans of a project's tasks by task ID. Tasks with the zero plan
// have no entry.
func (m *Manager) Plans(ctx context.Context, projectID string) (plans map[string]Plan, err error) {
	if projectID, err = parseID("project_id", projectID); err != nil {
		return nil, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if err := within(ctx, projectID, "project_id", projectID); err != nil {
			return err
		}
		plans, err = readPlans(ctx, tx, projectID)
		return err
	})
	return plans, err
}

func readPlans(ctx context.Context, tx *store.Tx, projectID string) (map[string]Plan, error) {
	type row struct {
		id string
		Plan
	}
	rows, err := all(ctx, tx, func(s scanner) (r row, err error) {
		var labels, blockers string
		if err = s.Scan(&r.id, &r.Priority, &labels, &blockers); err != nil {
			return r, err
		}
		if err = json.Unmarshal([]byte(labels), &r.Labels); err != nil {
			return r, err
		}
		return r, json.Unmarshal([]byte(blockers), &r.BlockedBy)
	}, "SELECT p.task_id, p.priority, p.labels, p.blocked_by FROM plans p JOIN tasks t ON t.id = p.task_id WHERE t.project_id = ?", projectID)
	if err != nil {
		return nil, fmt.Errorf("read plans: %w", err)
	}
	plans := make(map[string]Plan, len(rows))
	for _, r := range rows {
		plans[r.id] = r.Plan
	}
	return plans, nil
}

// SetPlan plans a task. Faults: not_found; invalid_argument if the plan is invalid, a
// blocking task belongs to another project, or tasks would block each other.
func (m *Manager) SetPlan(ctx context.Context, taskID string, p Plan) (now Plan, err error) {
	if taskID, err = parseID("task_id", taskID); err != nil {
		return Plan{}, err
	}
	if p, err = p.Check(); err != nil {
		return Plan{}, err
	}
	err = m.db.Update(ctx, func(tx *store.Tx) error {
		t, err := readTask(ctx, tx, taskID)
		if err != nil {
			return err
		}
		return setPlan(ctx, tx, t, p)
	})
	return p, err
}

// setPlan stores a checked plan, if the tasks that it names can block the task.
func setPlan(ctx context.Context, tx *store.Tx, t Task, p Plan) error {
	for _, id := range p.BlockedBy {
		b, err := readTask(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case b.ProjectID != t.ProjectID:
			return refuse(InvalidArgument, "choose a task of the same project", "task %s belongs to another project", id)
		case id == t.ID:
			return refuse(InvalidArgument, "name another task", "task %s cannot block itself", ShortID(id))
		}
	}
	plans, err := readPlans(ctx, tx, t.ProjectID)
	if err != nil {
		return err
	}
	plans[t.ID] = p
	if links := circle(plans, t.ID); links != nil {
		return refuse(InvalidArgument, "remove one of the tasks that block it", "the tasks would block each other: %s", textutil.Some(links, maxLinks))
	}
	return writePlan(ctx, tx, t, p)
}

// maxLinks is how many links of a circle an error names.
const maxLinks = 8

func writePlan(ctx context.Context, tx *store.Tx, t Task, p Plan) error {
	labels, err := json.Marshal(p.Labels)
	if err != nil {
		return err
	}
	blockers, err := json.Marshal(p.BlockedBy)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO plans (task_id, priority, labels, blocked_by) VALUES (?, ?, ?, ?)
		ON CONFLICT (task_id) DO UPDATE SET priority = excluded.priority, labels = excluded.labels, blocked_by = excluded.blocked_by`,
		t.ID, p.Priority, string(labels), string(blockers))
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	_, err = note(tx, Event{Type: TaskUpdated, ProjectID: t.ProjectID, TaskID: t.ID, Status: t.Status})
	return err
}

// Check returns the plan with sorted, unique labels and blockers, or a fault if it is
// invalid. The priority may also be the word normal. It does not look up the blockers.
func (p Plan) Check() (Plan, error) {
	if p.Priority == "normal" {
		p.Priority = NormalPriority
	}
	if !slices.Contains(Priorities, p.Priority) {
		return p, refuse(InvalidArgument, "use urgent, high, normal or low", "there is no priority %q", brief(string(p.Priority)))
	}
	var labels, blockers []string
	for _, l := range p.Labels {
		if l = strings.Join(strings.Fields(l), " "); l == "" {
			continue
		}
		if err := checkText("label", l, maxLabel); err != nil {
			return p, err
		}
		if strings.ContainsFunc(l, unicode.IsControl) || strings.Contains(l, ",") {
			return p, refuse(InvalidArgument, "use a label without commas and control characters", "label %q cannot be used", brief(l))
		}
		labels = append(labels, l)
	}
	for _, id := range p.BlockedBy {
		id, err := parseID("task_id", id)
		if err != nil {
			return p, err
		}
		blockers = append(blockers, id)
	}
	slices.Sort(labels)
	slices.Sort(blockers)
	p.Labels, p.BlockedBy = slices.Compact(labels), slices.Compact(blockers)
	if len(p.Labels) > maxLabels || len(p.BlockedBy) > maxBlockers {
		return p, refuse(InvalidArgument, "use fewer", "a task has at most %d labels and %d blocking tasks", maxLabels, maxBlockers)
	}
	return p, nil
}

// circle returns the links through which a task blocks itself, or nil if it does not.
func circle(plans map[string]Plan, id string) (links []string) {
	waits := map[string]string{} // which task first led to a blocker
	next := []string{id}
	for len(next) > 0 && waits[id] == "" {
		one := next[0]
		next = next[1:]
		for _, b := range plans[one].BlockedBy {
			if waits[b] == "" {
				waits[b] = one
				next = append(next, b)
			}
		}
	}
	for at := id; waits[id] != "" && (at != id || links == nil); at = waits[at] {
		links = append(links, ShortID(waits[at])+" is blocked by "+ShortID(at))
	}
	slices.Reverse(links)
	return links
}

// Blockers returns the tasks that a task still waits for, in the order of its plan.
// status returns a task's status, or "" if there is no such task.
func (p Plan) Blockers(status func(id string) Status) (waiting []string) {
	for _, id := range p.BlockedBy {
		switch status(id) {
		case "", Done, Cancelled:
		default:
			waiting = append(waiting, id)
		}
	}
	return waiting
}

// Rank returns the position of a priority: 0 is the most urgent.
func (p Priority) Rank() int { return slices.Index(Priorities, p) }

// Statuses returns the status of each task of a project, by its ID.
func (m *Manager) Statuses(ctx context.Context, projectID string) (statuses map[string]Status, err error) {
	if projectID, err = parseID("project_id", projectID); err != nil {
		return nil, err
	}
	statuses = map[string]Status{}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if err := within(ctx, projectID, "project_id", projectID); err != nil {
			return err
		}
		rows, err := all(ctx, tx, func(s scanner) (t Task, err error) { return t, s.Scan(&t.ID, &t.Status) }, "SELECT id, status FROM tasks WHERE project_id = ?", projectID)
		for _, t := range rows {
			statuses[t.ID] = t.Status
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read statuses: %w", err)
	}
	return statuses, nil
}
