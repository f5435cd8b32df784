package attempts

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// resolve hands an attempt's conflicts to its agent and follows the run to its end. sent
// is false if there are no conflicts. secrets is as in [tasks.Manager.Resolve].
func (c *Command) resolve(ctx context.Context, prefix, into string, secrets bool) (sent bool, err error) {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return false, err
	}
	_, conflicts, err := c.Manager.Resolve(ctx, id, into, secrets)
	if err != nil || len(conflicts) == 0 {
		return false, err
	}
	c.Tell(fmt.Sprintf("the attempt's agent is resolving the conflicts in %s; it keeps running after Ctrl-C", strings.Join(conflicts, ", ")))
	err = c.followToEnd(ctx, id)
	if ctx.Err() != nil {
		c.Tell(fmt.Sprintf("the agent is still running; follow it: deskhand tasks logs %s --follow", brief(contract.UUID(id))))
	}
	return true, err
}

// ResolveOrUpdate hands an attempt's conflicts to its agent, which merges the target
// branch. If there are no conflicts, ResolveOrUpdate merges the branch itself.
func (c *Command) ResolveOrUpdate(ctx context.Context, prefix string, how worktree.How) error {
	if sent, err := c.resolve(ctx, prefix, "", false); sent || err != nil {
		return err
	}
	return c.Update(ctx, prefix, how, false)
}

// ResolveAndLand has the agent resolve an attempt's conflicts, asks the person about the
// result, and lands the attempt.
func (c *Command) ResolveAndLand(ctx context.Context, prefix string, q tasks.LandRequest, yes bool) error {
	if !yes && !console.OnTerminal(c.Stdin) { // fail before the agent does work that cannot land
		return fault.Misuse("landing a resolved conflict needs your confirmation, and there is no terminal", "pass --yes")
	}
	sent, err := c.resolve(ctx, prefix, q.Into, q.Secrets.All)
	if err != nil || ctx.Err() != nil {
		return err
	}
	if !sent {
		return c.Land(ctx, prefix, q)
	}
	if q.AttemptID, err = c.attempt(ctx, prefix); err != nil {
		return err
	}
	dry := q
	dry.DryRun, dry.Save = true, true
	var would tasks.Landed
	err = c.allowing(ctx, &dry.Secrets, false, func() (err error) {
		would, err = c.Manager.Land(ctx, dry)
		return err
	})
	if err != nil {
		return err
	}
	q.Secrets, q.Plan = dry.Secrets, would.Plan
	did, err := c.Manager.Changes(ctx, q.AttemptID, true)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("The conflicts are resolved: %d files, +%d -%d (deskhand tasks diff %s). Land attempt %s on %s?",
		did.Count, did.Added, did.Deleted, brief(contract.UUID(q.AttemptID)), brief(contract.UUID(q.AttemptID)), would.Target)
	if err := c.Confirmed(ctx, question, yes); err != nil {
		return err
	}
	return c.Land(ctx, q.AttemptID, q)
}
