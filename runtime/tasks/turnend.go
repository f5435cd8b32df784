package tasks

import (
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/store"
)

// TurnEnd is the end of what one process of an attempt did.
type TurnEnd struct {
	AttemptID string
	// State is that of the process. Empty: none ended now.
	State State
	// Over says why no answer starts a follow-up any more: the task is "done",
	// "cancelled" or "deleted". Empty: one does.
	Over string
}

const deleted = "deleted"

// followUpsEnded is why a task with a status has no more follow-ups; empty: it may.
func followUpsEnded(s Status) string {
	if s == Done || s == Cancelled {
		return string(s)
	}
	return ""
}

// turnEnded tells of the end of a turn, in the transaction that ends it: whoever
// asks a person for the attempt must not be half told when this process dies.
func (m *Manager) turnEnded(ctx context.Context, tx *store.Tx, e TurnEnd) error {
	if m.options.TurnEnded == nil {
		return nil
	}
	return m.options.TurnEnded(ctx, tx, e)
}

// dropQuestions ends what the attempts at a task that is over still ask. Those
// that run end theirs with their run.
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
