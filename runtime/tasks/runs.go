package tasks

import (
	"context"

	"github.com/deskhand/deskhand/runtime/store"
)

// Run is what one prompt of an attempt has started: the setup script if there
// is one, the agent, and the cleanup script if it comes to that.
type Run struct {
	Attempt
	// Newest is the process the run has come to. Its state is that of the run.
	Newest Process
	// Began is when the first process was made.
	Began Process
}

// Failure says why the run failed; empty: it did not.
func (r Run) Failure() string {
	if r.Newest.State == Failed || r.Newest.State == Killed {
		p := process{Process: r.Newest}
		return p.failure()
	}
	return ""
}

// RunFrom returns the run that began with a process. A run ends once; a later
// prompt of the same attempt is another run.
func (m *Manager) RunFrom(ctx context.Context, processID string) (run Run, err error) {
	if processID, err = parseID("execution_process_id", processID); err != nil {
		return run, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		first, err := readProcess(ctx, tx, processID)
		if err != nil {
			return err
		}
		a, err := readAttempt(ctx, tx, first.AttemptID)
		if err != nil {
			return err
		}
		rest, err := all(ctx, tx, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.attempt_id = ? AND p.ordinal > ? ORDER BY p.ordinal LIMIT 2",
			first.AttemptID, first.ordinal)
		if err != nil {
			return err
		}
		run = Run{Attempt: a.Attempt, Began: first.Process, Newest: first.Process}
		for _, p := range rest {
			if run.Newest.State != Completed || p.Reason != follows[run.Newest.Reason] {
				break
			}
			run.Newest = p.Process
		}
		return nil
	})
	return run, err
}

// follows is what comes, within one run, after a process that ended well.
var follows = map[Reason]Reason{Setup: Agent, Agent: Cleanup}
