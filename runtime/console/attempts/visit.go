package attempts

import (
	"context"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Visit checks out an attempt's branch in the person's own checkout, or
// restores the checkout.
type Visit func(m *tasks.Manager, ctx context.Context, attempt string, dryRun bool) (tasks.Visited, error)

// Visit calls the function do and prints the result. The parameter words is the verb
// phrase after the branch name.
func (c *Command) Visit(ctx context.Context, prefix, words string, do Visit, dryRun bool) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	done, err := do(c.Manager, ctx, id, dryRun)
	if err != nil {
		return err
	}
	if c.AsJSON {
		return c.JSON(struct {
			AttemptID contract.UUID    `json:"attempt_id"`
			Branch    string           `json:"workspace_branch"`
			DryRun    bool             `json:"dry_run"`
			Visits    []worktree.Visit `json:"checkouts"`
		}{contract.UUID(done.AttemptID), done.Branch, dryRun, append([]worktree.Visit{}, done.Visits...)})
	}
	var dirs []string
	for _, v := range done.Visits {
		dirs = append(dirs, v.Path)
	}
	if dryRun {
		return c.Line("%s  would change %s", brief(done.AttemptID), strings.Join(dirs, ", "))
	}
	return c.Line("%s  branch %s %s %s", brief(done.AttemptID), done.Branch, words, strings.Join(dirs, ", "))
}
