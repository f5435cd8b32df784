package tasks

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

// FollowUp continues a session.
//
// Send is refused while a process of the attempt is running, because two agents must
// not share a worktree. Queue replaces a queued message; if nothing is running, it
// starts immediately but still returns "queued". Cancel removes the queued message.
// Faults: no_session_yet, attempt_running, ambiguous_target, missing_required.
func (m *Manager) FollowUp(ctx context.Context, r FollowUpRequest) (FollowUp, error) {
	return m.followUpWith(ctx, r, func(*store.Tx) error { return nil })
}

// followUpWith is FollowUp that runs also in the same transaction. A repeated request does
// not run it again.
func (m *Manager) followUpWith(ctx context.Context, r FollowUpRequest, also func(*store.Tx) error) (FollowUp, error) {
	if r.Action == Cancel {
		return m.cancelQueued(ctx, r)
	}
	req, r, err := checkFollowUp(r)
	if err != nil {
		return FollowUp{}, err
	}
	if old, err := previousResult[FollowUp](ctx, m, req); err != nil || old != nil {
		return deref(old), err
	}
	known, err := m.Executors(ctx) // searches for programs, so not inside a transaction
	if err != nil {
		return FollowUp{}, err
	}
	if req.payload, err = m.effective(ctx, known, r); err != nil {
		return FollowUp{}, err
	}
	done, err := idempotent(ctx, m, req, func(tx *store.Tx) (FollowUp, error) {
		done, err := m.followUp(ctx, tx, known, r)
		if err == nil {
			err = also(tx)
		}
		return done, err
	})
	if err != nil {
		return FollowUp{}, err
	}
	m.launch(ctx)
	return done, nil
}

func checkFollowUp(r FollowUpRequest) (request, FollowUpRequest, error) {
	req := request{scope: scopeFollowUp, id: r.RequestID}
	if r.Action != Send && r.Action != Queue {
		return req, r, refuse(InvalidArgument, "use action send, queue or cancel", "there is no action %q", brief(string(r.Action))).WithCase(WhichAction)
	}
	r.Prompt, r.Variant, r.RequestID = strings.TrimSpace(r.Prompt), strings.TrimSpace(r.Variant), ""
	if r.Prompt == "" {
		return req, r, refuse(MissingRequired, "pass the message for the agent", "prompt is missing").WithCase(PromptMissing, "action", string(r.Action))
	}
	r.AttemptID, r.SessionID = strings.ToLower(r.AttemptID), strings.ToLower(r.SessionID)
	req.asked = r
	if err := checkText("prompt", r.Prompt, maxPrompt); err != nil {
		return req, r, err
	}
	return req, r, checkImages(r.Prompt)
}

// effective returns r with the session and variant filled in.
func (m *Manager) effective(ctx context.Context, known []Executor, r FollowUpRequest) (_ FollowUpRequest, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		s, err := target(ctx, tx, r.AttemptID, r.SessionID)
		if err != nil {
			return err
		}
		r.AttemptID, r.SessionID = "", s.ID
		here, err := m.runsHere(ctx, tx, s)
		if err != nil {
			return err
		}
		r.Variant, err = variantOf(known, s, r.Variant, here)
		return err
	})
	return r, err
}

func (m *Manager) followUp(ctx context.Context, tx *store.Tx, known []Executor, r FollowUpRequest) (FollowUp, error) {
	s, err := target(ctx, tx, r.AttemptID, r.SessionID)
	if err != nil {
		return FollowUp{}, err
	}
	if err := refuseCheckedOut(ctx, tx, s.AttemptID); err != nil {
		return FollowUp{}, err
	}
	here, err := m.runsHere(ctx, tx, s)
	if err != nil {
		return FollowUp{}, err
	}
	variant, err := variantOf(known, s, r.Variant, here)
	if err != nil {
		return FollowUp{}, err
	}
	last, err := latestProcess(ctx, tx, s.AttemptID)
	if err != nil {
		return FollowUp{}, err
	}
	running := last != nil && !last.State.Ended()
	person := cmp.Or(access.Of(ctx).Name, m.options.Person)
	if r.OfStarter && last != nil {
		person = last.Person
	}
	switch {
	case running && r.Action == Send:
		return FollowUp{}, retryable(AttemptRunning, "queue the message, to run it when the agent has ended, or stop the attempt first",
			"attempt %s is running", s.AttemptID).WithCase(RunningFollowUp, "attempt", s.AttemptID)
	case running && r.Variant == "":
		return queue(ctx, tx, s, r.Prompt, "", person)
	case running:
		return queue(ctx, tx, s, r.Prompt, variant, person)
	}
	a, err := readAttempt(ctx, tx, s.AttemptID)
	if err == nil {
		err = m.requireHostUp(ctx, tx, a)
	}
	if err != nil {
		return FollowUp{}, err
	}
	by, err := m.stamp(s.Executor)
	if err != nil {
		return FollowUp{}, err
	}
	if last != nil && last.origin != "" && (r.OfStarter || last.host != m.host) {
		if by, err = m.stampOfStarter(ctx, tx, last, by); err != nil {
			return FollowUp{}, err
		}
	}
	p, err := resume(ctx, tx, s, r.Prompt, variant, person, by)
	if err != nil {
		return FollowUp{}, err
	}
	status := "started"
	if r.Action == Queue {
		status = "queued"
	}
	return FollowUp{SessionID: s.ID, Action: r.Action, Status: status, ProcessID: p.ID}, nil
}

