package land

import (
	"cmp"
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

type updateAttemptIn struct {
	ID     contract.UUID `json:"attempt_id" required:"true" doc:"ID of the attempt to update, from list_task_attempts. It must not be running."`
	How    string        `json:"how" enum:"merge,rebase" default:"\"merge\"" doc:"merge creates a merge commit on the attempt's branch; rebase recreates its commits on top of the target. Default merge."`
	DryRun bool          `json:"dry_run" default:"false" doc:"Only report what would move, or why it cannot; no person is asked. Default false."`
}

func (o Options) updateAttempt() contract.Tool {
	return work.Define(o.Work, work.Described{
		Name: "update_attempt", Title: "Update an attempt's branch",
		UseWhen: "the target branch has new commits, and an attempt should include them before it continues or lands. The person is asked first.",
		Next:    "get_attempt_changes, follow_up or land_attempt; if status is waiting, the same call later.",
		Avoid:   "calling it while get_attempt_status lists conflicts; use follow_up to have the agent merge and resolve them.",
	}, func(ctx context.Context, caller contract.Caller, in updateAttemptIn) (out Landed, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		about, ask, err := m.MayLand(ctx, string(in.ID))
		if err != nil {
			return out, err
		}
		q := tasks.UpdateRequest{AttemptID: string(in.ID), How: worktree.How(cmp.Or(in.How, string(worktree.Merge)))}
		dry := q
		dry.DryRun, dry.Save = true, !in.DryRun
		would, err := m.Update(ctx, dry)
		if err != nil {
			return out, err
		}
		if out = landedOf(would); in.DryRun {
			out.Outcome = o.plan("update_attempt")
			return out, nil
		}
		outcome := Outcome{Status: done}
		if ask {
			var ok bool
			outcome, ok, err = o.permitted(ctx, caller, about, question{tool: "update_attempt", does: "Update",
				facts: factsOf(would, fmt.Sprintf("%s of %s into %s", would.How, would.Target, would.Branch))})
			if err != nil || !ok {
				out.Outcome = outcome
				return out, err
			}
		}
		q.Plan = would.Plan
		updated, err := m.Update(ctx, q)
		if err != nil {
			return out, err
		}
		out = landedOf(updated)
		out.Outcome = outcome
		return out, nil
	})
}
