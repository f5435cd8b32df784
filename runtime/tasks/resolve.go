package tasks

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Resolve asks an attempt's agent, in a follow-up, to resolve the conflicts
// with the target in its worktree. It first commits uncommitted work, because
// git does not merge into it; if secrets is true, also work that looks like a
// secret. If there are no conflicts, it sends nothing, and the follow-up is
// empty. Faults: those of [Manager.FollowUp] and [Manager.Collect],
// branch_missing.
func (m *Manager) Resolve(ctx context.Context, attemptID, into string, secrets bool) (f FollowUp, conflicts []string, err error) {
	c, err := m.checkoutOf(ctx, attemptID)
	if err != nil {
		return f, nil, err
	}
	if err := m.requireEnded(ctx, c); err != nil {
		return f, nil, err
	}
	if c.tree.Present(ctx) {
		if _, err := m.Collect(ctx, c.ID, secrets); err != nil {
			return f, nil, err
		}
	}
	distances, err := c.tree.Distances(ctx, into)
	if err != nil {
		return f, nil, err
	}
	for _, d := range distances {
		conflicts = append(conflicts, d.Conflicts...)
	}
	if len(conflicts) == 0 {
		return f, nil, nil
	}
	f, err = m.FollowUp(ctx, FollowUpRequest{Action: Send, AttemptID: c.ID, Prompt: resolvePrompt(distances)})
	return f, conflicts, err
}

// resolvePrompt tells an agent which commits to merge, and which files
// conflict. It refers to commits by ID, because an agent in a sandbox has its
// own copy of the refs.
func resolvePrompt(distances []worktree.Distance) string {
	const most = 50 // maximum number of paths per repository
	var b strings.Builder
	b.WriteString("The target branch and your branch have changed the same files. Merge the target into your branch and resolve the conflicts, so that both changes keep their meaning.\n")
	for _, d := range distances {
		if len(d.Conflicts) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\nIn %s run: git merge %s\nThat is branch %s. These files conflict:\n", d.Name, d.Tip, d.Target)
		for _, path := range d.Conflicts[:min(len(d.Conflicts), most)] {
			fmt.Fprintf(&b, "- %s\n", worktree.OnOneLine(path))
		}
		if more := len(d.Conflicts) - most; more > 0 {
			fmt.Fprintf(&b, "- and %d more\n", more)
		}
	}
	b.WriteString("\nThen run the relevant tests, and commit the merge. Do not rebase or reset the branch, and change nothing else.")
	return b.String()
}
