package tasks

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/imports"
)

// Outcome is what an import did with an item.
type Outcome string

// Values of Outcome.
const (
	ImportCreated   Outcome = "created"
	ImportUpdated   Outcome = "updated"
	ImportUnchanged Outcome = "unchanged"
	ImportKept      Outcome = "kept"    // the item changed, but so did the task's text here
	ImportDeleted   Outcome = "deleted" // the task was deleted here, and stays deleted
)

// Imported is an imported item. TaskID is empty for an item that a dry run would create.
type Imported struct {
	imports.Item
	TaskID  string
	Outcome Outcome
}

// Import creates a task for each item that has none, and updates the text of tasks whose
// item changed, unless a person changed it here. An item that is done makes an untouched
// task done. A new task gets its item's plan; later, only people plan it. Importing the
// same items again changes nothing. A dry run only reports what would happen.
func (m *Manager) Import(ctx context.Context, projectID string, items []imports.Item, dryRun bool) (done []Imported, err error) {
	if projectID, err = parseID("project_id", projectID); err != nil {
		return nil, err
	}
	act := m.db.Update
	if dryRun {
		act = m.db.View
	}
	err = act(ctx, func(tx *store.Tx) error {
		if _, err := readProject(ctx, tx, projectID); err != nil {
			return err
		}
		done = nil
		for n, i := range items {
			one, err := importItem(ctx, tx, projectID, i, n, dryRun)
			if err != nil {
				return fmt.Errorf("import %s: %w", brief(i.Key), err)
			}
			done = append(done, one)
		}
		if dryRun {
			return nil
		}
		return planImported(ctx, tx, projectID, done)
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// planImported plans the created tasks as their items are planned. It leaves out what a
// plan cannot have: labels that are too long, and blockers that are unknown here or would
// close a circle.
func planImported(ctx context.Context, tx *store.Tx, projectID string, done []Imported) error {
	tasks := make(map[string]string, len(done))
	for _, i := range done {
		if i.Outcome != ImportDeleted {
			tasks[i.Key] = i.TaskID
		}
	}
	plans, err := readPlans(ctx, tx, projectID)
	if err != nil {
		return err
	}
	for _, i := range done {
		if i.Outcome != ImportCreated {
			continue
		}
		p, err := (Plan{Priority: Priority(i.Priority)}).Check()
		if err != nil {
			p = Plan{}
		}
		for _, l := range i.Labels {
			if one, err := (Plan{Labels: []string{l}}).Check(); err == nil && len(p.Labels) < maxLabels {
				p.Labels = append(p.Labels, one.Labels...)
			}
		}
		for _, key := range i.BlockedBy {
			id := tasks[key]
			if id == "" || id == i.TaskID || len(p.BlockedBy) == maxBlockers {
				continue
			}
			if plans[i.TaskID] = (Plan{BlockedBy: append(slices.Clone(p.BlockedBy), id)}); circle(plans, i.TaskID) == nil {
				p.BlockedBy = append(p.BlockedBy, id)
			}
		}
		if p, err = p.Check(); err != nil {
			return err
		}
		plans[i.TaskID] = p
		if p.Priority == NormalPriority && len(p.Labels)+len(p.BlockedBy) == 0 {
			continue
		}
		if err := writePlan(ctx, tx, Task{ID: i.TaskID, ProjectID: projectID, Status: statusOf(i.Item)}, p); err != nil {
			return err
		}
	}
	return nil
}

// statusOf returns the status of a new task of an item.
func statusOf(i imports.Item) Status {
	if i.Done {
		return Done
	}
	return Todo
}

func importItem(ctx context.Context, tx *store.Tx, projectID string, i imports.Item, n int, dryRun bool) (done Imported, err error) {
	done = Imported{Item: i}
	if i.Exported != "" { // a task of this project is not imported into it
		if t, err := scanTask(tx.QueryRow(ctx, "SELECT "+taskColumns+" FROM tasks t WHERE t.id = ? AND t.project_id = ?", i.Exported, projectID)); err == nil {
			done.TaskID, done.Outcome = t.ID, ImportUnchanged
			return done, nil
		} else if !errors.Is(err, sql.ErrNoRows) {
			return done, err
		}
	}
	var title, description string
	err = tx.QueryRow(ctx, "SELECT task_id, title, description FROM imports WHERE project_id = ? AND source_key = ?", projectID, i.Key).Scan(&done.TaskID, &title, &description)
	if errors.Is(err, sql.ErrNoRows) {
		done.Outcome = ImportCreated
		if dryRun {
			return done, nil
		}
		return done, createImported(ctx, tx, projectID, &done, n)
	}
	if err != nil {
		return done, err
	}
	t, err := scanTask(tx.QueryRow(ctx, "SELECT "+taskColumns+" FROM tasks t WHERE t.id = ?", done.TaskID))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		done.Outcome = ImportDeleted
		return done, nil
	case err != nil:
		return done, err
	}
	before := t
	if i.Done && t.Status == Todo {
		t.Status = Done
	}
	changed := title != i.Title || description != i.Description
	switch {
	case changed && (t.Title != title || t.Description != description):
		done.Outcome = ImportKept
	case changed:
		t.Title, t.Description = i.Title, i.Description
	}
	if t != before && done.Outcome != ImportKept {
		done.Outcome = ImportUpdated
	} else if done.Outcome == "" {
		done.Outcome = ImportUnchanged
	}
	if t == before || dryRun {
		return done, nil
	}
	t.Updated = tx.Now
	if err := writeTask(ctx, tx, t); err != nil || done.Outcome != ImportUpdated {
		return done, err
	}
	_, err = tx.Exec(ctx, "UPDATE imports SET title = ?, description = ?, imported_at = ? WHERE project_id = ? AND source_key = ?",
		i.Title, i.Description, millis(tx.Now), projectID, i.Key)
	return done, err
}

// createImported creates the task of an item. n makes the tasks of one import sort in
// the order of their items.
func createImported(ctx context.Context, tx *store.Tx, projectID string, i *Imported, n int) error {
	if err := checkText("title", i.Title, maxTitle); err != nil {
		return err
	}
	if err := checkText("description", i.Description, maxPrompt); err != nil {
		return err
	}
	t := Task{ID: newID(), ProjectID: projectID, Title: i.Title, Description: i.Description, Status: statusOf(i.Item), Created: tx.Now, Updated: tx.Now}
	i.TaskID = t.ID
	_, err := tx.Exec(ctx, "INSERT INTO tasks (id, project_id, title, description, status, created_at, updated_at) VALUES ("+marks(7)+")",
		t.ID, t.ProjectID, t.Title, t.Description, t.Status, millis(t.Created)-int64(n), millis(t.Updated))
	if err == nil {
		_, err = tx.Exec(ctx, "INSERT INTO imports (project_id, source_key, task_id, title, description, imported_at) VALUES ("+marks(6)+")",
			projectID, i.Key, t.ID, t.Title, t.Description, millis(tx.Now))
	}
	if err == nil {
		_, err = note(tx, Event{Type: TaskCreated, ProjectID: projectID, TaskID: t.ID, Status: t.Status})
	}
	return err
}

// Export returns a project's tasks with their attempts. The same tasks give the same
// result.
func (m *Manager) Export(ctx context.Context, projectID string) (e imports.Export, err error) {
	if projectID, err = parseID("project_id", projectID); err != nil {
		return e, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		p, err := readProject(ctx, tx, projectID)
		if err != nil {
			return err
		}
		e = imports.Export{Format: imports.Format, Project: p.Name, Tasks: []imports.ExportTask{}}
		list, err := all(ctx, tx, scanTask, "SELECT "+taskColumns+" FROM tasks t WHERE t.project_id = ? ORDER BY t.created_at, t.id", projectID)
		if err != nil {
			return err
		}
		plans, err := readPlans(ctx, tx, projectID)
		for _, t := range list {
			if err != nil {
				return err
			}
			var one imports.ExportTask
			one, err = exportTask(ctx, tx, t)
			one.Plan = exportPlan(plans[t.ID])
			e.Tasks = append(e.Tasks, one)
		}
		return err
	})
	return e, err
}

func exportPlan(p Plan) imports.Plan {
	return imports.Plan{Priority: cmp.Or(string(p.Priority), "normal"), Labels: append([]string{}, p.Labels...), BlockedBy: append([]string{}, p.BlockedBy...)}
}

func exportTask(ctx context.Context, tx *store.Tx, t Task) (one imports.ExportTask, err error) {
	one = imports.ExportTask{ID: t.ID, Title: t.Title, Description: t.Description, Status: string(t.Status), Created: t.Created, Updated: t.Updated, Attempts: []imports.ExportAttempt{}}
	if err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(source_key), '') FROM imports WHERE task_id = ?", t.ID).Scan(&one.Source); err != nil {
		return one, err
	}
	attempts, err := attemptsOf(ctx, tx, t.ID)
	if err != nil {
		return one, err
	}
	for _, a := range attempts {
		s, _, err := readStatus(ctx, tx, a.ID)
		if err != nil {
			return one, err
		}
		one.Attempts = append(one.Attempts, imports.ExportAttempt{ID: a.ID, Branch: a.Branch, Executor: s.Executor, State: string(s.State), Landed: s.Work.State == LandedWork,
			Created: a.Created, Tokens: s.Usage.Tokens(), Cost: float64(s.Usage.Cost) / 1e6, Known: s.Usage.Known()})
	}
	return one, nil
}
