package tasks_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// TestAnIdleRunnerWritesNothingToTheStore: while its agent waits, a runner shows that it is
// alive by its file, and its lease stays as it is.
func TestAnIdleRunnerWritesNothingToTheStore(t *testing.T) {
	d := open(t, Repo{}, settings{Lease: 2 * time.Second})
	started := d.start("hang")
	d.until(started.AttemptID, "began", func(s AttemptStatus) bool { return s.SessionID != "" && d.running(started.AttemptID).agent > 0 })
	alive := filepath.Join(d.options.Dir, "runs", started.ProcessID, "alive")
	var lease, lastLease int64
	var lastBeat time.Time
	beats := 0
	waittest.Until(t, "three beats with the same lease", func() (bool, any) {
		err := d.db.View(t.Context(), func(tx *store.Tx) error {
			return tx.QueryRow(t.Context(), "SELECT lease_until FROM processes WHERE id = ?", started.ProcessID).Scan(&lease)
		})
		if err != nil {
			t.Fatal(err)
		}
		beat, err := os.Stat(alive)
		switch {
		case err != nil || lease != lastLease:
			beats = 0
		case !beat.ModTime().Equal(lastBeat):
			beats++
		}
		if lastLease = lease; err == nil {
			lastBeat = beat.ModTime()
		}
		return beats >= 3, []any{lease, lastBeat, err}
	})
	if left := time.Until(time.UnixMilli(lease)); left < 10*time.Second {
		t.Errorf("the lease expires in %v, which a manager that cannot see the file would take for a dead runner", left)
	}
	if _, err := d.Stop(t.Context(), started.AttemptID, true); err != nil {
		t.Error(err)
	}
	d.ended(started.AttemptID)
}
