package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Allowance says which secrets may get onto a user's branch. The zero value
// allows none.
type Allowance struct {
	// All allows every secret, also in uncommitted work.
	All bool
	// Named lists findings that a person has seen and allowed, as in the detail
	// "found" of the fault land_held.
	Named []string
}

// covers reports whether all findings are allowed.
func (a Allowance) covers(found []string) bool {
	return a.All || !slices.ContainsFunc(found, func(what string) bool { return !slices.Contains(a.Named, what) })
}

// LandRequest says how to land the work of an attempt.
type LandRequest struct {
	AttemptID string
	How       worktree.How
	Into      string // another branch than the attempt's target; empty: that
	Message   string // of a merge or a squash; empty: the task's title and what the agent said
	// KeepBranch keeps the attempt's branch when its folder is removed.
	KeepBranch bool
	// NoHooks leaves the person's hooks out.
	NoHooks bool
	// Secrets says which secrets may land.
	Secrets Allowance
	// DryRun computes the result and changes nothing. With Save it commits what the
	// attempt has not committed, so that Plan holds.
	DryRun, Save bool
	// Plan is that of an earlier dry run, from which the landing must not differ.
	// Empty: whatever there is now.
	Plan string
}

// Landed is the result of a landing or an update.
type Landed struct {
	Landing
	Branch string // the attempt's
	// Distances compares the attempt's branch with the target, as they were
	// before.
	Distances []worktree.Distance
	// Message is the message of the new commit. Empty: none was made.
	Message string
	// Secrets lists allowed findings in what lands: file, line and kind, for
	// example "shop/a.go:3 has what looks like a token of GitHub".
	Secrets []string
	// Plan tells this landing from one of other commits.
	Plan string
}

// Land moves the target to the work of an attempt, in all its repositories or
// in none. Uncommitted work is committed first, and the task is done
// afterwards. Faults: attempt_running, work_unsaved, conflicts,
// nothing_to_land, not_fast_forward, no_identity, hooks_changed, hook_failed,
// target_dirty, target_moved, untracked_in_the_way, land_held, plan_changed, and those of [Manager.Collect].
func (m *Manager) Land(ctx context.Context, q LandRequest) (done Landed, err error) {
	err = m.withEndedAttempt(ctx, q.AttemptID, q.DryRun && !q.Save, q.Secrets.All, func(c checkout) error {
		author, err := m.author(ctx, c, q)
		if err != nil {
			return err
		}
		hooks, err := m.hooks(ctx, c, q, &author)
		if err != nil {
			return err
		}
		planned, err := c.tree.Land(ctx, q.How, q.Into, author)
		done = Landed{Branch: c.attempt.Branch, Distances: planned.Distances}
		if err != nil {
			return err
		}
		if q.How == worktree.Merge || q.How == worktree.Squash {
			done.Message = author.Message
		}
		done.Landing = Landing{ID: newID(), AttemptID: c.ID, State: LandingBegun, kind: landing, host: m.host, landingData: landingData{
			How: q.How, Target: planned.Distances[0].Target, Moves: planned.Moves, KeepBranch: q.KeepBranch,
			Heads: map[string]string{}, Bases: map[string]string{}}}
		for _, d := range planned.Distances {
			done.Heads[d.Name], done.Bases[d.Name] = d.Head, d.Base
		}
		if done.Plan = planOf(done); q.Plan != "" && q.Plan != done.Plan {
			return planChanged()
		}
		if done.Secrets, err = m.checkSecrets(ctx, c, planned.Moves, q.Secrets); err != nil || q.DryRun {
			return err
		}
		if err := c.tree.KeepLanded(ctx, done.Heads); err != nil {
			return err
		}
		if err := m.trusted(ctx, c, planned.Moves, hooks); err != nil {
			return err
		}
		if err := m.move(ctx, &done.Landing, hooks); err != nil {
			return withAttempt(err, c.ID)
		}
		m.tellHooks(ctx, done.Landing, hooks)
		if q.KeepBranch || c.attempt.removed == 0 {
			return nil
		}
		c.tree.Repos = slices.Clone(c.tree.Repos) // there is no folder that gc would take away with the branch
		for i, r := range c.tree.Repos {
			c.tree.Repos[i].Landed = done.Heads[r.Name]
		}
		c.tree.DropLanded(ctx)
		return nil
	})
	return done, err
}

