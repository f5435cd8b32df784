package tasks

import (
	"context"
	"path/filepath"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// checkout is an attempt with the current settings of its repositories.
type checkout struct {
	attempt
	tree  worktree.Tree
	repos []Repo // in the order of tree.Repos
	// landed is the newest landing that has begun and was not reverted, or nil
	// if there is none.
	landed *Landing
	// away is set if the folder is on another machine, and the checkout has only what that
	// machine has shared: see [Manager.reachable].
	away *Away
}

func readCheckout(ctx context.Context, tx *store.Tx, attemptID string) (c checkout, err error) {
	if c.attempt, err = readAttempt(ctx, tx, attemptID); err != nil {
		return c, err
	}
	if c.landed, err = latestLanding(ctx, tx, attemptID); err != nil {
		return c, err
	}
	c.tree = worktree.Tree{Dir: c.attempt.Dir, Branch: c.attempt.Branch, Stored: c.removed != 0 || c.landed != nil && c.landed.State == LandingDone}
	for _, part := range c.attempt.Repos {
		r, err := readRepo(ctx, tx, part.RepoID)
		if err == nil {
			err = repoAt(ctx, tx, &r, c.host)
		}
		if err != nil {
			return c, err
		}
		c.repos = append(c.repos, r)
		c.tree.Repos = append(c.tree.Repos, worktree.Repo{Name: part.Name, Path: r.Path, Target: part.TargetBranch, Base: part.Base, Copied: part.Copied})
		if l := c.landed; l != nil && l.State == LandingDone {
			shown := &c.tree.Repos[len(c.tree.Repos)-1]
			shown.Landed, shown.Base = l.Heads[part.Name], l.Bases[part.Name]
		}
	}
	return c, nil
}

// folder returns the path of a repository's worktree.
func (c checkout) folder(i int) string { return filepath.Join(c.tree.Dir, c.tree.Repos[i].Name) }

// home returns the folder in which an agent starts. If there is only one
// worktree, it is the worktree. Otherwise it is the folder that contains all
// worktrees.
func (c checkout) home() string {
	if len(c.tree.Repos) == 1 {
		return c.folder(0)
	}
	return c.tree.Dir
}

// checkoutOf reads the checkout of an attempt. It returns a fault if the folder is on
// another machine.
func (m *Manager) checkoutOf(ctx context.Context, attemptID string) (c checkout, err error) {
	if attemptID, err = parseID("attempt_id", attemptID); err != nil {
		return c, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if c, err = readCheckout(ctx, tx, attemptID); err != nil || c.host == m.host {
			m.markClones(&c)
			return err
		}
		seen, err := m.lookUpHost(ctx, tx, c.host)
		if err != nil {
			return err
		}
		return elsewhere(attemptID, seen.name, "the worktree of attempt %s is on %s", attemptID, seen.name)
	})
	return c, err
}

// block returns a Blocked for a reason from package worktree.
func block(reason, detail string) Blocked {
	return Blocked{Reason: reason, Detail: detail, Retryable: reason == worktree.SummaryFailed}
}

// Changes lists what an attempt has changed. If force is set, it lists more
// than the guard allows. If the changes cannot be listed, the result is Blocked
// and the error is nil.
func (m *Manager) Changes(ctx context.Context, attemptID string, force bool) (Changes, error) {
	c, err := m.reachable(ctx, attemptID)
	if err != nil {
		return Changes{}, err
	}
	found, err := c.tree.Changes(ctx, *m.options.Guard, force)
	if err != nil {
		return Changes{}, err
	}
	return changesOf(c, found), nil
}

func changesOf(c checkout, found worktree.Changes) Changes {
	changes := Changes{AttemptID: c.ID, Away: c.away, Blocked: block(found.Blocked, found.Detail), Truncated: found.Truncated, Nested: found.Nested,
		Count: found.Summary.Files, Added: found.Summary.Added, Deleted: found.Summary.Deleted, Bytes: found.Summary.Bytes}
	for _, f := range found.Files {
		changes.Files = append(changes.Files, changeOf(f))
	}
	return changes
}

func changeOf(f worktree.FileChange) Change {
	return Change{Path: f.Path, OldPath: f.OldPath, Kind: f.Kind, Added: f.Added, Deleted: f.Deleted, Binary: f.Binary, Bytes: f.Bytes}
}

// File returns a range of a file. Faults: not_found, worktree_missing.
func (m *Manager) File(ctx context.Context, q FileQuery) (File, error) {
	c, err := m.reachable(ctx, q.AttemptID)
	if err != nil {
		return File{}, err
	}
	f, err := c.tree.File(ctx, q.Path, worktree.Slice{Start: q.Start, MaxBytes: q.MaxBytes, StartLine: q.StartLine, EndLine: q.EndLine})
	if err != nil {
		return File{}, withAttempt(err, c.ID)
	}
	return File{AttemptID: c.ID, Path: f.Path, Blocked: block(f.Blocked, f.Detail), Truncated: f.Truncated,
		Start: f.Start, Total: f.Total, Content: f.Content, Binary: f.Binary}, nil
}

// Patch returns the changes of some files.
func (m *Manager) Patch(ctx context.Context, q PatchQuery) (Patch, error) {
	c, err := m.reachable(ctx, q.AttemptID)
	if err != nil {
		return Patch{}, err
	}
	var p worktree.Patch
	if q.Exact {
		p, err = c.tree.ExactPatch(ctx, q.Paths, *m.options.Guard, q.Force)
	} else {
		p, err = c.tree.Patch(ctx, q.Paths, q.MaxBytes, *m.options.Guard, q.Force)
	}
	if err != nil {
		return Patch{}, err
	}
	why := block(p.Blocked, p.Detail)
	if p.Blocked == worktree.ThresholdExceeded {
		why.Case = PatchGuarded
	}
	return Patch{AttemptID: c.ID, Blocked: why, Text: p.Text, Lossy: p.Lossy, Truncated: p.Truncated, Omitted: p.Omitted}, nil
}
