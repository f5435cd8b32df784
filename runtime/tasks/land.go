package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Allowance specifies which secrets may land on a user's branch. The zero value allows
// none.
type Allowance struct {
	// All allows every secret, including those in uncommitted work.
	All bool
	// Named lists findings that a person has seen and allowed, in the form of
	// the detail "found" in the fault land_held.
	Named []string
}

// covers reports whether all findings are allowed.
func (a Allowance) covers(found []string) bool {
	return a.All || !slices.ContainsFunc(found, func(what string) bool { return !slices.Contains(a.Named, what) })
}

// LandRequest specifies how to land an attempt's work.
type LandRequest struct {
	AttemptID string
	How       worktree.How
	Into      string // branch to land on; if empty, the attempt's target
	Message   string // message of a merge or squash; if empty, the task's title and the agent's last message
	// KeepBranch keeps the attempt's branch when its folder is removed.
	KeepBranch bool
	// NoHooks skips the user's hooks.
	NoHooks bool
	// Secrets specifies which secrets may land.
	Secrets Allowance
	// DryRun computes the result without changing anything. It takes
	// uncommitted work into account. If Save is also set, a dry run commits
	// that work, so that Plan stays valid.
	DryRun, Save bool
	// Plan is the plan of an earlier dry run. If it is not empty and the landing
	// differs from it, Land returns plan_changed.
	Plan string
}

// Landed is the result of a landing or an update.
type Landed struct {
	Landing
	Branch string // the attempt's branch
	// Distances compares the attempt's branch with the target, before the landing.
	Distances []worktree.Distance
	// Message is the message of the new commit. It is empty if none was created.
	Message string
	// Secrets lists the allowed findings in the landed changes: file, line and
	// kind, for example "shop/a.go:3 has what looks like a token of GitHub".
	Secrets []string
	// Plan identifies this landing. A landing of other commits has a different
	// plan.
	Plan string
}

// Land moves the target to the attempt's work, in all of the attempt's
// repositories or in none. It first commits uncommitted work. Afterwards, the
// task is done. Faults: attempt_running, work_unsaved, conflicts,
// nothing_to_land, not_fast_forward, no_identity, hooks_changed, hook_failed,
// target_dirty, target_moved, untracked_in_the_way, land_held, plan_changed,
// and those of [Manager.Collect].
func (m *Manager) Land(ctx context.Context, q LandRequest) (done Landed, err error) {
	err = m.withEndedAttempt(ctx, q.AttemptID, savingOf(q.DryRun && !q.Save), q.Secrets.All, func(c checkout) error {
		if err := errors.Join(c.requireWhole(), c.requireBranches()); err != nil {
			return err
		}
		if err := m.refuseLandedElsewhere(ctx, c); err != nil {
			return err
		}
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
		if err := m.trusted(ctx, c, planned.Moves, hooks); err != nil {
			return err
		}
		if done.Secrets, err = m.checkSecrets(ctx, c, planned.Moves, q.Secrets); err != nil || q.DryRun {
			return err
		}
		if err := errors.Join(c.tree.KeepModules(ctx), c.tree.KeepLanded(ctx, done.Heads)); err != nil {
			return err
		}
		if err := m.move(ctx, &done.Landing, hooks); err != nil {
			return withAttempt(err, c.ID)
		}
		m.tellHooks(ctx, done.Landing, hooks)
		if q.KeepBranch || c.attempt.removed == 0 || c.away != nil {
			return nil
		}
		c.tree.Repos = slices.Clone(c.tree.Repos) // gc does not delete the branch if there is no folder
		for i, r := range c.tree.Repos {
			c.tree.Repos[i].Landed = done.Heads[r.Name]
		}
		c.tree.DropLanded(ctx)
		return nil
	})
	return done, err
}

// UpdateRequest specifies how to merge a target into an attempt's branch.
type UpdateRequest struct {
	AttemptID string
	How       worktree.How // Merge or Rebase
	// DryRun, Save and Plan are as in [LandRequest].
	DryRun, Save bool
	Plan         string
}

// Update merges the target into the attempt's branch, or rebases the branch on it.
// Faults: those of [Manager.Land]; nothing_to_update if the branch already contains the
// target.
func (m *Manager) Update(ctx context.Context, q UpdateRequest) (done Landed, err error) {
	how := q.How
	err = m.withEndedAttempt(ctx, q.AttemptID, savingOf(q.DryRun && !q.Save), false, func(c checkout) error {
		if err := c.requireHere(); err != nil {
			return err
		}
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
		if err := m.move(ctx, &done.Landing, nil); err != nil {
			return err
		}
		m.shareNow(ctx, c.ID)
		return nil
	})
	return done, err
}

