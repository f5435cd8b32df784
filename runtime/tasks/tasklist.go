package tasks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// summary selects the columns of a task's summary. Each subquery uses one index.
const summary = taskColumns + `, a.id, a.branch, a.work, a.removed, s.id, s.executor,
	(SELECT MIN(CASE WHEN p.state = 'queued' THEN 3 WHEN p.asking_since > 0 THEN 1 ELSE 2 END) FROM processes p WHERE p.task_id = t.id AND p.state IN ('queued', 'running')),
	q.host, q.origin, q.launched_at,
	(SELECT p.state FROM processes p WHERE p.task_id = t.id ORDER BY p.ordinal DESC LIMIT 1),
	(SELECT COUNT(*) FROM attempts n WHERE n.task_id = t.id)
	FROM tasks t
	LEFT JOIN attempts a ON a.id = (SELECT n.id FROM attempts n WHERE n.task_id = t.id ORDER BY n.created_at DESC, n.id LIMIT 1)
	LEFT JOIN sessions s ON s.id = (SELECT n.id FROM sessions n WHERE n.attempt_id = a.id ORDER BY n.created_at DESC, n.id LIMIT 1)
	LEFT JOIN processes q ON q.id = (SELECT n.id FROM processes n WHERE n.task_id = t.id AND n.state = 'queued' ORDER BY n.ordinal LIMIT 1)`

func scanSummary(row scanner) (t TaskSummary, err error) {
	var created, updated int64
	var attempt, branch, work, session, executor, last *string
	var removed, doing *int
	var host, origin *string
	var launched *int64
	err = row.Scan(&t.ID, &t.ProjectID, &t.Title, &t.Description, &t.Status, &created, &updated,
		&attempt, &branch, &work, &removed, &session, &executor, &doing, &host, &origin, &launched, &last, &t.Attempts)
	t.Created, t.Updated = at(created), at(updated)
	t.AttemptID, t.Branch, t.SessionID, t.Executor = value(attempt), value(branch), value(session), value(executor)
	switch t.InProgress = doing != nil; {
	case t.InProgress && *doing == 1:
		t.WaitsFor = ForPerson
	case t.InProgress && *doing == 3 && launched != nil:
		t.WaitsFor, t.queued = ForSlot, &process{Process: Process{State: Queued}, host: value(host), launched: at(*launched), stamp: stamp{origin: value(origin)}}
	}
	t.Unassigned = t.InProgress && *doing == 3 && value(host) == anyHost
	t.LastFailed = last != nil && (State(*last) == Failed || State(*last) == Killed)
	t.LastStopped = last != nil && State(*last) == Killed
	done := readWork(value(work))
	t.OffBranch = !t.InProgress && removed != nil && *removed == 0 && done.State == OffBranch
	t.Landed = !t.InProgress && done.State == LandedWork
	t.Changed = done.Totals
	return t, err
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Tasks returns one page of a project's tasks, newest first.
func (m *Manager) Tasks(ctx context.Context, q TaskQuery) (found TaskPage, err error) {
	if q.ProjectID, err = parseID("project_id", q.ProjectID); err != nil {
		return TaskPage{}, err
	}
	if q.Status != "" {
		if err := checkStatus(q.Status); err != nil {
			return TaskPage{}, err
		}
	}
	where, args := "t.project_id = ?", []any{q.ProjectID}
	if q.Status != "" {
		where, args = where+" AND t.status = ?", append(args, q.Status)
	}
	if !q.Since.IsZero() {
		where, args = where+" AND t.updated_at >= ?", append(args, q.Since.UnixMilli())
	}
	if q.Cursor != "" {
		created, id, err := readCursor(q.Cursor)
		if err != nil {
			return TaskPage{}, err
		}
		where, args = where+" AND t.created_at <= ? AND (t.created_at < ? OR t.id < ?)", append(args, created, created, id)
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if _, err := readProject(ctx, tx, q.ProjectID); err != nil {
			return err
		}
		found.Tasks, err = all(ctx, tx, scanSummary, "SELECT "+summary+" WHERE "+where+" ORDER BY t.created_at DESC, t.id DESC LIMIT ?", append(args, q.limit()+1)...)
		for i := 0; i < len(found.Tasks) && err == nil; i++ {
			if t := &found.Tasks[i]; t.queued != nil {
				t.WaitsFor, err = m.waitsFor(ctx, tx, t.queued)
			}
		}
		return err
	})
	if err != nil {
		return TaskPage{}, fmt.Errorf("read tasks: %w", err)
	}
	if len(found.Tasks) > q.limit() {
		found.Tasks = found.Tasks[:q.limit()]
		last := found.Tasks[q.limit()-1]
		found.Next = strconv.FormatInt(millis(last.Created), 10) + "." + last.ID
	}
	return found, nil
}

// readCursor parses a cursor into the creation time and ID of a page's last
// task.
func readCursor(cursor string) (created int64, id string, err error) {
	number, rest, _ := strings.Cut(cursor, ".")
	created, err = strconv.ParseInt(number, 10, 64)
	if err == nil {
		id, err = parseID("task_id", rest)
	}
	if err != nil {
		return 0, "", badCursor(cursor)
	}
	return created, id, nil
}

func checkStatus(s Status) error {
	if slices.Contains(Statuses, s) {
		return nil
	}
	return refuse(InvalidArgument, "pass status as one of todo, inprogress, inreview, done, cancelled", "there is no status %q", brief(string(s)))
}

// Task returns one task. Fault: not_found.
func (m *Manager) Task(ctx context.Context, id string) (t Task, err error) {
	if id, err = parseID("task_id", id); err != nil {
		return Task{}, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		t, err = readTask(ctx, tx, id)
		return err
	})
	return t, err
}

