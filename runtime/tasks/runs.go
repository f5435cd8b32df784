package tasks

import (
	"context"

	"github.com/deskhand/deskhand/runtime/store"
)

// Run is the work that one prompt started: the setup script if there is one,
// the agent, and then the cleanup script, if the run gets that far.
type Run struct {
	Attempt
	// Newest is the run's newest process. Its state is the run's state.
	Newest Process
	// Began is the run's first process.
	Began Process
}

// Failure returns why the run failed, or "".
func (r Run) Failure() string {
	if r.Newest.State == Failed || r.Newest.State == Killed {
		p := process{Process: r.Newest}
		return p.failure()
	}
	return ""
}

// RunFrom returns the run that began with the given process. A later prompt in
// the same attempt starts another run.
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

// follows maps the reason of a completed process to the reason of the process
// that follows in the same run.
var follows = map[Reason]Reason{Setup: Agent, Agent: Cleanup}
