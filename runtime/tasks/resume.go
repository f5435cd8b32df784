package tasks

import (
	"context"

	"github.com/deskhand/deskhand/runtime/store"
)

// Resume gives a queued attempt this manager's origin. As soon as a slot is
// free, the attempt runs with the environment and settings of this process.
// Fault: not_waiting.
func (m *Manager) Resume(ctx context.Context, attemptID string) error {
	attemptID, err := parseID("attempt_id", attemptID)
	if err != nil {
		return err
	}
	err = m.db.Update(ctx, func(tx *store.Tx) error {
		a, err := readAttempt(ctx, tx, attemptID)
		if err != nil {
			return err
		}
		p, err := latestProcess(ctx, tx, attemptID)
		if err != nil {
			return err
		}
		if p == nil || p.State != Queued {
			return refuse(NotWaiting, "check its status", "attempt %s is not waiting for a slot", attemptID).WithCase("", "attempt", attemptID)
		}
		if a.host != m.host {
			return elsewhere(attemptID, a.host, "attempt %s is waiting on %s", attemptID, a.host)
		}
		by, err := m.stamp(p.Executor)
		if err != nil || by == p.stamp {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE processes SET origin = ?, made_with = ?, places = ?, executor_places = ?, launched_at = ? WHERE id = ?",
			by.origin, by.madeWith, by.slots, by.ofExecutor, millis(tx.Now), p.ID)
		return err
	})
	if err == nil {
		m.launch(ctx)
	}
	return err
}
