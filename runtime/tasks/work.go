package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Work describes where an attempt's work is.
type Work struct {
	// State is OnBranch, OffBranch or LandedWork. It is empty while a process
	// is running, if no process has ended, or if the folder was removed.
	State string `json:"state"`
	// Notes lists the reasons why the work is OffBranch, and anything else that
	// a person should know about the work.
	Notes []string `json:"notes,omitempty"`
	// Totals are those of all changes when they were last counted, or nil.
	Totals *Totals `json:"totals,omitempty"`
}

// Totals counts an attempt's changed files and lines.
type Totals struct {
	Files   int `json:"files"`
	Added   int `json:"added"`
	Deleted int `json:"deleted"`
}

// totalsOf counts what has changed in a folder whose work is w, at the end of a run. It
// returns nil if git cannot tell.
func totalsOf(ctx context.Context, tree worktree.Tree, w Work) *Totals {
	sum, err := worktree.Summary{}, error(nil)
	switch w.State {
	case OnBranch:
		sum, err = tree.Committed(ctx)
	case OffBranch:
		var found worktree.Changes
		found, err = tree.Changes(ctx, worktree.Guard{}, false)
		if sum = found.Summary; found.Blocked != "" {
			return nil
		}
	default:
		return nil
	}
	if err != nil {
		return nil
	}
	return &Totals{sum.Files, sum.Added, sum.Deleted}
}

// OnBranch is the state of work that is entirely on the attempt's branch.
const OnBranch = "on_branch"

// OffBranch is the state of work that is partly elsewhere or uncommitted.
const OffBranch = "off_branch"

// LandedWork is the state of work that has landed on its target.
const LandedWork = "landed"

// currentWork determines where an attempt's work is.
func currentWork(ctx context.Context, tree worktree.Tree, remarks []string) Work {
	if !tree.Present(ctx) {
		return Work{}
	}
	s, err := tree.Standing(ctx)
	if err != nil {
		return Work{State: OffBranch, Notes: []string{"git cannot check the work: " + errorText(err)}}
	}
	return workOf(s, remarks)
}

func workOf(s worktree.Survey, remarks []string) Work {
	w := Work{State: OnBranch, Notes: slices.Concat(s.Off, remarks)}
	if len(s.Off) > 0 {
		w.State = OffBranch
	}
	for i, n := range w.Notes {
		w.Notes[i] = storable(n)
	}
	return w
}

// committedItself is the prefix of notes about secrets that an agent has committed.
// These notes stay with the attempt, because later runs do not remove the secrets from
// the history.
const committedItself = "committed by the agent: "

// writeWork stores where the work is. It adds to w the notes of earlier runs
// that still apply, and the last totals if w has none.
func writeWork(ctx context.Context, tx *store.Tx, attemptID string, w *Work) error {
	var before string
	err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(work), '') FROM attempts WHERE id = ?", attemptID).Scan(&before)
	old := readWork(before)
	if w.Totals == nil {
		w.Totals = old.Totals
	}
	for _, n := range old.Notes {
		if strings.HasPrefix(n, committedItself) && !slices.Contains(w.Notes, n) {
			w.Notes = append(w.Notes, n)
		}
	}
	var data []byte
	if err == nil {
		data, err = json.Marshal(w)
	}
	if err == nil {
		_, err = tx.Exec(ctx, "UPDATE attempts SET work = ? WHERE id = ?", string(data), attemptID)
	}
	if err != nil {
		return fmt.Errorf("write the state of the work: %w", err)
	}
	return nil
}

func readWork(column string) (w Work) {
	if column != "" {
		json.Unmarshal([]byte(column), &w) // a newer deskhand may store more fields
	}
	return w
}

// refreshWork checks again where an attempt's work is, if it was not on the
// branch before. A person may have moved it.
func (m *Manager) refreshWork(ctx context.Context, attemptID string, before Work) Work {
	c, err := m.checkoutOf(ctx, attemptID)
	if err != nil {
		return before
	}
	now := currentWork(ctx, c.tree, nil)
	if now.State != OnBranch {
		return before
	}
	if err := m.db.UpdateFast(ctx, func(tx *store.Tx) error { return writeWork(ctx, tx, attemptID, &now) }); err != nil {
		return before
	}
	return now
}

