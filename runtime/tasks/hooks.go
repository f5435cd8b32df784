package tasks

import (
	"context"

	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// hooks are the person's hooks of a landing, by repository, and lets those that
// see a message have it. A dry run has none.
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
		// What lands is looked at once it is known; a message is not yet part of it.
		if err := h.Trusted(ctx, trustedHooks(c, r.Name), worktree.Move{}); err != nil {
			return "", withAttempt(err, c.ID)
		}
		return h.Message(ctx, dir, message, source)
	}
	return found, nil
}

// trusted refuses a landing whose hooks are not those that the person has trusted.
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

// trustedHooks is the digest of those that the person has trusted in a repository.
func trustedHooks(c checkout, name string) string {
	for i, r := range c.tree.Repos {
		if r.Name == name {
			return c.repos[i].hooks
		}
	}
	return ""
}

// tellHooks runs the hooks that are told of a landing. It has happened, so what
// they say is for the log.
func (m *Manager) tellHooks(ctx context.Context, l Landing, hooks map[string]worktree.Hooks) {
	for _, move := range l.Moves {
		if h, ok := hooks[move.Name]; ok {
			if err := h.After(ctx, move, l.How); err != nil {
				m.options.Log.Warn("a hook failed after a landing", "repo", move.Name, "attempt_id", l.AttemptID, "error", err)
			}
		}
	}
}
