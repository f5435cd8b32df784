package tasks

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Resolve gives the conflicts of an attempt with its target to its agent, as a
// follow-up in its worktree. Without conflicts nothing is sent, and the follow-up
// is empty. Faults: those of [Manager.FollowUp], branch_missing.
func (m *Manager) Resolve(ctx context.Context, attemptID, into string) (f FollowUp, conflicts []string, err error) {
	c, err := m.checkoutOf(ctx, attemptID)
	if err != nil {
		return f, nil, err
	}
	if err := m.requireEnded(ctx, c); err != nil {
		return f, nil, err
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

// resolvePrompt tells an agent which commits to merge, and where they conflict.
// The commits are named by id: an agent in a sandbox has its own copy of the refs.
func resolvePrompt(distances []worktree.Distance) string {
	const most = 50 // paths of each repository
	var b strings.Builder
	b.WriteString("The target branch has changed what you have changed too. Bring it into your branch and resolve the conflicts, so that both changes keep their meaning.\n")
	for _, d := range distances {
		if len(d.Conflicts) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\nIn %s run: git merge %s\nThat is branch %s. These conflict:\n", d.Name, d.Tip, d.Target)
		for _, path := range d.Conflicts[:min(len(d.Conflicts), most)] {
			fmt.Fprintf(&b, "- %s\n", path)
		}
		if more := len(d.Conflicts) - most; more > 0 {
			fmt.Fprintf(&b, "- and %d more\n", more)
		}
	}
	b.WriteString("\nThen run the tests that fit, and commit the merge. Do not rebase or reset the branch, and change nothing else.")
	return b.String()
}
