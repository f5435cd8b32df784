package land

import (
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

type discardAttemptIn struct {
	ID     contract.UUID `json:"attempt_id" required:"true" doc:"Attempt to delete, from list_task_attempts. Nothing may run in it."`
	DryRun bool          `json:"dry_run" default:"false" doc:"Say whether it could be deleted, and ask nobody. Default false."`
}

// Discarded is the result of discard_attempt.
type Discarded struct {
	Outcome
	AttemptID contract.UUID `json:"attempt_id" doc:"The attempt that was asked for."`
	Branch    string        `json:"workspace_branch" doc:"Branch of the attempt, which is deleted too."`
	Kept      []string      `json:"kept_refs" doc:"Refs at which its commits still are, each behind the path of its repository."`
}

func (o Options) discardAttempt() contract.Tool {
	return work.Define(o.Work, work.Described{
		Name: "discard_attempt", Title: "Discard an attempt", Idempotent: true,
		UseWhen: "an attempt is not wanted any more, as when another one of its task was landed. Its folder, logs and branch are deleted; its commits stay at refs of git. The person is asked first.",
		Next:    "list_task_attempts for what is left; with status waiting the same call later.",
		Avoid:   "discarding what the user has not seen; delete_task is for all attempts of a task at once.",
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
		out = Discarded{AttemptID: contract.UUID(would.AttemptID), Branch: would.Branch, Kept: []string{}}
		if in.DryRun {
			out.Outcome = o.plan("discard_attempt")
			return out, nil
		}
		outcome := Outcome{Status: done}
		if ask {
			facts := []string{"delete its folder, its logs and the branch " + would.Branch, "its commits stay below refs/deskhand/kept"}
			if s, err := m.Status(ctx, would.AttemptID); err == nil {
				for _, d := range s.Distances {
					facts = append(facts, fmt.Sprintf("%s: at %.12s, %d commits that %s does not have", d.Name, d.Head, d.Ahead, d.Target))
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
		out.Outcome, out.Kept = outcome, append(out.Kept, gone.Kept...)
		return out, nil
	})
}