// Undo reverts an attempt's newest landing if nothing was committed on top of it.
// If the attempt's branch was deleted after the landing, Undo restores it.
// Faults: nothing_to_undo, target_moved, target_dirty.
func (m *Manager) Undo(ctx context.Context, attemptID string, dryRun bool) (done Landed, err error) {
	err = m.withEndedAttempt(ctx, attemptID, leaveWork, false, func(c checkout) error {
		if c.landed == nil {
			return refuse(NothingToUndo, "check its status", "attempt %s was not landed", c.ID).WithCase("", "attempt", c.ID)
		}
		if c.landed.host != m.host && hostIDs.MatchString(c.landed.host) {
			return m.landedElsewhere(ctx, c)
		}
		done = Landed{Landing: *c.landed, Branch: c.attempt.Branch}
		if done.Moves, err = worktree.Placed(ctx, done.Moves); err != nil { // the person may have switched branches since
			return err
		}
		back := reversed(done.Moves)
		if err := worktree.Movable(ctx, back); err != nil {
			if f := fault.Of(err); f != nil && f.Code == worktree.TargetMoved {
				err = fault.New(f.Code, f.Message+", where the landing left it", "revert the commits of the landing there instead, with git revert")
			}
			return err
		}
		if dryRun {
			return nil
		}
		if err := c.tree.RestoreLanded(ctx); err != nil {
			return err
		}
		return m.back(ctx, &done.Landing)
	})
	return done, err
}

// checkSecrets returns land_held if moves would bring something that looks like
// a secret to a person's branch or checkout. If the findings are allowed, or
// were allowed when they were committed, it returns them.
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

// reversed returns the moves that undo the given moves.
func reversed(moves []worktree.Move) (back []worktree.Move) {
	for _, m := range moves {
		back = append(back, m.Back())
	}
	return back
}

// saving is what becomes of work that is not on an attempt's branch.
type saving int

const (
	leaveWork   saving = iota
	foreseeWork        // plan as if it were committed
	commitWork
)

// savingOf returns how a run, or a dry run, treats such work.
func savingOf(dryRun bool) saving {
	if dryRun {
		return foreseeWork
	}
	return commitWork
}

