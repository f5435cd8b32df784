package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// resolve gives the conflicts of an attempt to its agent and follows that to the
// end. sent is false if there are none.
func (b *bench) resolve(ctx context.Context, prefix, into string) (sent bool, err error) {
	id, err := b.attempt(ctx, prefix)
	if err != nil {
		return false, err
	}
	_, conflicts, err := b.manager.Resolve(ctx, id, into)
	if err != nil || len(conflicts) == 0 {
		return false, err
	}
	b.tell(fmt.Sprintf("its agent resolves the conflicts in %s; Ctrl-C leaves it running", strings.Join(conflicts, ", ")))
	err = b.followToEnd(ctx, id)
	if ctx.Err() != nil {
		b.tell(fmt.Sprintf("it goes on: deskhand tasks logs %s --follow", brief(contract.UUID(id))))
	}
	return true, err
}

// resolveAndLand lands an attempt, after its agent has resolved what conflicts and
// the person has agreed to what came out.
func (b *bench) resolveAndLand(ctx context.Context, prefix string, q tasks.LandRequest, yes bool) error {
	if !yes && !onTerminal(b.stdin) { // before the agent works for nothing
		return misuse("this asks before it lands what the agent makes of the conflicts, and there is no terminal", "add --yes")
	}
	sent, err := b.resolve(ctx, prefix, q.Into)
	if err != nil || ctx.Err() != nil {
		return err
	}
	if !sent {
		return b.land(ctx, prefix, q)
	}
	if q.AttemptID, err = b.attempt(ctx, prefix); err != nil {
		return err
	}
	dry := q
	dry.DryRun, dry.Save = true, true
	var would tasks.Landed
	err = b.allowing(ctx, &dry.Secrets, false, func() (err error) {
		would, err = b.manager.Land(ctx, dry)
		return err
	})
	if err != nil {
		return err
	}
	q.Secrets, q.Plan = dry.Secrets, would.Plan
	c, err := b.manager.Changes(ctx, q.AttemptID, true)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("The conflicts are resolved: %d files, +%d -%d (deskhand tasks diff %s). Land attempt %s on %s?",
		c.Count, c.Added, c.Deleted, brief(contract.UUID(q.AttemptID)), brief(contract.UUID(q.AttemptID)), would.Target)
	if err := b.confirmed(ctx, question, yes); err != nil {
		return err
	}
	return b.land(ctx, q.AttemptID, q)
}
