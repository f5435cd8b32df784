package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// visiting is the kind of landing that checks out a branch in the user's
// checkout.
const visiting = "visit"

// Visited is the result of [Manager.CheckOut] or [Manager.Release].
type Visited struct {
	AttemptID, Branch string
	Visits            []worktree.Visit
}

// CheckOut checks out the attempt's branch in the user's checkouts. The agent cannot
// continue until [Manager.Release]. Faults: attempt_running, branch_checked_out, and
// those of [worktree.Tree.Visits].
func (m *Manager) CheckOut(ctx context.Context, attemptID string, dryRun bool) (done Visited, err error) {
	err = m.withEndedAttempt(ctx, attemptID, savingOf(dryRun), false, func(c checkout) error {
		if err := c.requireHere(); err != nil {
			return err
		}
		done = Visited{AttemptID: c.ID, Branch: c.attempt.Branch}
		if done.Visits, err = c.tree.Visits(ctx); err != nil || dryRun {
			return err
		}
		id := newID()
		data, err := json.Marshal(done.Visits)
		if err != nil {
			return err
		}
		err = m.db.Update(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO landings ("+landingColumns+", updated_at) VALUES ("+marks(8)+")",
				id, c.ID, visiting, m.host, LandingDone, string(data), millis(tx.Now), millis(tx.Now))
			return err
		})
		if err != nil {
			return err
		}
		ctx := context.WithoutCancel(ctx)
		if err := c.tree.CheckOut(ctx, done.Visits); err != nil {
			return errors.Join(err, m.db.Update(ctx, func(tx *store.Tx) error { return setLanding(ctx, tx, id, LandingVoid) }))
		}
		return nil
	})
	return done, err
}

// Release gives the branch back to the attempt. Faults: not_checked_out,
// target_dirty.
func (m *Manager) Release(ctx context.Context, attemptID string, dryRun bool) (done Visited, err error) {
	c, err := m.checkoutOf(ctx, attemptID)
	if err != nil {
		return done, err
	}
	unlock, err := m.lockTree(ctx, c.ID)
	if err != nil {
		return done, err
	}
	defer unlock()
	done = Visited{AttemptID: c.ID, Branch: c.attempt.Branch}
	var id string
	err = m.db.View(ctx, func(tx *store.Tx) (err error) {
		id, done.Visits, err = openVisit(ctx, tx, c.ID)
		return err
	})
	if err != nil {
		return done, err
	}
	if id == "" {
		return done, refuse(worktree.NotCheckedOut, "check it out there first", "branch %s is not checked out in your checkout", c.attempt.Branch).WithCase(NotVisited, "attempt", c.ID)
	}
	if dryRun {
		_, err := c.tree.Returning(ctx, done.Visits)
		return done, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := c.tree.CheckIn(ctx, done.Visits); err != nil {
		return done, err
	}
	m.shareNow(ctx, c.ID) // the person may have committed
	return done, m.db.Update(ctx, func(tx *store.Tx) error { return setLanding(ctx, tx, id, LandingUndone) })
}

// openVisit returns the user's current checkout of an attempt's branch. id is
// empty if the user has not checked it out.
func openVisit(ctx context.Context, tx *store.Tx, attemptID string) (id string, visits []worktree.Visit, err error) {
	type row struct{ id, data string }
	found, err := all(ctx, tx, func(s scanner) (r row, err error) {
		err = s.Scan(&r.id, &r.data)
		return r, err
	}, "SELECT id, data FROM landings WHERE attempt_id = ? AND kind = ? AND state = ? ORDER BY created_at DESC LIMIT 1", attemptID, visiting, LandingDone)
	if err != nil {
		return "", nil, fmt.Errorf("read the branch's checkouts: %w", err)
	}
	if len(found) == 0 {
		return "", nil, nil
	}
	return found[0].id, visits, json.Unmarshal([]byte(found[0].data), &visits)
}

// refuseCheckedOut returns a fault if the user has checked out the attempt's
// branch.
func refuseCheckedOut(ctx context.Context, tx *store.Tx, attemptID string) error {
	id, visits, err := openVisit(ctx, tx, attemptID)
	if err != nil || id == "" {
		return err
	}
	return checkedOutFault(attemptID, visits)
}

func checkedOutFault(attemptID string, visits []worktree.Visit) *fault.Fault {
	where := ""
	if len(visits) > 0 {
		where = visits[0].Path
	}
	return refuse(BranchVisited, "give the branch back to the attempt first", "the branch of attempt %s is checked out in %s", attemptID, where).WithCase("", "attempt", attemptID)
}
