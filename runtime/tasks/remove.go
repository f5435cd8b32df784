package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// leftover is what there is on the disk of an attempt that was deleted.
type leftover struct {
	Tree      worktree.Tree
	Processes []string
}

// DeleteTask deletes a task with its attempts, their worktrees and logs. A
// branch with commits stays in its repository, and what was not committed is
// committed there first. It refuses with task_has_running_attempt.
func (m *Manager) DeleteTask(ctx context.Context, id string) error {
	id, err := parseID("task_id", id)
	if err != nil {
		return err
	}
	err = m.db.Update(ctx, func(tx *store.Tx) error {
		t, err := readTask(ctx, tx, id)
		if err != nil {
			return err
		}
		var running int
		if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM processes WHERE task_id = ? AND state IN ('queued', 'running')", id).Scan(&running); err != nil {
			return fmt.Errorf("read processes: %w", err)
		}
		if running > 0 {
			return later(TaskRunning, "call stop_attempt with the attempt_id that list_task_attempts names, then delete_task again", "an attempt at task %s is running", id)
		}
		return deleteTask(ctx, tx, t)
	})
	if err != nil {
		return err
	}
	return m.clearLeftovers(ctx)
}

func deleteTask(ctx context.Context, tx *store.Tx, t Task) error {
	attempts, err := attemptsOf(ctx, tx, t.ID)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		c, err := readCheckout(ctx, tx, a.ID)
		if err != nil {
			return err
		}
		left := leftover{Tree: c.tree}
		processes, err := all(ctx, tx, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.attempt_id = ?", a.ID)
		if err != nil {
			return err
		}
		for _, p := range processes {
			left.Processes = append(left.Processes, p.ID)
			if err := logs.Delete(ctx, tx, p.ID); err != nil {
				return err
			}
		}
		data, err := json.Marshal(left)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO leftovers (attempt_id, host, data) VALUES (?, ?, ?)", a.ID, a.host, string(data)); err != nil {
			return fmt.Errorf("note what is left of attempt: %w", err)
		}
		for _, query := range []string{
			"DELETE FROM turns WHERE session_id IN (SELECT id FROM sessions WHERE attempt_id = ?)",
			"DELETE FROM queued WHERE attempt_id = ?", "DELETE FROM sessions WHERE attempt_id = ?",
			"DELETE FROM processes WHERE attempt_id = ?", "DELETE FROM attempts WHERE id = ?",
		} {
			if _, err := tx.Exec(ctx, query, a.ID); err != nil {
				return fmt.Errorf("delete attempt: %w", err)
			}
		}
	}
	if _, err := tx.Exec(ctx, "DELETE FROM tasks WHERE id = ?", t.ID); err != nil {
		return fmt.Errorf("delete task: %w", err)
	}
	_, err = note(tx, Event{Type: TaskDeleted, ProjectID: t.ProjectID, TaskID: t.ID})
	return err
}