// UpdateRequest says how a target is to be brought into the branch of an attempt.
type UpdateRequest struct {
	AttemptID string
	How       worktree.How // Merge or Rebase
	// DryRun, Save and Plan are those of [LandRequest].
	DryRun, Save bool
	Plan         string
}

// Update brings the target into the branch of an attempt. Faults: those of
// [Manager.Land]; nothing_to_update where the branch has all of it.
func (m *Manager) Update(ctx context.Context, q UpdateRequest) (done Landed, err error) {
	how := q.How
	err = m.withEndedAttempt(ctx, q.AttemptID, q.DryRun && !q.Save, false, func(c checkout) error {
		author, err := m.author(ctx, c, LandRequest{Message: "Merge " + c.tree.Repos[0].Target + " into " + c.attempt.Branch, DryRun: q.DryRun})
		if err != nil {
			return err
		}
		planned, err := c.tree.Update(ctx, how, author)
		done = Landed{Branch: c.attempt.Branch, Distances: planned.Distances}
		if err != nil {
			return err
		}
		done.Landing = Landing{ID: newID(), AttemptID: c.ID, State: LandingBegun, kind: updating, host: m.host, landingData: landingData{
			How: how, Target: planned.Distances[0].Target, Moves: planned.Moves, Bases: map[string]string{}}}
		for _, d := range planned.Distances {
			done.Bases[d.Name] = d.Tip
		}
		if done.Plan = planOf(done); q.Plan != "" && q.Plan != done.Plan {
			return planChanged()
		}
		if q.DryRun {
			return nil
		}
		return m.move(ctx, &done.Landing, nil)
	})
	return done, err
}

// Undo reverts the newest landing of an attempt, if nothing was committed on
// top of it. Faults: nothing_to_undo, target_moved, target_dirty.
func (m *Manager) Undo(ctx context.Context, attemptID string, dryRun bool) (done Landed, err error) {
	err = m.withEndedAttempt(ctx, attemptID, true, false, func(c checkout) error {
		if c.landed == nil {
			return refuse(NothingToUndo, "see how it stands", "attempt %s was not landed", c.ID).WithCase("", "attempt", c.ID)
		}
		done = Landed{Landing: *c.landed, Branch: c.attempt.Branch}
		back := reversed(c.landed.Moves)
		if err := worktree.Ready(ctx, back); err != nil || dryRun {
			return err
		}
		return m.back(ctx, &done.Landing)
	})
	return done, err
}

