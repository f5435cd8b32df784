package tasks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// gentleStop and forcedStop are how long Stop waits for the runner, without and
// with force. Without force, the runner sends an interrupt, then a termination
// signal after 5 s, and kills after 2 s more. With force, it kills immediately.
// If the runner has not ended the process by then, Stop ends it.
const (
	gentleStop = 12 * time.Second
	forcedStop = 3 * time.Second
)

// Stop stops an attempt's running or queued process, and returns when the
// process has ended. If the attempt has already ended, Stop kills the processes
// that its agent left running on this machine. If nothing is running, Stop
// changes nothing. With force, the agent gets no time to finish.
func (m *Manager) Stop(ctx context.Context, attemptID string, force bool) (Stopped, error) {
	attemptID, err := parseID("attempt_id", attemptID)
	if err != nil {
		return Stopped{}, err
	}
	m.stopDev(ctx, attemptID)
	seq, stopping, left, err := m.requestStop(ctx, attemptID, force)
	if err != nil {
		return Stopped{}, m.killUnrecorded(ctx, attemptID, err)
	}
	if stopping {
		if err := m.awaitStop(ctx, attemptID, seq, force); err != nil {
			return Stopped{}, err
		}
		m.launch(ctx)
	}
	s, err := m.Status(ctx, attemptID)
	return Stopped{AttemptID: attemptID, Force: force, Stopped: stopping || left > 0, State: s.State}, err
}

// requestStop stores a stop request for the runner. If no runner has claimed
// the process, requestStop ends the process. If the newest process has ended,
// requestStop kills any processes that the agent left behind. It does so in a
// transaction, so that no other process begins in the meantime.
func (m *Manager) requestStop(ctx context.Context, attemptID string, force bool) (seq int64, stopping bool, left int, err error) {
	err = m.db.Update(ctx, func(tx *store.Tx) error {
		if _, err := readAttempt(ctx, tx, attemptID); err != nil {
			return err
		}
		seq = tx.Seq
		p, err := latestProcess(ctx, tx, attemptID)
		if err != nil || p == nil {
			return err
		}
		if p.State.Ended() {
			left += killOrphans(attemptID)
			return nil
		}
		stopping = true
		if err := tx.Audit(store.Record{Action: "attempt.stopped", Object: attemptID}); err != nil {
			return err
		}
		if p.State == Queued {
			return m.endProcess(ctx, tx, p, ending{State: Killed, Failure: "killed"})
		}
		how := "stop"
		if force || p.stop == "force" {
			how = "force"
		}
		if _, err := tx.Exec(ctx, "UPDATE processes SET stop = ? WHERE id = ?", how, p.ID); err != nil {
			return err
		}
		_, err = note(tx, Event{Type: StopRequested, TaskID: p.taskID, AttemptID: attemptID, SessionID: p.SessionID, ProcessID: p.ID, State: p.State})
		return err
	})
	return seq, stopping, left, err
}

// killUnrecorded kills the agent if the stop request cannot be stored, for
// example because the agent has filled the disk. The agent's runner or a sweep
// records the end later.
func (m *Manager) killUnrecorded(ctx context.Context, attemptID string, why error) error {
	if fault.Of(why) != nil || ctx.Err() != nil {
		return why
	}
	p, err := m.newestProcess(ctx, attemptID)
	if err != nil || p == nil || p.State != Running || p.host != m.host {
		return why
	}
	p.agent.Kill()
	m.removeContainers(ctx, p.ID)
	killOrphans(attemptID)
	return fmt.Errorf("the agent was stopped, but its new state could not be stored: %w", why)
}

// awaitStop waits until the attempt ends. If the runner does not respond,
// awaitStop ends the attempt itself.
func (m *Manager) awaitStop(ctx context.Context, attemptID string, seq int64, force bool) error {
	patience := gentleStop
	if force {
		patience = forcedStop
	}
	until, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w, err := m.Watch(until, seq, attemptID)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		p, err := m.newestProcess(ctx, attemptID)
		if err != nil || p == nil || p.State.Ended() {
			return err
		}
		expired := until.Err() != nil
		if p.host == m.host && (expired || m.diedHere(*p)) {
			if err := m.giveUp(ctx, *p, "killed"); err != nil {
				return err
			}
			continue
		}
		if expired {
			return retryable(AttemptRunning, "check its status again in a moment", "attempt %s is still stopping", attemptID).WithCase(StillStopping, "attempt", attemptID)
		}
		glance, cancel := context.WithTimeout(until, 250*time.Millisecond)
		_, err = w.Next(glance)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

func (m *Manager) newestProcess(ctx context.Context, attemptID string) (p *process, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		p, err = latestProcess(ctx, tx, attemptID)
		return err
	})
	return p, err
}