// clearLeftovers takes away what deleted attempts left on this machine's disk.
func (m *Manager) clearLeftovers(ctx context.Context) error {
	left := map[string]leftover{}
	err := m.db.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Query(ctx, "SELECT attempt_id, data FROM leftovers WHERE host = ? LIMIT 100", m.host)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var data []byte
			var l leftover
			if err := rows.Scan(&id, &data); err != nil {
				return err
			}
			if err := json.Unmarshal(data, &l); err != nil {
				return err
			}
			left[id] = l
		}
		return rows.Err()
	})
	if err != nil {
		return fmt.Errorf("read what deleted attempts left: %w", err)
	}
	var problems []error
	for id, l := range left {
		if err := m.clear(ctx, id, l); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

func (m *Manager) clear(ctx context.Context, id string, l leftover) error {
	unlock, err := m.lockTree(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	if l.Tree.Present(ctx) {
		_, err = l.Tree.Commit(ctx, "Work left in a deleted task")
	}
	if fault.Of(err) != nil {
		// As in the middle of a merge: what cannot be kept on the branch stays
		// where it is.
		m.options.Log.Warn("worktree of deleted task is kept", "dir", l.Tree.Dir, "error", err)
	} else if err == nil {
		if err = l.Tree.Remove(ctx, true); err == nil {
			l.Tree.DropBranches(ctx)
		}
	}
	if err != nil && fault.Of(err) == nil {
		return fmt.Errorf("remove worktree of deleted task: %w", err)
	}
	for _, p := range l.Processes {
		if err := os.RemoveAll(m.runDir(p)); err != nil {
			return fmt.Errorf("remove spool: %w", err)
		}
	}
	return m.db.UpdateFast(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM leftovers WHERE attempt_id = ?", id)
		return err
	})
}

// GC takes away worktrees that nobody has used for a while. Branches stay, and
// a follow-up brings a worktree back. What runs and what has changes that are
// not committed is kept.
func (m *Manager) GC(ctx context.Context, g GC) (report GCReport, err error) {
	if err := m.clearLeftovers(ctx); err != nil {
		m.options.Log.Warn("clearing of deleted attempts failed", "error", err)
	}
	found, now, err := m.worktrees(ctx)
	if err != nil {
		return GCReport{}, err
	}
	for _, f := range found {
		if f.item.Bytes, err = f.tree.Size(ctx); err != nil {
			return report, err
		}
		f.item.Kept = m.retained(g, f, now)
		if f.item.Kept == "" && !g.DryRun {
			f.item.Kept = m.collect(ctx, f.checkout)
		}
		f.item.Removed = f.item.Kept == ""
		report.Bytes += f.item.Bytes
		if f.item.Removed {
			report.Freed += f.item.Bytes
		}
		report.Worktrees = append(report.Worktrees, f.item)
	}
	return report, m.db.UpdateFast(ctx, func(tx *store.Tx) error { return forgetRequests(ctx, tx) })
}

// usedTree is a worktree and how it is used.
type usedTree struct {
	checkout
	item    GCItem
	running bool
}

func (m *Manager) worktrees(ctx context.Context) (found []usedTree, now time.Time, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		now = tx.Now
		attempts, err := all(ctx, tx, scanAttempt, "SELECT "+attemptColumns+" FROM attempts a WHERE a.removed = 0 AND a.host = ? ORDER BY a.created_at, a.id", m.host)
		if err != nil {
			return err
		}
		for _, a := range attempts {
			c, err := readCheckout(ctx, tx, a.ID)
			if err != nil {
				return err
			}
			t, err := readTask(ctx, tx, a.TaskID)
			if err != nil {
				return err
			}
			p, err := latestProcess(ctx, tx, a.ID)
			if err != nil {
				return err
			}
			u := usedTree{checkout: c, running: p != nil && !p.State.Ended()}
			u.item = GCItem{AttemptID: a.ID, TaskID: t.ID, Title: t.Title, Status: t.Status, Dir: a.Dir, LastUsed: a.Updated}
			found = append(found, u)
		}
		return nil
	})
	return found, now, err
}

// retained says why a worktree is not to be collected; empty: it is.
func (m *Manager) retained(g GC, u usedTree, now time.Time) string {
	age, limit := now.Sub(u.item.LastUsed), g.OlderThan
	if limit == 0 {
		retain, ok := m.options.Retain[u.item.Status]
		if !ok {
			return fmt.Sprintf("its task is %s", u.item.Status)
		}
		limit = retain
	}
	switch {
	case u.running:
		return "it is running"
	case age < limit:
		return fmt.Sprintf("it was used %v ago", age.Round(time.Second))
	}
	return ""
}

// collect takes a worktree away and says why it did not, if so. The row is
// marked first, under the lock: a process that starts meanwhile waits and then
// brings the worktree back.
func (m *Manager) collect(ctx context.Context, c checkout) (kept string) {
	unlock, err := m.lockTree(ctx, c.ID)
	if err != nil {
		return err.Error()
	}
	defer unlock()
	mark := func(removed int) (bool, error) {
		marked := false
		err := m.db.Update(ctx, func(tx *store.Tx) error {
			p, err := latestProcess(ctx, tx, c.ID)
			if err != nil || p != nil && !p.State.Ended() {
				return err
			}
			marked = true
			_, err = tx.Exec(ctx, "UPDATE attempts SET removed = ? WHERE id = ?", removed, c.ID)
			return err
		})
		return marked, err
	}
	marked, err := mark(1)
	if err == nil && !marked {
		return "it is running"
	}
	if err == nil {
		err = c.tree.Remove(ctx, false)
	}
	if err == nil {
		if err := m.removeSpools(ctx, c.ID); err != nil {
			m.options.Log.Warn("removal of spools failed", "attempt_id", c.ID, "error", err)
		}
		return ""
	}
	if _, e := mark(0); e != nil {
		err = errors.Join(err, e)
	}
	return err.Error()
}

// removeSpools takes away the files of an attempt's runs: what was in them is
// in the log.
func (m *Manager) removeSpools(ctx context.Context, attemptID string) error {
	processes, err := m.Processes(ctx, attemptID)
	if err != nil {
		return err
	}
	var problems []error
	for _, p := range processes {
		if p.State.Ended() {
			problems = append(problems, os.RemoveAll(m.runDir(p.ID)))
		}
	}
	return errors.Join(problems...)
}
