package tasks

import (
	"context"
	"fmt"
	"slices"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Applied is the result of [Manager.Apply].
type Applied struct {
	AttemptID, Branch string
	// Dirs lists the checkouts that received the changes.
	Dirs []string
	// Secrets lists the findings in the changes that look like secrets and were
	// allowed.
	Secrets []string
}

// Apply copies the work of an attempt into the user's checkouts as uncommitted
// changes. Faults: those of [Manager.Land], not_checked_out.
func (m *Manager) Apply(ctx context.Context, attemptID string, dryRun bool, secrets Allowance) (done Applied, err error) {
	err = m.withEndedAttempt(ctx, attemptID, savingOf(dryRun), secrets.All, func(c checkout) error {
		if err := c.requireWhole(); err != nil {
			return err
		}
		done = Applied{AttemptID: c.ID, Branch: c.attempt.Branch}
		steps, err := c.tree.Applying(ctx)
		if err != nil {
			return err
		}
		for _, s := range steps {
			done.Dirs = append(done.Dirs, s.Dir)
		}
		if done.Secrets, err = m.checkSecrets(ctx, c, steps, secrets); err != nil || dryRun {
			return err
		}
		if err := worktree.Apply(ctx, steps); err != nil {
			return err
		}
		return m.db.Audit(ctx, store.Record{Action: "attempt.applied", Object: c.ID, Detail: m.onHere()})
	})
	return done, err
}

// Discarded is the result of [Manager.Discard].
type Discarded struct {
	AttemptID, Branch string
	// Kept lists the refs that still reach the attempt's commits. Each ref
	// follows the path of its repository. In a dry run, the last part of a ref
	// is * if the commit does not exist yet.
	Kept []string
}

// Discard deletes an attempt with its folder, logs and branch. It first commits
// uncommitted work, and keeps the commits under refs/deskhand/kept. The task
// goes back to todo if it has no other attempt. Faults: attempt_running,
// work_unsaved, branch_in_use.
func (m *Manager) Discard(ctx context.Context, attemptID string, dryRun bool) (done Discarded, err error) {
	c, err := m.checkoutOf(ctx, attemptID)
	if err != nil {
		return done, err
	}
	done = Discarded{AttemptID: c.ID, Branch: c.attempt.Branch}
	if err := m.requireEnded(ctx, c); err != nil {
		return done, err
	}
	if err := m.db.View(ctx, func(tx *store.Tx) error { return refuseCheckedOut(ctx, tx, c.ID) }); err != nil {
		return done, err
	}
	if err := c.tree.Unused(ctx); err != nil { // git does not delete such a branch
		return done, err
	}
	if !dryRun {
		m.stopDev(ctx, c.ID)
	}
	loose, aside, err := m.saveAttempt(ctx, c, dryRun)
	if done.Kept = unique(loose, aside); err != nil || dryRun {
		return done, err
	}
	err = m.db.Update(ctx, func(tx *store.Tx) error {
		a, err := readAttempt(ctx, tx, c.ID)
		if err != nil {
			return err
		}
		p, err := latestProcess(ctx, tx, c.ID)
		if err != nil {
			return err
		}
		if p != nil && !p.State.Ended() {
			return runningFault(c.ID)
		}
		t, err := readTask(ctx, tx, a.TaskID)
		if err != nil {
			return err
		}
		if err := m.deleteAttempt(ctx, tx, a); err != nil {
			return err
		}
		left, err := attemptsOf(ctx, tx, t.ID)
		if err == nil && len(left) == 0 {
			err = moveTask(ctx, tx, t, Todo, InReview, InProgress)
		}
		if err != nil {
			return err
		}
		if _, err = note(tx, Event{Type: TaskUpdated, ProjectID: t.ProjectID, TaskID: t.ID}); err != nil {
			return err
		}
		return tx.Audit(store.Record{Action: "attempt.discarded", Object: c.ID})
	})
	if err != nil {
		return done, err
	}
	left, err := m.leftovers(ctx)
	if l, ok := left[c.ID]; ok && err == nil {
		err = m.tryClear(ctx, c.ID, l)
	}
	if err != nil {
		return done, err
	}
	aside, err = c.tree.SetBranchAside(ctx)
	done.Kept = unique(loose, aside)
	return done, err
}

// unique returns sorted refs without duplicates.
func unique(refs ...[]string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(refs...))))
}

// requireEnded returns a fault if a process of the attempt is queued or
// running.
func (m *Manager) requireEnded(ctx context.Context, c checkout) error {
	p, err := m.newestProcess(ctx, c.ID)
	if err == nil && p != nil && !p.State.Ended() {
		return runningFault(c.ID)
	}
	return err
}

func runningFault(id string) *fault.Fault {
	return retryable(AttemptRunning, "stop it first, or wait until it ends", "attempt %s is running", id).WithCase("", "attempt", id)
}

// Pick lands one attempt of a task and discards the others. If any of them is
// running, it changes nothing.
func (m *Manager) Pick(ctx context.Context, q LandRequest) (done Landed, gone []Discarded, err error) {
	c, err := m.reachable(ctx, q.AttemptID)
	if err != nil {
		return done, nil, err
	}
	attempts, err := m.Attempts(ctx, c.TaskID)
	if err != nil {
		return done, nil, err
	}
	for _, a := range attempts {
		if a.ID == c.ID {
			continue
		}
		d, err := m.Discard(ctx, a.ID, true)
		if err != nil {
			return done, nil, fmt.Errorf("discard attempt %s: %w", brief(a.ID), err)
		}
		gone = append(gone, d)
	}
	if done, err = m.Land(ctx, q); err != nil || q.DryRun {
		return done, gone, err
	}
	for i, d := range gone {
		if gone[i], err = m.Discard(ctx, d.AttemptID, false); err != nil {
			return done, gone[:i], fmt.Errorf("landed, but could not discard attempt %s: %w", brief(d.AttemptID), err)
		}
	}
	return done, gone, nil
}