// withEndedAttempt calls do for an attempt without running processes, while no
// other process creates or removes its folder. If secrets is true, it also saves
// work that looks like a secret.
func (m *Manager) withEndedAttempt(ctx context.Context, attemptID string, save saving, secrets bool, do func(checkout) error) error {
	broken, err := m.finishLandings(ctx)
	if err != nil {
		return err
	}
	c, err := m.reachable(ctx, attemptID)
	if err != nil {
		return err
	}
	for _, b := range broken {
		if b.AttemptID == c.ID || b.touches(c.tree.Repos) {
			return b.why
		}
	}
	if err := m.db.View(ctx, func(tx *store.Tx) error { return refuseCheckedOut(ctx, tx, c.ID) }); err != nil {
		return err
	}
	if save == commitWork && c.tree.Present(ctx) {
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
	if save == commitWork {
		m.stopDev(ctx, c.ID) // it runs the agent's code
		if err := m.ensureHostName(ctx); err != nil {
			m.options.Log.Warn("other machines cannot name this one", "error", err)
		}
	}
	if c, err = m.reachable(ctx, c.ID); err != nil { // the attempt may have landed in the meantime
		return err
	}
	if save == foreseeWork && c.tree.Present(ctx) {
		checks, err := m.checks(ctx, &c, secrets)
		if err != nil {
			return err
		}
		planned, done, err := c.tree.Foresee(ctx, checks...)
		defer done()
		if err != nil {
			return heldIn(err, c.ID)
		}
		c.tree = planned
	}
	return do(c)
}

// author returns the message for a landing's commits, and how to sign them.
func (m *Manager) author(ctx context.Context, c checkout, q LandRequest) (a worktree.Author, err error) {
	if q.How != worktree.FastForward {
		if err := c.tree.Identity(ctx); err != nil {
			return a, err
		}
	}
	if !q.DryRun { // a dry run must not ask for a passphrase
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

// spoken returns an attempt's task, its agent's last message, and the agent's
// name.
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

// move performs the moves of a landing. It first stores a row. If this process
// dies, another process can finish the landing from that row.
func (m *Manager) move(ctx context.Context, l *Landing, hooks map[string]worktree.Hooks) error {
	if err := m.db.Update(ctx, func(tx *store.Tx) error {
		l.Created = tx.Now
		return insertLanding(ctx, tx, *l)
	}); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // a landing must not stop halfway
	if err := worktree.DoWith(ctx, l.Moves, "deskhand: "+l.kind+" "+l.AttemptID, l.How, hooks); err != nil {
		return errors.Join(err, m.conclude(ctx, l, LandingVoid))
	}
	return m.conclude(ctx, l, LandingDone)
}

// back reverts a landing.
func (m *Manager) back(ctx context.Context, l *Landing) error {
	ctx = context.WithoutCancel(ctx)
	if err := m.db.Update(ctx, func(tx *store.Tx) error {
		data, err := json.Marshal(l.landingData) // with the folders in which the branches are now
		if err == nil {
			_, err = tx.Exec(ctx, "UPDATE landings SET data = ? WHERE id = ?", string(data), l.ID)
		}
		if err != nil {
			return fmt.Errorf("write landing: %w", err)
		}
		return setLanding(ctx, tx, l.ID, LandingUndoing)
	}); err != nil {
		return err
	}
	if err := worktree.Do(ctx, reversed(l.Moves), "deskhand: undo "+l.AttemptID); err != nil {
		return errors.Join(err, m.conclude(ctx, l, LandingDone))
	}
	return m.conclude(ctx, l, LandingUndone)
}

// conclude stores the outcome of a landing, and updates its attempt and task.
func (m *Manager) conclude(ctx context.Context, l *Landing, s LandingState) error {
	l.State = s
	return m.db.Update(ctx, func(tx *store.Tx) error {
		if err := setLanding(ctx, tx, l.ID, s); err != nil || s == LandingVoid {
			return err
		}
		a, err := readAttempt(ctx, tx, l.AttemptID)
		if f := fault.Of(err); f != nil {
			return nil // deleted in the meantime
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
			if err := writeWork(ctx, tx, a.ID, m.landedHere()); err != nil {
				return err
			}
			return errors.Join(tx.Audit(store.Record{Action: "attempt.landed", Object: a.ID, Detail: m.onHere()}), moveTask(ctx, tx, t, Done, InReview, InProgress, Todo))
		case LandingUndone:
			if err := writeWork(ctx, tx, a.ID, &Work{State: OnBranch}); err != nil {
				return err
			}
			return errors.Join(tx.Audit(store.Record{Action: "attempt.undone", Object: a.ID}), moveTask(ctx, tx, t, InReview, Done))
		}
		return nil
	})
}

// rebase stores the commits from which the attempt's work now starts.
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

// landingPatience is how long a sweep waits for another process to unlock an
// attempt's folder.
const landingPatience = 200 * time.Millisecond

// brokenLanding is a landing that cannot be completed until a person has fixed why.
type brokenLanding struct {
	Landing
	why error
}

// touches reports whether the landing moves a branch of one of the repositories. Others
// may land meanwhile.
func (b brokenLanding) touches(repos []worktree.Repo) bool {
	return slices.ContainsFunc(b.Moves, func(m worktree.Move) bool {
		return slices.ContainsFunc(repos, func(r worktree.Repo) bool { return r.Path == m.Path })
	})
}

// sweepLandings is finishLandings for a sweep, which reports every broken landing.
func (m *Manager) sweepLandings(ctx context.Context) error {
	broken, err := m.finishLandings(ctx)
	problems := []error{err}
	for _, b := range broken {
		problems = append(problems, fmt.Errorf("finish the landing of attempt %s: %w", b.AttemptID, b.why))
	}
	return errors.Join(problems...)
}

// finishLandings completes landings that dead processes on this machine have begun. It
// returns those that it cannot complete.
func (m *Manager) finishLandings(ctx context.Context) (broken []brokenLanding, err error) {
	ctx = access.Itself(ctx)
	var begun []Landing
	err = m.db.View(ctx, func(tx *store.Tx) (err error) {
		begun, err = all(ctx, tx, scanLanding, "SELECT "+landingColumns+" FROM landings WHERE state IN ('begun', 'undoing') AND kind <> 'visit' AND host = ? ORDER BY created_at", m.host)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read landings: %w", err)
	}
	for _, l := range begun {
		if err := m.finishLanding(ctx, l); err != nil {
			broken = append(broken, brokenLanding{l, err})
		}
	}
	return broken, ctx.Err()
}

func (m *Manager) finishLanding(ctx context.Context, l Landing) error {
	patient, cancel := context.WithTimeout(ctx, landingPatience)
	defer cancel()
	unlock, err := m.lockTree(patient, l.AttemptID)
	if err != nil && patient.Err() != nil && ctx.Err() == nil {
		return nil // another process is working on it
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

// forecastPatience is how long a status may take to find the conflicts of work
// that is not on the branch.
const forecastPatience = 2 * time.Second

// distances compares an attempt's branch with its target, in the order of its
// repositories. If off is set, the conflicts are those of all work, also of work
// that is not on the branch. It returns nil if they cannot be compared, for
// example because the branch was deleted. Its only error is that a repository is no
// longer at its path.
func (m *Manager) distances(ctx context.Context, attemptID string, off bool) ([]worktree.Distance, error) {
	c, err := m.reachQuickly(ctx, attemptID)
	if err != nil {
		return nil, nil
	}
	all, err := c.tree.Distances(ctx, "")
	if f := fault.Of(err); f != nil && f.Case == worktree.RepoMoved {
		return nil, f
	}
	if err != nil {
		return nil, nil
	}
	if !off || !c.tree.Present(ctx) {
		return all, nil
	}
	ctx, cancel := context.WithTimeout(ctx, forecastPatience)
	defer cancel()
	planned, done, err := c.tree.Foresee(ctx)
	defer done()
	if err != nil {
		return all, nil
	}
	if would, err := planned.Distances(ctx, ""); err == nil {
		for i := range all {
			all[i].Conflicts = would[i].Conflicts
		}
	}
	return all, nil
}
