package tasks

import (
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/store"
)

// TurnEnd describes the end of a process of an attempt.
type TurnEnd struct {
	AttemptID string
	// State is the state of the process. Empty: no process ended.
	State State
	// Over says why answers start no more follow-ups: the task is "done",
	// "cancelled" or "deleted". Empty: they do.
	Over string
}

const deleted = "deleted"

// followUpsEnded returns why a task with this status takes no follow-ups.
// Empty: it does.
func followUpsEnded(s Status) string {
	if s == Done || s == Cancelled {
		return string(s)
	}
	return ""
}

// turnEnded reports the end of a turn in the transaction that ends it, so that
// a crash cannot separate the two.
func (m *Manager) turnEnded(ctx context.Context, tx *store.Tx, e TurnEnd) error {
	if m.options.TurnEnded == nil {
		return nil
	}
	return m.options.TurnEnded(ctx, tx, e)
}

// dropQuestions ends the open questions of a task that is over. Running
// attempts end theirs with their run.
func (m *Manager) dropQuestions(ctx context.Context, tx *store.Tx, t Task) error {
	if followUpsEnded(t.Status) == "" {
		return nil
	}
	attempts, err := attemptsOf(ctx, tx, t.ID)
	if err != nil {
		return fmt.Errorf("read attempts: %w", err)
	}
	for _, a := range attempts {
		p, err := latestProcess(ctx, tx, a.ID)
		if err != nil {
			return err
		}
		if p != nil && !p.State.Ended() {
			continue
		}
		if err := m.turnEnded(ctx, tx, TurnEnd{AttemptID: a.ID, Over: followUpsEnded(t.Status)}); err != nil {
			return err
		}
	}
	return nil
}