// checkSecrets refuses moves that bring what looks like a secret onto a person's
// branch or into their checkout, with the fault land_held; if it is allowed, or
// was when it was committed, it says what that is.
func (m *Manager) checkSecrets(ctx context.Context, c checkout, moves []worktree.Move, allowed Allowance) ([]string, error) {
	p, err := m.newestProcess(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	if err := m.loadAllowed(ctx, &c); err != nil {
		return nil, err
	}
	found, before, err := c.tree.Brought(ctx, moves, m.secretFinder(c, p))
	if err != nil || allowed.covers(found) {
		return append(found, before...), err
	}
	return nil, refuse(LandHeld, "remove it from the commits, or allow it", "%s", strings.Join(found, "; ")).With("found", found).WithCase("", "attempt", c.ID)
}

// reversed returns the moves that undo moves.
func reversed(moves []worktree.Move) (back []worktree.Move) {
	for _, m := range moves {
		back = append(back, m.Back())
	}
	return back
}

// withEndedAttempt calls do for an attempt without running processes, while no
// other process makes or removes its folder. Unless dryRun is set, work that is
// not on the branch is collected first; secrets allows committing what looks
// like one.
func (m *Manager) withEndedAttempt(ctx context.Context, attemptID string, dryRun, secrets bool, do func(checkout) error) error {
	if err := m.finishLandings(ctx); err != nil {
		return err
	}
	c, err := m.checkoutOf(ctx, attemptID)
	if err != nil {
		return err
	}
	if err := m.db.View(ctx, func(tx *store.Tx) error { return refuseCheckedOut(ctx, tx, c.ID) }); err != nil {
		return err
	}
	if c.tree.Present(ctx) && !dryRun {
		if _, err := m.Collect(ctx, c.ID, secrets); err != nil {
			return err
		}
	}
	unlock, err := m.lockTree(ctx, c.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if err := m.requireEnded(ctx, c); err != nil {
		return err
	}
	if c, err = m.checkoutOf(ctx, c.ID); err != nil { // it may have been landed meanwhile
		return err
	}
	return do(c)
}

// author is what the commits of a landing say.
func (m *Manager) author(ctx context.Context, c checkout, q LandRequest) (a worktree.Author, err error) {
	if q.How != worktree.FastForward {
		if _, err := c.tree.Identity(ctx); err != nil {
			return a, err
		}
	}
	if !q.DryRun { // which nobody is asked for a passphrase for
		if a.Sign, err = c.tree.Signs(ctx); err != nil {
			return a, err
		}
	}
	if a.Message = strings.TrimSpace(q.Message); a.Message != "" {
		return a, checkText("message", a.Message, maxPrompt)
	}
	t, summary, agent, err := m.spoken(ctx, c)
	if err != nil {
		return a, err
	}
	p, err := m.project(ctx, t.ProjectID)
	a.Message = CommitMessage{Title: t.Title, Summary: summary, Agent: agent, Branch: c.attempt.Branch, AttemptID: c.ID, Template: p.CommitTemplate}.String()
	return a, err
}

// spoken is the task of an attempt, what its agent said at the end, and who that
// is.
func (m *Manager) spoken(ctx context.Context, c checkout) (t Task, summary, agent string, err error) {
	if t, err = m.Task(ctx, c.TaskID); err != nil {
		return t, "", "", err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		s, err := latestSession(ctx, tx, c.ID)
		if err != nil || s.ID == "" {
			return err
		}
		agent = s.Executor
		found, err := all(ctx, tx, scanText, "SELECT summary FROM turns WHERE session_id = ? AND summary <> '' ORDER BY entry_index DESC LIMIT 1", s.ID)
		if len(found) > 0 {
			summary = found[0]
		}
		return err
	})
	return t, summary, agent, err
}

func scanText(row scanner) (s string, err error) {
	err = row.Scan(&s)
	return s, err
}

// move makes the moves of a landing, with a row that tells what to finish if
// this process dies.
func (m *Manager) move(ctx context.Context, l *Landing, hooks map[string]worktree.Hooks) error {
	if err := m.db.Update(ctx, func(tx *store.Tx) error {
		l.Created = tx.Now
		return insertLanding(ctx, tx, *l)
	}); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // half of it helps nobody
	if err := worktree.DoWith(ctx, l.Moves, "deskhand: "+l.kind+" "+l.AttemptID, l.How, hooks); err != nil {
		return errors.Join(err, m.conclude(ctx, l, LandingVoid))
	}
	return m.conclude(ctx, l, LandingDone)
}

// back takes a landing back.
func (m *Manager) back(ctx context.Context, l *Landing) error {
	ctx = context.WithoutCancel(ctx)
	if err := m.db.Update(ctx, func(tx *store.Tx) error { return setLanding(ctx, tx, l.ID, LandingUndoing) }); err != nil {
		return err
	}
	if err := worktree.Do(ctx, reversed(l.Moves), "deskhand: undo "+l.AttemptID); err != nil {
		return errors.Join(err, m.conclude(ctx, l, LandingDone))
	}
	return m.conclude(ctx, l, LandingUndone)
}

// conclude writes what became of a landing, and what that means for its attempt
// and its task.
func (m *Manager) conclude(ctx context.Context, l *Landing, s LandingState) error {
	l.State = s
	return m.db.Update(ctx, func(tx *store.Tx) error {
		if err := setLanding(ctx, tx, l.ID, s); err != nil || s == LandingVoid {
			return err
		}
		a, err := readAttempt(ctx, tx, l.AttemptID)
		if f := fault.Of(err); f != nil {
			return nil // deleted meanwhile
		}
		if err != nil {
			return err
		}
		if l.kind == updating {
			return rebase(ctx, tx, a, l.Bases)
		}
		t, err := readTask(ctx, tx, a.TaskID)
		if err != nil {
			return err
		}
		switch s {
		case LandingDone:
			if err := writeWork(ctx, tx, a.ID, &Work{State: LandedWork}); err != nil {
				return err
			}
			return moveTask(ctx, tx, t, Done, InReview, InProgress, Todo)
		case LandingUndone:
			if err := writeWork(ctx, tx, a.ID, &Work{State: OnBranch}); err != nil {
				return err
			}
			return moveTask(ctx, tx, t, InReview, Done)
		}
		return nil
	})
}

// rebase notes where the work of an attempt begins now.
func rebase(ctx context.Context, tx *store.Tx, a attempt, bases map[string]string) error {
	for i, r := range a.Repos {
		if base, ok := bases[r.Name]; ok {
			a.Repos[i].Base = base
		}
	}
	repos, err := json.Marshal(a.Repos)
	if err == nil {
		_, err = tx.Exec(ctx, "UPDATE attempts SET repos = ?, updated_at = ? WHERE id = ?", string(repos), millis(tx.Now), a.ID)
	}
	if err != nil {
		return fmt.Errorf("write attempt: %w", err)
	}
	return nil
}

// landingPatience is how long a sweep waits for whoever is at an attempt's folder.
const landingPatience = 200 * time.Millisecond

// finishLandings completes what processes of this machine that died have begun.
func (m *Manager) finishLandings(ctx context.Context) error {
	var begun []Landing
	err := m.db.View(ctx, func(tx *store.Tx) (err error) {
		begun, err = all(ctx, tx, scanLanding, "SELECT "+landingColumns+" FROM landings WHERE state IN ('begun', 'undoing') AND kind <> 'visit' AND host = ? ORDER BY created_at LIMIT 100", m.host)
		return err
	})
	if err != nil {
		return fmt.Errorf("read landings: %w", err)
	}
	var problems []error
	for _, l := range begun {
		problems = append(problems, m.finishLanding(ctx, l))
	}
	return errors.Join(problems...)
}

func (m *Manager) finishLanding(ctx context.Context, l Landing) error {
	patient, cancel := context.WithTimeout(ctx, landingPatience)
	defer cancel()
	unlock, err := m.lockTree(patient, l.AttemptID)
	if err != nil && patient.Err() != nil && ctx.Err() == nil {
		return nil // it is being done
	}
	if err != nil {
		return err
	}
	defer unlock()
	var now []Landing
	err = m.db.View(ctx, func(tx *store.Tx) (err error) {
		now, err = all(ctx, tx, scanLanding, "SELECT "+landingColumns+" FROM landings WHERE id = ? AND state = ?", l.ID, l.State)
		return err
	})
	if err != nil || len(now) == 0 {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	moves, made, not := l.Moves, LandingDone, LandingVoid
	if l.State == LandingUndoing {
		moves, made, not = reversed(l.Moves), LandingUndone, LandingDone
	}
	done, err := worktree.Finish(ctx, moves, "deskhand: finish "+l.kind+" "+l.AttemptID)
	if err != nil {
		return err
	}
	if done {
		return m.conclude(ctx, &l, made)
	}
	return m.conclude(ctx, &l, not)
}

// distances says how an attempt's branch stands to its target, in the order of its
// repositories; nil where that cannot be told, as when the branch is gone.
func (m *Manager) distances(ctx context.Context, attemptID string) []worktree.Distance {
	c, err := m.checkoutOf(ctx, attemptID)
	if err != nil {
		return nil
	}
	all, err := c.tree.Distances(ctx, "")
	if err != nil {
		return nil
	}
	return all
}
