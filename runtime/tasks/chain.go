package tasks

import (
	"context"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
)

// The processes of an attempt form a chain: setup, agent, cleanup, and then the
// agent again with the queued message. At any time, at most one process of an
// attempt is queued or running. A single transaction ends one process and adds
// the next, so an attempt never looks finished while its chain continues.

// ending describes how a process ended.
type ending struct {
	State    State
	ExitCode *int
	Failure  string
	Summary  string // the agent's last message
}

// closeProcess ends one process in the store. It returns errLost if p.owner no longer
// owns the process.
func (m *Manager) closeProcess(ctx context.Context, tx *store.Tx, p *process, t Task, e ending) error {
	now := millis(tx.Now)
	done, err := tx.Exec(ctx, `UPDATE processes SET state = ?, exit_code = ?, failure = ?, completed_at = ?, updated_at = ?, token = '' WHERE id = ? AND owner = ? AND state IN ('queued', 'running')`,
		e.State, exitColumn(e.ExitCode), e.Failure, now, now, p.ID, p.owner)
	if err != nil {
		return fmt.Errorf("end process: %w", err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errLost
	}
	if p.SessionID != "" && p.Reason == Agent {
		if _, err := tx.Exec(ctx, "UPDATE turns SET summary = ?, updated_at = ? WHERE session_id = ? AND process_id = ?", e.Summary, now, p.SessionID, p.ID); err != nil {
			return fmt.Errorf("end turn: %w", err)
		}
		if _, err := tx.Exec(ctx, "UPDATE sessions SET updated_at = ? WHERE id = ?", now, p.SessionID); err != nil {
			return fmt.Errorf("write session: %w", err)
		}
	}
	if _, err := tx.Exec(ctx, "UPDATE attempts SET updated_at = ? WHERE id = ?", now, p.AttemptID); err != nil {
		return fmt.Errorf("write attempt: %w", err)
	}
	_, err = note(tx, Event{Type: ProcessEnded, ProjectID: t.ProjectID, TaskID: p.taskID, AttemptID: p.AttemptID, SessionID: p.SessionID, ProcessID: p.ID, State: e.State})
	if err != nil {
		return err
	}
	return m.turnEnded(ctx, tx, TurnEnd{AttemptID: p.AttemptID, State: e.State, Over: followUpsEnded(t.Status)})
}

// endProcess ends a process that has no successor. It discards a queued
// message, and updates the task's status if no other process is running.
func (m *Manager) endProcess(ctx context.Context, tx *store.Tx, p *process, e ending) error {
	t, err := readTask(ctx, tx, p.taskID)
	if err != nil {
		return err
	}
	if err := m.closeProcess(ctx, tx, p, t, e); err != nil {
		return err
	}
	if e.State != Completed {
		if err := discard(ctx, tx, t, p, map[State]string{Failed: "the previous run failed", Killed: "the previous run was stopped"}[e.State]); err != nil {
			return err
		}
	}
	return updateTaskStatus(ctx, tx, t)
}

// updateTaskStatus sets the status of a task without running processes. The
// status becomes inreview if an agent has ever started, and todo otherwise.
func updateTaskStatus(ctx context.Context, tx *store.Tx, t Task) error {
	var open, begun int
	err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM processes WHERE task_id = ? AND state IN ('queued', 'running')", t.ID).Scan(&open)
	if err == nil {
		err = tx.QueryRow(ctx, "SELECT COUNT(*) FROM sessions s JOIN attempts a ON a.id = s.attempt_id WHERE a.task_id = ?", t.ID).Scan(&begun)
	}
	switch {
	case err != nil:
		return fmt.Errorf("read a task's running processes: %w", err)
	case open > 0:
		return nil
	case begun == 0:
		return moveTask(ctx, tx, t, Todo, InProgress)
	}
	return moveTask(ctx, tx, t, InReview, InProgress)
}

// discard discards the messages queued in an attempt. They can still be read
// until another message is queued.
func discard(ctx context.Context, tx *store.Tx, t Task, p *process, why string) error {
	done, err := tx.Exec(ctx, "UPDATE queued SET discarded = ? WHERE attempt_id = ? AND discarded = ''", why, p.AttemptID)
	if err != nil {
		return fmt.Errorf("discard queued message: %w", err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = note(tx, Event{Type: MessageDropped, ProjectID: t.ProjectID, TaskID: t.ID, AttemptID: p.AttemptID, SessionID: p.SessionID})
	return err
}

// startNext ends a process and starts the next one in the chain, under the same
// runner. next is the new process's reason. If next is empty, the chain is
// complete: if a message is queued, it starts a new run; otherwise the attempt
// ends.
func (m *Manager) startNext(ctx context.Context, tx *store.Tx, p *process, e ending, next Reason) (*process, error) {
	t, err := readTask(ctx, tx, p.taskID)
	if err != nil {
		return nil, err
	}
	follow := *p
	if next == "" {
		q, err := takeQueued(ctx, tx, p.AttemptID)
		if err != nil {
			return nil, err
		}
		if q == nil {
			return nil, m.endProcess(ctx, tx, p, e)
		}
		s, err := readSession(ctx, tx, q.SessionID)
		if err != nil {
			return nil, err
		}
		next, follow.SessionID, follow.Prompt, follow.Executor, follow.Variant = Agent, s.ID, q.Message, s.Executor, s.Variant
		follow.Person = q.Person
		if q.Variant != "" {
			follow.Variant = q.Variant
		}
	}
	if err := m.closeProcess(ctx, tx, p, t, e); err != nil {
		return nil, err
	}
	follow.Process = Process{ID: newID(), AttemptID: p.AttemptID, SessionID: follow.SessionID, Reason: next, Executor: follow.Executor, Variant: follow.Variant,
		Prompt: follow.Prompt, Person: follow.Person, State: Running, Created: tx.Now, Started: tx.Now, Updated: tx.Now}
	follow.agent, follow.token, follow.launched, follow.asking = proc.Leader{}, "", tx.Now, time.Time{}
	if err := insertProcess(ctx, tx, &follow, t.ProjectID); err != nil {
		return nil, err
	}
	return &follow, nil
}

// takeQueued removes and returns the oldest message queued in an attempt. It returns
// nil if there is none.
func takeQueued(ctx context.Context, tx *store.Tx, attemptID string) (*QueuedMessage, error) {
	found, err := all(ctx, tx, scanQueued, "SELECT "+queuedColumns+" FROM queued WHERE attempt_id = ? AND discarded = '' ORDER BY queued_at, session_id LIMIT 1", attemptID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	_, err = tx.Exec(ctx, "DELETE FROM queued WHERE session_id = ?", found[0].SessionID)
	return &found[0], err
}

const queuedColumns = "session_id, message, variant, person, queued_at, discarded"

func scanQueued(row scanner) (q QueuedMessage, err error) {
	var queued int64
	err = row.Scan(&q.SessionID, &q.Message, &q.Variant, &q.Person, &queued, &q.Discarded)
	q.At = at(queued)
	return q, err
}
