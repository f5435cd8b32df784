package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// leftover describes what a deleted attempt left on the disk.
type leftover struct {
	Tree      worktree.Tree
	Processes []string
	Refs      map[string]remoteRef `json:",omitempty"` // on remotes
	// KeepBranch keeps the branch, because a person wanted to keep it when its
	// work landed.
	KeepBranch bool `json:",omitempty"`
}

// DeleteTask deletes a task with its attempts, their worktrees and logs.
// Branches with commits stay. DeleteTask first commits uncommitted work, and
// creates refs for commits that are on no branch. Faults:
// task_has_running_attempt; work_unsaved if a folder has content that would be
// lost.
func (m *Manager) DeleteTask(ctx context.Context, id string) error {
	id, err := parseID("task_id", id)
	if err != nil {
		return err
	}
	attempts, err := m.Attempts(ctx, id)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		m.stopDev(ctx, a.ID)
	}
	if err := m.saveAttempts(ctx, attempts); err != nil {
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
			return retryable(TaskRunning, "stop that attempt first", "an attempt at task %s is running", id).WithCase("", "task", id)
		}
		return errors.Join(m.deleteTask(ctx, tx, t), tx.Audit(store.Record{Action: "task.deleted", Object: t.ID}))
	})
	if err != nil {
		return err
	}
	var problems []error
	left, err := m.leftovers(ctx)
	for _, a := range attempts {
		if l, ok := left[a.ID]; ok {
			problems = append(problems, m.tryClear(ctx, a.ID, l))
		}
	}
	return errors.Join(append(problems, err)...)
}

// saveAttempts commits the uncommitted work of a task's attempts to their
// branches. It fails if any work cannot be committed.
func (m *Manager) saveAttempts(ctx context.Context, attempts []AttemptSummary) error {
	for _, a := range attempts {
		c, err := m.checkoutOf(ctx, a.ID)
		if f := fault.Of(err); f != nil && f.Code == WorktreeMissing {
			continue // the worktree is on another machine, which removes it
		}
		if err != nil {
			return err
		}
		if _, _, err := m.saveAttempt(ctx, c, false); err != nil {
			return err
		}
	}
	return nil
}

// saveAttempt commits the uncommitted work of an attempt that is to be deleted.
// It returns the refs that will keep its commits if its folder is removed, and
// those that will if its branch is deleted too. A dry run commits nothing.
func (m *Manager) saveAttempt(ctx context.Context, c checkout, dryRun bool) (loose, aside []string, err error) {
	unlock, err := m.lockTree(ctx, c.ID)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	p, err := m.newestProcess(ctx, c.ID)
	if err != nil || p != nil && !p.State.Ended() {
		return nil, nil, err // the caller refuses a running attempt with its own message
	}
	if !dryRun {
		killOrphans(c.ID)
	}
	if err := m.loadAllowed(ctx, &c); err != nil {
		return nil, nil, err
	}
	var held error
	switch check := m.secretFinder(c, p); {
	case !c.tree.Present(ctx):
	case dryRun:
		planned, done, err := c.tree.ForeseeCommit(ctx, check)
		defer done()
		c.tree, held = planned, err
	default:
		_, held = c.tree.Commit(ctx, leftWork, check)
	}
	loose, err = c.tree.Discardable(ctx)
	f := fault.Of(err)
	if f == nil {
		return loose, c.tree.Aside(ctx), err
	}
	why := f.Message
	if h := fault.Of(held); h != nil && h.Code == CommitHeld {
		why = h.Message + "; " + why
	}
	return nil, nil, refuse(WorkUnsaved, "commit it to the branch, push it, or move it out of "+c.tree.Dir,
		"attempt %s has work that would be lost with its folder: %s", c.ID, why).WithCase("", "attempt", c.ID, "folder", c.tree.Dir)
}

const leftWork = "Work left in a deleted task"

func (m *Manager) deleteTask(ctx context.Context, tx *store.Tx, t Task) error {
	attempts, err := attemptsOf(ctx, tx, t.ID)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		if err := m.deleteAttempt(ctx, tx, a); err != nil {
			return err
		}
	}
	for _, rows := range []string{"DELETE FROM plans WHERE task_id = ?", "DELETE FROM tasks WHERE id = ?"} {
		if _, err := tx.Exec(ctx, rows, t.ID); err != nil {
			return fmt.Errorf("delete task: %w", err)
		}
	}
	_, err = note(tx, Event{Type: TaskDeleted, ProjectID: t.ProjectID, TaskID: t.ID})
	return err
}

