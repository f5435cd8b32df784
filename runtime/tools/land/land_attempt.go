package land

import (
	"cmp"
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	"github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

type landAttemptIn struct {
	ID         contract.UUID `json:"attempt_id" required:"true" doc:"ID of the attempt to land, from list_task_attempts. It must not be running."`
	How        string        `json:"how" enum:"merge,squash,rebase,ff" default:"\"merge\"" doc:"merge creates a merge commit; squash creates one commit; rebase recreates each commit on top of the target; ff creates none and requires that the branch contains its whole target. Default merge."`
	Into       string        `json:"into" visible:"true" max:"1000" doc:"Local branch to land on, at most 1000 characters. Default: the attempt's target."`
	Message    string        `json:"message" visible:"true" max:"100000" doc:"Commit message for merge or squash, at most 100000 characters. Default: the task's title and the agent's summary, in the project's template."`
	KeepBranch bool          `json:"keep_branch" default:"false" doc:"Keep the attempt's branch when its folder is removed. Default false."`
	DryRun     bool          `json:"dry_run" default:"false" doc:"Only report what would move, or why it cannot; no person is asked. Default false."`
}

// Landed is the result of land_attempt and update_attempt.
type Landed struct {
	Outcome
	AttemptID contract.UUID `json:"attempt_id" doc:"The requested attempt."`
	Branch    string        `json:"workspace_branch" doc:"The attempt's branch."`
	Target    string        `json:"target_branch" doc:"The other branch."`
	How       string        `json:"how" doc:"How the commits are added."`
	Moves     []Move        `json:"moves" doc:"The branches that moved, or would move."`
	Message   *string       `json:"message" doc:"Message of the commit that was or would be created. Null if there is none."`
}

// Move is a branch's move from one commit to another.
type Move struct {
	Repo   string  `json:"repo_name" doc:"Name of the repository."`
	Branch string  `json:"branch" doc:"Branch that moves."`
	Before string  `json:"before" doc:"Its commit before."`
	After  string  `json:"after" doc:"Its commit after."`
	Dir    *string `json:"checked_out_in" doc:"Folder with the branch checked out, whose files are updated. Null if it is not checked out."`
}

func (o Options) landAttempt() contract.Tool {
	return work.Define(o.Work, work.Described{
		Name: "land_attempt", Title: "Land an attempt",
		UseWhen: "an attempt's work has been reviewed and should be merged into its target branch, in all its repositories or in none. The person is asked first. Afterwards the task is done.",
		Next:    "nothing if status is done; if it is waiting, the same call later. On conflicts, follow_up to have the agent resolve them.",
		Avoid:   "landing work that the user has not asked to land; calling it again after status refused.",
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
		heading: "The commit message:", words: l.Message}
	if c, err := m.Changes(ctx, l.AttemptID, true); err == nil && c.Blocked.Reason == "" {
		q.facts = append(q.facts, fmt.Sprintf("%s, %s added, %d deleted", text.Count(c.Count, "file"), text.Count(c.Added, "line"), c.Deleted))
	}
	return q
}

// factsOf returns the planned moves. It leaves out commits that do not exist yet,
// so asking again asks the same question.
func factsOf(l tasks.Landed, first string) []string {
	facts := []string{first}
	for _, m := range l.Moves {
		line := fmt.Sprintf("%s: %s moves from %.12s", m.Name, m.Branch, m.Before)
		for _, d := range l.Distances {
			if d.Name == m.Name {
				line += fmt.Sprintf("; the attempt is at %.12s, %d ahead and %d behind", d.Head, d.Ahead, d.Behind)
			}
		}
		if m.Dir != "" {
			line += "; its files in " + m.Dir
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
