package tasks

import (
	"context"
	"path/filepath"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// SetWatch sets the clock with which a manager watches the leases of others.
func SetWatch(m *Manager, now func() time.Time) {
	m.observed.mu.Lock()
	defer m.observed.mu.Unlock()
	m.observed.now = now
}

// HaveRun makes a manager the runner of an attempt's running process, whose lease has
// expired. It returns the file that shows that the run lives.
func HaveRun(ctx context.Context, m *Manager, attemptID string) (alive string, err error) {
	return filepath.Join(m.runDir("hung"), beatFile), m.db.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE processes SET owner = ?, runner_pid = ?, runner_born = ?, lease_until = 0 WHERE attempt_id = ? AND state = ?",
			m.instance+"/hung", m.self.PID, m.self.StartTime, attemptID, Running)
		return err
	})
}
