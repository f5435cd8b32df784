package tasks

import (
	"context"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// hooks returns the hooks that a landing runs, by repository. It sets a.Word so
// that message hooks can edit the message, except in a dry run, which runs no hook.
func (m *Manager) hooks(ctx context.Context, c checkout, q LandRequest, a *worktree.Author) (map[string]worktree.Hooks, error) {
	if q.NoHooks {
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
	if len(found) == 0 || q.DryRun {
		return found, nil
	}
	source := map[worktree.How]string{worktree.Merge: "merge", worktree.Squash: "message"}[q.How]
	a.Word = func(r worktree.Repo, dir, message string) (string, error) {
		h, ok := found[r.Name]
		if !ok {
			return message, nil
		}
		// The moves are checked later, once they are known. Here only the hooks
		// themselves are checked.
		if err := m.trustedIn(ctx, c, h, worktree.Move{Name: r.Name}); err != nil {
			return "", err
		}
		return h.Message(ctx, dir, message, source)
	}
	return found, nil
}

// trusted returns a fault if a landing would run hooks that the person has not trusted.
func (m *Manager) trusted(ctx context.Context, c checkout, moves []worktree.Move, hooks map[string]worktree.Hooks) error {
	for _, move := range moves {
		if h, ok := hooks[move.Name]; ok {
			if err := m.trustedIn(ctx, c, h, move); err != nil {
				return err
			}
		}
	}
	return nil
}

// trustedIn is trusted for the hooks of one move's repository.
func (m *Manager) trustedIn(ctx context.Context, c checkout, h worktree.Hooks, move worktree.Move) error {
	err := h.Trusted(ctx, trustedHooks(c, move.Name), move)
	f := fault.Of(err)
	if f == nil {
		return err
	}
	at, err := m.Context(ctx, c.ID)
	if err != nil {
		return err
	}
	return f.WithCase(f.Case, "attempt", c.ID, "project", at.Project.Name, "repo", move.Name)
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