// stampOfStarter returns the stamp of an attempt's last process, which is for its starter's
// runner. If that runner has exited and this manager has the same origin, it returns own,
// for which this manager starts a runner.
func (m *Manager) stampOfStarter(ctx context.Context, tx *store.Tx, last *process, own stamp) (stamp, error) {
	if last.host != m.host || last.origin != own.origin { // a machine has its own environment, and its own key for digests
		return last.stamp, nil
	}
	alive, err := m.livingRunners(ctx, tx)
	if err != nil || alive[last.runnerID()] {
		return last.stamp, err
	}
	return own, nil
}

// runsHere reports whether the session's agent runs on this host.
func (m *Manager) runsHere(ctx context.Context, tx *store.Tx, s Session) (bool, error) {
	a, err := readAttempt(ctx, tx, s.AttemptID)
	return a.host == m.host || a.host == "", err
}

// variantOf returns the variant to continue a session with. It returns a fault if the
// executor is not configured, or cannot be started here although it runs here.
func variantOf(known []Executor, s Session, variant string, here bool) (string, error) {
	for _, e := range known {
		switch {
		case e.ID != s.Executor:
		case e.Missing != "" && here:
			return "", refuse(ExecutorMissing, "start a new attempt with an executor that is available", "executor %s cannot be started: %s", e.ID, e.Missing).WithCase(SessionExecutorNotHere)
		case variant == "":
			return s.Variant, nil
		default:
			return e.choose(variant)
		}
	}
	return "", refuse(ExecutorMissing, "start a new attempt with another executor", "executor %s is no longer configured", s.Executor).WithCase(SessionExecutorGone)
}

// queue stores a message that runs after the current process.
func queue(ctx context.Context, tx *store.Tx, s Session, prompt, variant, person string) (FollowUp, error) {
	q := QueuedMessage{SessionID: s.ID, Message: prompt, Variant: variant, Person: person, At: tx.Now}
	_, err := tx.Exec(ctx, `INSERT INTO queued (session_id, attempt_id, message, variant, person, queued_at, discarded) VALUES (?, ?, ?, ?, ?, ?, '')
		ON CONFLICT (session_id) DO UPDATE SET message = excluded.message, variant = excluded.variant, person = excluded.person, queued_at = excluded.queued_at, discarded = ''`,
		q.SessionID, s.AttemptID, q.Message, q.Variant, q.Person, millis(q.At))
	if err == nil {
		err = noteMessage(ctx, tx, MessageQueued, s)
	}
	if err != nil {
		return FollowUp{}, fmt.Errorf("queue message: %w", err)
	}
	return FollowUp{SessionID: s.ID, Action: Queue, Status: "queued", Queued: &q}, nil
}

func noteMessage(ctx context.Context, tx *store.Tx, kind EventType, s Session) error {
	c, err := readContext(ctx, tx, s.AttemptID)
	if err == nil {
		_, err = note(tx, Event{Type: kind, ProjectID: c.Project.ID, TaskID: c.Task.ID, AttemptID: s.AttemptID, SessionID: s.ID})
	}
	return err
}

// resume stores a process that continues a session. If the worktree was removed
// and must be created again, the setup script runs first.
func resume(ctx context.Context, tx *store.Tx, s Session, prompt, variant, person string, by stamp) (*process, error) {
	c, err := readCheckout(ctx, tx, s.AttemptID)
	if err != nil {
		return nil, err
	}
	t, err := readTask(ctx, tx, c.TaskID)
	if err != nil {
		return nil, err
	}
	p := process{Process: Process{ID: newID(), AttemptID: s.AttemptID, SessionID: s.ID, Reason: Agent, Executor: s.Executor, Variant: variant, Prompt: prompt, Person: person,
		State: Queued, Created: tx.Now, Updated: tx.Now}, taskID: t.ID, host: c.host, stamp: by}
	if c.removed != 0 && c.hasSetup() {
		p.Reason = Setup
	}
	if err := insertProcess(ctx, tx, &p, t.ProjectID); err != nil {
		return nil, err
	}
	if err := tx.Audit(store.Record{Action: "attempt.continued", Object: s.AttemptID, Detail: s.Executor}); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, "UPDATE sessions SET variant = ?, updated_at = ? WHERE id = ?", variant, millis(tx.Now), s.ID); err != nil {
		return nil, fmt.Errorf("write session: %w", err)
	}
	if _, err := tx.Exec(ctx, "UPDATE attempts SET updated_at = ? WHERE id = ?", millis(tx.Now), s.AttemptID); err != nil {
		return nil, fmt.Errorf("write attempt: %w", err)
	}
	return &p, moveTask(ctx, tx, t, InProgress, Statuses...)
}

func (c checkout) hasSetup() bool {
	for _, r := range c.repos {
		if r.Setup != "" {
			return true
		}
	}
	return false
}

func (c checkout) hasCleanup() bool {
	for _, r := range c.repos {
		if r.Cleanup != "" {
			return true
		}
	}
	return false
}

// cancelQueued removes the queued message, if there is one.
func (m *Manager) cancelQueued(ctx context.Context, r FollowUpRequest) (FollowUp, error) {
	done := FollowUp{Action: Cancel, Status: "empty"}
	err := m.db.Update(ctx, func(tx *store.Tx) error {
		s, err := target(ctx, tx, r.AttemptID, r.SessionID)
		if err != nil {
			return err
		}
		done.SessionID = s.ID
		q, err := queuedMessage(ctx, tx, s.ID)
		if err != nil || q == nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM queued WHERE session_id = ?", s.ID); err != nil {
			return fmt.Errorf("cancel the queued message: %w", err)
		}
		return noteMessage(ctx, tx, MessageDropped, s)
	})
	if err != nil {
		return FollowUp{}, err
	}
	return done, nil
}
