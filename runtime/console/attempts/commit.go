package attempts

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
)

// Commit commits an attempt's remaining work to its branch. secrets allows text
// that looks like a key.
func (c *Command) Commit(ctx context.Context, prefix string, secrets bool) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	done, err := c.Manager.Collect(ctx, id, secrets)
	if err != nil {
		return err
	}
	if c.AsJSON {
		return c.JSON(struct {
			AttemptID contract.UUID `json:"attempt_id"`
			Branch    string        `json:"workspace_branch"`
			Repos     int           `json:"repos_changed"`
			Work      string        `json:"work_state"`
			Notes     []string      `json:"work_notes"`
		}{contract.UUID(done.AttemptID), done.Branch, done.Repos, done.Work.State, append([]string{}, done.Work.Notes...)})
	}
	for _, n := range done.Work.Notes {
		c.Tell(n)
	}
	if done.Repos == 0 {
		return c.Line("%s  there is no work to move onto %s", brief(done.AttemptID), done.Branch)
	}
	return c.Line("%s  the work is on %s", brief(done.AttemptID), done.Branch)
}
