package tasks

import (
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/store"
)

// Status returns the state of an attempt. Fault: not_found.
func (m *Manager) Status(ctx context.Context, attemptID string) (s AttemptStatus, err error) {
	if attemptID, err = parseID("attempt_id", attemptID); err != nil {
		return AttemptStatus{}, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		var p *process
		if s, p, err = readStatus(ctx, tx, attemptID); err == nil && p != nil {
			s.WaitsFor, err = m.waitsFor(ctx, tx, p)
		}
		return err
	})
	if err != nil {
		return AttemptStatus{}, err
	}
	if s.Dev, err = m.DevServer(ctx, attemptID); err != nil {
		return AttemptStatus{}, err
	}
	if s.Work.State == OffBranch {
		s.Work = m.refreshWork(ctx, attemptID, s.Work)
	}
	if s.State != Running && s.State != Idle {
		if s.Distances, err = m.distances(ctx, attemptID, s.Work.State == OffBranch); err != nil {
			s.Work.Notes = append(s.Work.Notes, errorText(err))
		}
	}
	if err := m.noteAway(ctx, &s); err != nil {
		return AttemptStatus{}, err
	}
	if m.options.Questions != nil {
		if s.Questions, err = m.options.Questions(ctx, attemptID); err != nil {
			return AttemptStatus{}, fmt.Errorf("count questions: %w", err)
		}
	}
	return s, nil
}

// Running reports whether a process of an attempt runs or will run. Unlike
// Status, it does not look at the repositories. Fault: not_found.
func (m *Manager) Running(ctx context.Context, attemptID string) (running bool, err error) {
	if attemptID, err = parseID("attempt_id", attemptID); err != nil {
		return false, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		s, _, err := readStatus(ctx, tx, attemptID)
		running = s.State == Running
		return err
	})
	return running, err
}

// waitsFor returns what the newest process of an attempt is waiting for.
func (m *Manager) waitsFor(ctx context.Context, tx *store.Tx, p *process) (Wait, error) {
	switch {
	case p.State == Running && !p.asking.IsZero():
		return ForPerson, nil
	case p.State != Queued:
		return "", nil
	}
	lost, err := m.lacksStarter(ctx, tx, p)
	if lost {
		return ForStarter, err
	}
	return ForSlot, err
}

func readStatus(ctx context.Context, tx *store.Tx, attemptID string) (s AttemptStatus, p *process, err error) {
	a, err := readAttempt(ctx, tx, attemptID)
	if err != nil {
		return s, p, err
	}
	session, err := latestSession(ctx, tx, attemptID)
	if err != nil {
		return s, p, err
	}
	p, err = latestProcess(ctx, tx, attemptID)
	if err != nil {
		return s, p, err
	}
	pulls, err := all(ctx, tx, scanPull, "SELECT "+pullColumns+" FROM pulls WHERE attempt_id = ? ORDER BY repo", attemptID)
	if err != nil {
		return s, p, err
	}
	s = AttemptStatus{Attempt: a.Attempt, Pulls: pulls, SessionID: session.ID, Executor: session.Executor, Active: session.Updated, State: p.attemptState()}
	if p != nil {
		s.ProcessID, s.Active, s.Waiting = p.ID, p.Updated, p.State == Queued
		s.Unassigned = s.Waiting && p.host == anyHost
		if p.Completed.After(p.Updated) {
			s.Active = p.Completed
		}
		if s.State == Failed {
			s.Failure = p.failure()
		}
		if w := readWork(a.work); p.State.Ended() && (a.removed == 0 || w.State == LandedWork) {
			s.Work = w
		}
	}
	if s.Queued, err = queuedMessage(ctx, tx, session.ID); err != nil {
		return s, p, err
	}
	s.Usage, err = attemptUsage(ctx, tx, attemptID)
	return s, p, err
}

// attemptState returns the state of an attempt whose newest process is p.
func (p *process) attemptState() State {
	switch {
	case p == nil:
		return Idle
	case p.State == Queued:
		return Running
	case p.State == Killed:
		return Failed
	}
	return p.State
}

// failure returns the reason why a process failed. It is never empty.
func (p *process) failure() string {
	switch {
	case p.Failure != "":
		return p.Failure
	case p.State == Killed:
		return "killed"
	case p.ExitCode != nil:
		return fmt.Sprintf("failed (exit_code=%d)", *p.ExitCode)
	}
	return "failed"
}

// queuedMessage returns a session's queued or discarded message, or nil if there is
// none.
func queuedMessage(ctx context.Context, tx *store.Tx, sessionID string) (*QueuedMessage, error) {
	found, err := all(ctx, tx, scanQueued, "SELECT "+queuedColumns+" FROM queued WHERE session_id = ?", sessionID)
	if err != nil {
		return nil, fmt.Errorf("read queued message: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}