// Ignored lists the files and folders that would be removed with a task's
// folders. Git ignores them, or they are in no repository; see
// [worktree.Survey].
func (m *Manager) Ignored(ctx context.Context, taskID string) (names []string, err error) {
	attempts, err := m.Attempts(ctx, taskID)
	if err != nil {
		return nil, err
	}
	for _, a := range attempts {
		c, err := m.checkoutOf(ctx, a.ID)
		if f := fault.Of(err); f != nil {
			continue // the folder is on another machine
		}
		if err != nil {
			return nil, err
		}
		s, err := c.tree.Survey(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range s.Ignored {
			names = append(names, c.tree.Dir+"/"+name)
		}
	}
	return names, nil
}

// Collected is the result of [Manager.Collect].
type Collected struct {
	AttemptID, Branch string
	// Repos is the number of repositories whose branch has new commits.
	Repos int
	Work  Work
}

// Collect moves an attempt's work to its branch: uncommitted changes, and
// commits of a detached HEAD or another branch. If secrets is true, it also
// commits work that looks like a secret. Faults: attempt_running,
// worktree_missing, head_moved, branch_in_use, commit_held.
func (m *Manager) Collect(ctx context.Context, attemptID string, secrets bool) (done Collected, err error) {
	c, err := m.checkoutOf(ctx, attemptID)
	if err != nil {
		return done, err
	}
	unlock, err := m.lockTree(ctx, c.ID)
	if err != nil {
		return done, err
	}
	defer unlock()
	p, err := m.newestProcess(ctx, c.ID)
	if err != nil {
		return done, err
	}
	if p != nil && !p.State.Ended() {
		return done, runningFault(c.ID)
	}
	m.stopDev(ctx, c.ID) // it could change the files between the checks and the commit
	allow := func(string) bool { return secrets }
	err = m.allowing(ctx, &c, m.secretFinder(c, p), allow, func(tree worktree.Tree, checks ...worktree.Check) error {
		n, err := tree.Gather(ctx, "Work of an attempt", checks...)
		done.Repos = min(done.Repos+n, len(tree.Repos)) // the next try counts a repository with a held commit again
		return err
	})
	if err != nil {
		return done, heldIn(err, c.ID)
	}
	done.AttemptID, done.Branch, done.Work = c.ID, c.attempt.Branch, currentWork(ctx, c.tree, nil)
	done.Work.Totals = totalsOf(ctx, c.tree, done.Work)
	m.share(ctx, c)
	return done, m.db.Update(ctx, func(tx *store.Tx) error { return writeWork(ctx, tx, c.ID, &done.Work) })
}

// heldIn adds the attempt to the fault commit_held.
func heldIn(err error, attemptID string) error {
	if f := fault.Of(err); f != nil && f.Code == CommitHeld {
		return f.WithCase("", "attempt", attemptID)
	}
	return err
}

// checks returns the checks that a commit of an attempt's work has to pass. If
// secrets is true, there are none.
func (m *Manager) checks(ctx context.Context, c *checkout, secrets bool) ([]worktree.Check, error) {
	if secrets {
		return nil, nil
	}
	p, err := m.newestProcess(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	return []worktree.Check{m.secretFinder(*c, p)}, m.loadAllowed(ctx, c)
}

// secretFinder returns a check for the secrets of an attempt that this process
// knows, and for text that looks like a secret.
func (m *Manager) secretFinder(c checkout, p *process) worktree.Check {
	id := ""
	if p != nil {
		id = p.Executor
	}
	_, secrets := executor.Environment(os.Environ(), slices.Concat(m.options.Agents.Passed(id), m.options.Env))
	return logs.NewRedactor(slices.Concat(secrets, m.options.Agents.Secrets(id))).Finds
}
