package tasks

import (
	"context"

	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// hooks returns the hooks that a landing runs, by repository. It sets a.Word so
// that message hooks can edit the message. A dry run has no hooks.
func (m *Manager) hooks(ctx context.Context, c checkout, q LandRequest, a *worktree.Author) (map[string]worktree.Hooks, error) {
	if q.DryRun || q.NoHooks {
		return nil, nil
	}
	found := map[string]worktree.Hooks{}
	for _, r := range c.tree.Repos {
		h, err := r.Hooks(ctx)
		if err != nil {
			return nil, err
		}
		if len(h.Names) > 0 {
			found[r.Name] = h
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	source := map[worktree.How]string{worktree.Merge: "merge", worktree.Squash: "message"}[q.How]
	a.Word = func(r worktree.Repo, dir, message string) (string, error) {
		h, ok := found[r.Name]
		if !ok {
			return message, nil
		}
		// The moves are checked later, once they are known. Here only the hooks
		// themselves are checked.
		if err := h.Trusted(ctx, trustedHooks(c, r.Name), worktree.Move{}); err != nil {
			return "", withAttempt(err, c.ID)
		}
		return h.Message(ctx, dir, message, source)
	}
	return found, nil
}

// trusted returns a fault if a landing would run hooks that the person has not trusted.
func (m *Manager) trusted(ctx context.Context, c checkout, moves []worktree.Move, hooks map[string]worktree.Hooks) error {
	for _, move := range moves {
		h, ok := hooks[move.Name]
		if !ok {
			continue
		}
		if err := h.Trusted(ctx, trustedHooks(c, move.Name), move); err != nil {
			return withAttempt(err, c.ID)
		}
	}
	return nil
}

// trustedHooks returns the digest of a repository's hooks that the person has
// trusted.
func trustedHooks(c checkout, name string) string {
	for i, r := range c.tree.Repos {
		if r.Name == name {
			return c.repos[i].hooks
		}
	}
	return ""
}

// tellHooks runs the hooks that are notified of a landing. It only logs their
// errors, because the landing is already done.
func (m *Manager) tellHooks(ctx context.Context, l Landing, hooks map[string]worktree.Hooks) {
	for _, move := range l.Moves {
		if h, ok := hooks[move.Name]; ok {
			if err := h.After(ctx, move, l.How); err != nil {
				m.options.Log.Warn("a hook failed after a landing", "repo", move.Name, "attempt_id", l.AttemptID, "error", err)
			}
		}
	}
}
