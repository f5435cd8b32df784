package tasks

import (
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/store"
)

// TurnEnd describes the end of a process of an attempt.
type TurnEnd struct {
	AttemptID string
	// State is the state of the process. It is empty if no process ended.
	State State
	// Over is the reason why answers no longer start follow-ups: the task is
	// "done", "cancelled" or "deleted". It is empty if answers still start
	// follow-ups.
	Over string
}

const deleted = "deleted"

// followUpsEnded returns the reason why a task with this status takes no
// follow-ups, or "" if the task takes them.
func followUpsEnded(s Status) string {
	if s == Done || s == Cancelled {
		return string(s)
	}
	return ""
}

// turnEnded reports the end of a turn. The caller ends the turn in the same
// transaction, so that a crash cannot separate the two.
func (m *Manager) turnEnded(ctx context.Context, tx *store.Tx, e TurnEnd) error {
	if m.options.TurnEnded == nil {
		return nil
	}
	return m.options.TurnEnded(ctx, tx, e)
}

// dropQuestions ends the open questions of a task that is over. The questions
// of a running attempt end with its run.
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