// CreateTask creates a task. If its plan is refused, there is no task.
func (m *Manager) CreateTask(ctx context.Context, n NewTask) (t Task, err error) {
	if n.ProjectID, err = parseID("project_id", n.ProjectID); err != nil {
		return Task{}, err
	}
	if n.Title, err = checkTitle(n.Title); err != nil {
		return Task{}, err
	}
	n.Description = strings.TrimSpace(n.Description)
	if err := checkText("description", n.Description, maxPrompt); err != nil {
		return Task{}, err
	}
	if n.Status != "" {
		if err := checkStatus(n.Status); err != nil {
			return Task{}, err
		}
	}
	if n.Plan != nil {
		plan, err := n.Plan.Check()
		if err != nil {
			return Task{}, err
		}
		n.Plan = &plan
	}
	r := request{scope: scopeCreate, id: n.RequestID}
	n.RequestID = ""
	r.asked, r.payload = n, n
	if old, err := previousResult[Task](ctx, m, r); err != nil || old != nil {
		return deref(old), err
	}
	return idempotent(ctx, m, r, func(tx *store.Tx) (Task, error) {
		if _, err := readProject(ctx, tx, n.ProjectID); err != nil {
			return Task{}, err
		}
		t := Task{ID: newID(), ProjectID: n.ProjectID, Title: n.Title, Description: n.Description, Status: cmp.Or(n.Status, Todo), Created: tx.Now, Updated: tx.Now}
		_, err := tx.Exec(ctx, "INSERT INTO tasks (id, project_id, title, description, status, created_at, updated_at) VALUES ("+marks(7)+")",
			t.ID, t.ProjectID, t.Title, t.Description, t.Status, millis(t.Created), millis(t.Updated))
		if err != nil {
			return Task{}, fmt.Errorf("write task: %w", err)
		}
		_, err = note(tx, Event{Type: TaskCreated, ProjectID: t.ProjectID, TaskID: t.ID, Status: t.Status})
		if err == nil && n.Plan != nil {
			err = setPlan(ctx, tx, t, *n.Plan)
		}
		return t, err
	})
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func checkTitle(title string) (string, error) {
	title = strings.TrimSpace(title)
	if title == "" {
		return "", refuse(MissingRequired, "pass title, one line that describes the task", "title is missing")
	}
	return title, checkText("title", title, maxTitle)
}

// UpdateTask changes a task. If the task becomes cancelled, UpdateTask stops
// its agents, but does not wait until they have stopped.
func (m *Manager) UpdateTask(ctx context.Context, id string, c TaskChange) (t Task, err error) {
	if id, err = parseID("task_id", id); err != nil {
		return Task{}, err
	}
	if c.Title != nil {
		title, err := checkTitle(*c.Title)
		if err != nil {
			return Task{}, err
		}
		c.Title = &title
	}
	if c.Description != nil {
		if err := checkText("description", *c.Description, maxPrompt); err != nil {
			return Task{}, err
		}
	}
	if c.Status != nil {
		if err := checkStatus(*c.Status); err != nil {
			return Task{}, err
		}
	}
	err = m.db.Update(ctx, func(tx *store.Tx) error {
		if t, err = readTask(ctx, tx, id); err != nil {
			return err
		}
		before := t
		set(&t.Title, c.Title)
		set(&t.Description, c.Description)
		set(&t.Status, c.Status)
		if t == before {
			return nil
		}
		t.Updated = tx.Now
		if err := m.dropQuestions(ctx, tx, t); err != nil {
			return err
		}
		return writeTask(ctx, tx, t)
	})
	if err == nil && c.Status != nil && *c.Status == Cancelled {
		err = m.stopAll(ctx, id)
	}
	return t, err
}

// stopAll requests that a task's processes stop. It does not wait for them.
func (m *Manager) stopAll(ctx context.Context, taskID string) error {
	attempts, err := m.Attempts(ctx, taskID)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		if _, _, _, err := m.requestStop(ctx, a.ID, false); err != nil && fault.Of(err) == nil { // the attempt may have been deleted
			return fmt.Errorf("stop attempt of a cancelled task: %w", err)
		}
	}
	m.launch(ctx)
	return nil
}

func set[T any](field, to *T) {
	if to != nil {
		*field = *to
	}
}

// writeTask stores a changed task.
func writeTask(ctx context.Context, tx *store.Tx, t Task) error {
	_, err := tx.Exec(ctx, "UPDATE tasks SET title = ?, description = ?, status = ?, updated_at = ? WHERE id = ?",
		t.Title, t.Description, t.Status, millis(t.Updated), t.ID)
	if err == nil {
		_, err = note(tx, Event{Type: TaskUpdated, ProjectID: t.ProjectID, TaskID: t.ID, Status: t.Status})
	}
	if err != nil {
		return fmt.Errorf("write task: %w", err)
	}
	return nil
}

// moveTask changes the status of t to the given status. If the current status
// is not listed in from, it changes nothing.
func moveTask(ctx context.Context, tx *store.Tx, t Task, to Status, from ...Status) error {
	if !slices.Contains(from, t.Status) {
		return nil
	}
	t.Status, t.Updated = to, tx.Now
	return writeTask(ctx, tx, t)
}

// after returns the current time, which the caller passes as now. If that is
// not later than last, it returns last plus one millisecond. Newer records
// therefore sort after older ones, even if the clock is set back.
func after(now, last time.Time) time.Time {
	if !now.After(last) {
		return last.Add(time.Millisecond)
	}
	return now
}
