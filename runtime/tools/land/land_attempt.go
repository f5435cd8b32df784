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

type landAttemptIn struct {
	ID         contract.UUID `json:"attempt_id" required:"true" doc:"Attempt to land, from list_task_attempts. Nothing may run in it."`
	How        string        `json:"how" enum:"merge,squash,rebase,ff" default:"\"merge\"" doc:"merge makes a merge commit; squash one commit of all; rebase makes each commit again on top; ff makes none and needs a branch that has all of its target. Default merge."`
	Into       string        `json:"into" visible:"true" max:"1000" doc:"Another local branch than the attempt's target, at most 1000 characters. Default: its target."`
	Message    string        `json:"message" visible:"true" max:"100000" doc:"Message of the commit of a merge or squash, at most 100000 characters. Default: the task's title and what the agent said, by the project's template."`
	KeepBranch bool          `json:"keep_branch" default:"false" doc:"Keep the attempt's branch when its folder is removed. Default false."`
	DryRun     bool          `json:"dry_run" default:"false" doc:"Work out what would move, or why it cannot, and ask nobody. Default false."`
}

// Landed is the result of land_attempt and update_attempt.
type Landed struct {
	Outcome
	AttemptID contract.UUID `json:"attempt_id" doc:"The attempt that was asked for."`
	Branch    string        `json:"workspace_branch" doc:"Branch of the attempt."`
	Target    string        `json:"target_branch" doc:"The other branch."`
	How       string        `json:"how" doc:"How the commits get there."`
	Moves     []Move        `json:"moves" doc:"The branches that have moved, or would."`
	Message   *string       `json:"message" doc:"Message of the commit that was made, or would be. Null: none."`
}

// Move is a branch's move from one commit to another.
type Move struct {
	Repo   string  `json:"repo_name" doc:"Name of the repository."`
	Branch string  `json:"branch" doc:"Branch that moves."`
	Before string  `json:"before" doc:"Commit at which it was."`
	After  string  `json:"after" doc:"Commit at which it is then."`
	Dir    *string `json:"checked_out_in" doc:"Folder whose files move with it. Null: none has it checked out."`
}

func (o Options) landAttempt() contract.Tool {
	return work.Define(o.Work, work.Described{
		Name: "land_attempt", Title: "Land an attempt",
		UseWhen: "the work of an attempt is reviewed and shall get onto its target branch, in all its repositories or in none. The person is asked first; the task is done then.",
		Next:    "nothing when done; with status waiting the same call later. If it conflicts, follow_up to have the agent resolve it.",
		Avoid:   "landing what the user has not asked to land; calling it again after status refused.",
	}, func(ctx context.Context, caller contract.Caller, in landAttemptIn) (out Landed, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		about, ask, err := m.MayLand(ctx, string(in.ID))
		if err != nil {
			return out, err
		}
		q := tasks.LandRequest{AttemptID: string(in.ID), How: worktree.How(cmp.Or(in.How, string(worktree.Merge))), Into: in.Into, Message: in.Message, KeepBranch: in.KeepBranch}
		dry := q
		dry.DryRun, dry.Save = true, !in.DryRun
		would, err := m.Land(ctx, dry)
		if err != nil {
			return out, err
		}
		if out = landedOf(would); in.DryRun {
			out.Outcome = o.plan("land_attempt")
			return out, nil
		}
		outcome := Outcome{Status: done}
		if ask {
			var ok bool
			if outcome, ok, err = o.permitted(ctx, caller, about, landQuestion(ctx, m, would)); err != nil || !ok {
				out.Outcome = outcome
				return out, err
			}
		}
		q.Plan = would.Plan
		landed, err := m.Land(ctx, q)
		if err != nil {
			return out, err
		}
		out = landedOf(landed)
		out.Outcome = outcome
		return out, nil
	})
}

func landQuestion(ctx context.Context, m Manager, l tasks.Landed) question {
	q := question{tool: "land_attempt", does: "Land", facts: factsOf(l, fmt.Sprintf("%s of %s into %s", l.How, l.Branch, l.Target)),
		heading: "The commit will say:", words: l.Message}
	if c, err := m.Changes(ctx, l.AttemptID, true); err == nil && c.Blocked.Reason == "" {
		q.facts = append(q.facts, fmt.Sprintf("%d files, %d lines added, %d deleted", c.Count, c.Added, c.Deleted))
	}
	return q
}

// factsOf returns the planned moves. It leaves out commits that do not exist yet,
// so that asking again asks the same question.
func factsOf(l tasks.Landed, first string) []string {
	facts := []string{first}
	for _, m := range l.Moves {
		line := fmt.Sprintf("%s: %s moves from %.12s", m.Name, m.Branch, m.Before)
		for _, d := range l.Distances {
			if d.Name == m.Name {
				line += fmt.Sprintf(", the attempt is at %.12s, %d ahead and %d behind", d.Head, d.Ahead, d.Behind)
			}
		}
		if m.Dir != "" {
			line += ", with the files of " + m.Dir
		}
		facts = append(facts, line)
	}
	return facts
}

func landedOf(l tasks.Landed) Landed {
	out := Landed{AttemptID: contract.UUID(l.AttemptID), Branch: l.Branch, Target: l.Target, How: string(l.How), Moves: []Move{}, Message: textOrNull(l.Message)}
	for _, m := range l.Moves {
		out.Moves = append(out.Moves, Move{m.Name, m.Branch, m.Before, m.After, textOrNull(m.Dir)})
	}
	return out
}