// deleteAttempt deletes all rows of an attempt, and records what it leaves on the disk.
func (m *Manager) deleteAttempt(ctx context.Context, tx *store.Tx, a attempt) error {
	if err := m.turnEnded(ctx, tx, TurnEnd{AttemptID: a.ID, Over: deleted}); err != nil {
		return err
	}
	c, err := readCheckout(ctx, tx, a.ID)
	if err != nil {
		return err
	}
	left := leftover{Tree: c.tree, KeepBranch: c.landed != nil && c.landed.KeepBranch}
	if left.Refs, err = remoteRefs(ctx, tx, c); err != nil {
		return err
	}
	if err := dropShared(ctx, tx, a.ID); err != nil {
		return err
	}
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
	if a.host == anyHost { // no host has anything of it
		a.host = ""
	} else if _, err := tx.Exec(ctx, "INSERT INTO leftovers (attempt_id, host, data) VALUES (?, ?, ?)", a.ID, a.host, string(data)); err != nil {
		return fmt.Errorf("record the attempt's remaining files: %w", err)
	}
	for _, query := range []string{
		"DELETE FROM turns WHERE session_id IN (SELECT id FROM sessions WHERE attempt_id = ?)",
		"DELETE FROM queued WHERE attempt_id = ?", "DELETE FROM sessions WHERE attempt_id = ?",
		"DELETE FROM processes WHERE attempt_id = ?", "DELETE FROM landings WHERE attempt_id = ?", "DELETE FROM pulls WHERE attempt_id = ?", "DELETE FROM allowed_secrets WHERE attempt_id = ?",
		"DELETE FROM comments WHERE attempt_id = ?", "DELETE FROM viewed WHERE attempt_id = ?", "DELETE FROM pull_comments WHERE attempt_id = ?", "DELETE FROM dev_servers WHERE attempt_id = ?", "DELETE FROM attempts WHERE id = ?",
	} {
		if _, err := tx.Exec(ctx, query, a.ID); err != nil {
			return fmt.Errorf("delete attempt: %w", err)
		}
	}
	return nil
}

// stuckTime is how long to wait before trying again to remove a folder. The
// removal may fail each time, for example because of another user's files, and
// a sweep runs every few seconds.
const stuckTime = 10 * time.Minute

// clearLeftovers removes the remains of deleted attempts from this machine's disk.
func (m *Manager) clearLeftovers(ctx context.Context) error {
	ctx = access.Itself(ctx)
	left, err := m.leftovers(ctx)
	if err != nil {
		return err
	}
	problems := []error{worktree.ClearGone(m.attemptsDir())}
	for id, l := range left {
		if tried, stuck := m.undeletable.Load(id); stuck && time.Since(tried.(time.Time)) < stuckTime {
			continue
		}
		problems = append(problems, m.tryClear(ctx, id, l))
	}
	return errors.Join(problems...)
}

func (m *Manager) tryClear(ctx context.Context, id string, l leftover) error {
	m.dropDevLog(id)
	err := m.clear(ctx, id, l)
	if err != nil && ctx.Err() == nil {
		m.undeletable.Store(id, time.Now())
	}
	return err
}

// leftovers returns what deleted attempts left on this machine, by attempt ID.
func (m *Manager) leftovers(ctx context.Context) (left map[string]leftover, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		left, err = readLeftovers(ctx, tx, m.host)
		return err
	})
	return left, err
}

func readLeftovers(ctx context.Context, tx *store.Tx, host string) (map[string]leftover, error) {
	rows, err := tx.Query(ctx, "SELECT attempt_id, data FROM leftovers WHERE host = ? ORDER BY attempt_id", host)
	if err != nil {
		return nil, fmt.Errorf("read the remaining files of deleted attempts: %w", err)
	}
	defer rows.Close()
	left := map[string]leftover{}
	for rows.Next() {
		var id string
		var data []byte
		var l leftover
		if err := rows.Scan(&id, &data); err != nil {
			return nil, fmt.Errorf("read the remaining files of deleted attempts: %w", err)
		}
		if err := json.Unmarshal(data, &l); err != nil {
			return nil, fmt.Errorf("read the remaining files of a deleted attempt: %w", err)
		}
		left[id] = l
	}
	return left, rows.Err()
}

func (m *Manager) clear(ctx context.Context, id string, l leftover) error {
	unlock, err := m.lockTree(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	killOrphans(id)
	if err := l.Tree.Discard(ctx); err != nil {
		// The folder has new content since DeleteTask checked it. It stays, and gc
		// lists it.
		return fmt.Errorf("remove worktree of deleted task: %w", err)
	}
	if !l.KeepBranch {
		l.Tree.DropLanded(ctx)
		l.Tree.DropBranches(ctx)
	}
	l.Tree.ForgetLanded(ctx)
	m.unshare(ctx, id, l.Tree, l.Refs)
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
