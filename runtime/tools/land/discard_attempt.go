package land

import (
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

type discardAttemptIn struct {
	ID     contract.UUID `json:"attempt_id" required:"true" doc:"ID of the attempt to delete, from list_task_attempts. It must not be running."`
	DryRun bool          `json:"dry_run" default:"false" doc:"Only report whether it could be deleted; no person is asked. Default false."`
}

// Discarded is the result of discard_attempt.
type Discarded struct {
	Outcome
	AttemptID contract.UUID `json:"attempt_id" doc:"The requested attempt."`
	Branch    string        `json:"workspace_branch" doc:"The attempt's branch, which is deleted too."`
	Kept      []string      `json:"kept_refs" doc:"Refs that keep its commits, each after the path of its repository. In a dry run, a ref ends with * if its commit does not exist yet."`
}

func (o Options) discardAttempt() contract.Tool {
	return work.Define(o.Work, work.Described{
		Name: "discard_attempt", Title: "Discard an attempt", Idempotent: true,
		UseWhen: "an attempt is no longer needed, for example because another attempt at its task has landed. Its folder, logs and branch are deleted; git refs keep its commits. The person is asked first.",
		Next:    "list_task_attempts to see what is left; if status is waiting, the same call later.",
		Avoid:   "discarding work that the user has not seen; delete_task deletes all attempts at a task.",
	}, func(ctx context.Context, caller contract.Caller, in discardAttemptIn) (out Discarded, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		about, ask, err := m.MayLand(ctx, string(in.ID))
		if err != nil {
			return out, err
		}
		would, err := m.Discard(ctx, string(in.ID), true)
		if err != nil {
			return out, err
		}
		out = Discarded{AttemptID: contract.UUID(would.AttemptID), Branch: would.Branch, Kept: append([]string{}, would.Kept...)}
		if in.DryRun {
			out.Outcome = o.plan("discard_attempt")
			return out, nil
		}
		outcome := Outcome{Status: done}
		if ask {
			facts := []string{"delete its folder, its logs and the branch " + would.Branch, "keep its commits under refs/deskhand/kept"}
			if s, err := m.Status(ctx, would.AttemptID); err == nil {
				for _, d := range s.Distances {
					facts = append(facts, fmt.Sprintf("%s: at %.12s, with %s that %s does not have", d.Name, d.Head, text.Count(d.Ahead, "commit"), d.Target))
				}
			}
			var ok bool
			if outcome, ok, err = o.permitted(ctx, caller, about, question{tool: "discard_attempt", does: "Discard", facts: facts}); err != nil || !ok {
				out.Outcome = outcome
				return out, err
			}
		}
		gone, err := m.Discard(ctx, string(in.ID), false)
		if err != nil {
			return out, err
		}
		out.Outcome, out.Kept = outcome, append([]string{}, gone.Kept...)
		return out, nil
	})
}
