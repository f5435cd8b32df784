package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// ways are the flags that say how, of which one at most is given.
type ways struct{ merge, squash, rebase, ff bool }

func (w ways) how() worktree.How {
	switch {
	case w.squash:
		return worktree.Squash
	case w.rebase:
		return worktree.Rebase
	case w.ff:
		return worktree.FastForward
	}
	return worktree.Merge
}

// flags adds them to a command that lands.
func (w *ways) flags(cmd *cobra.Command, q *tasks.LandRequest) {
	f := cmd.Flags()
	f.BoolVar(&w.merge, "merge", false, "make a merge commit (default)")
	f.BoolVar(&w.squash, "squash", false, "make one commit of all the attempt's commits")
	f.BoolVar(&w.rebase, "rebase", false, "make each of the attempt's commits again on top of the target")
	f.BoolVar(&w.ff, "ff", false, "make no commit; refused if the target has commits that the attempt does not have")
	cmd.MarkFlagsMutuallyExclusive("merge", "squash", "rebase", "ff")
	f.StringVar(&q.Into, "into", "", "another branch than the attempt's target")
	f.StringVarP(&q.Message, "message", "m", "", "text of the commit (default: the task's title and what the agent said)")
	f.BoolVar(&q.KeepBranch, "keep-branch", false, "keep the attempt's branch when its folder goes")
	f.BoolVar(&q.NoHooks, "no-hooks", false, "run none of your hooks")
	allowSecrets(cmd, &q.Secrets.All)
}

// allowSecrets adds the flag of commands that bring work to a person's branch.
func allowSecrets(cmd *cobra.Command, allow *bool) {
	cmd.Flags().BoolVar(allow, "allow-secrets", false, "also text that looks like a key, or that is one of the agent's own keys")
}

func tasksLandCommand(a *app) *cobra.Command {
	var w ways
	var q tasks.LandRequest
	var asJSON, resolve, yes bool
	cmd := &cobra.Command{
		Use:   "land ID",
		Short: "Bring the work of an attempt onto its target branch",
		Long: "Bring the work of an attempt onto its target branch, in all its repositories or in none, and mark the task as\n" +
			"done. Changes that the attempt has not committed are committed first. A target that is not checked out moves\n" +
			"without a checkout; one that is checked out moves with its files, and is refused while it has changes of yours.\n" +
			"If a commit has what looks like a secret, it asks at a terminal, and refuses otherwise.\n" +
			"\"deskhand tasks undo\" takes the landing back.",
		Example: "  deskhand tasks land 0197f3a4 --dry-run\n  deskhand tasks land 0197f3a4 --squash -m 'Round prices to cents'\n" +
			"  deskhand tasks land 0197f3a4 --into release",
		Args:              arguments(1, 1, "an attempt or a task"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.How = w.how()
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error {
				if resolve {
					return b.resolveAndLand(cmd.Context(), args[0], q, yes)
				}
				return b.land(cmd.Context(), args[0], q)
			})
		},
	}
	w.flags(cmd, &q)
	landFlags(cmd, &q.DryRun, &asJSON)
	cmd.Flags().BoolVar(&resolve, "resolve", false, "give conflicts to the attempt's agent, and ask before landing what comes out")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.MarkFlagsMutuallyExclusive("resolve", "dry-run")
	return cmd
}

func landFlags(cmd *cobra.Command, dryRun, asJSON *bool) {
	cmd.Flags().BoolVar(dryRun, "dry-run", false, "show what would move, and move nothing")
	cmd.Flags().BoolVar(asJSON, "json", false, "print what was done as JSON")
}

func tasksUpdateCommand(a *app) *cobra.Command {
	var w ways
	var dryRun, asJSON, resolve bool
	cmd := &cobra.Command{
		Use:               "update ID",
		Short:             "Bring the target branch into the branch of an attempt",
		Args:              arguments(1, 1, "an attempt or a task"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error {
				if resolve {
					if sent, err := b.resolve(cmd.Context(), args[0], ""); sent || err != nil {
						return err
					}
				}
				return b.update(cmd.Context(), args[0], w.how(), dryRun)
			})
		},
	}
	cmd.Flags().BoolVar(&w.merge, "merge", false, "make a merge commit (default)")
	cmd.Flags().BoolVar(&w.rebase, "rebase", false, "make each of the attempt's commits again on top of the target")
	cmd.MarkFlagsMutuallyExclusive("merge", "rebase")
	landFlags(cmd, &dryRun, &asJSON)
	cmd.Flags().BoolVar(&resolve, "resolve", false, "give conflicts to the attempt's agent, which merges")
	cmd.MarkFlagsMutuallyExclusive("resolve", "dry-run")
	return cmd
}

func tasksUndoCommand(a *app) *cobra.Command {
	var dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:               "undo ID",
		Short:             "Take the landing of an attempt back",
		Long:              "Take the landing of an attempt back: each target goes back to where it was, if nobody has built on it since.",
		Args:              arguments(1, 1, "an attempt or a task"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.undo(cmd.Context(), args[0], dryRun) })
		},
	}
	landFlags(cmd, &dryRun, &asJSON)
	return cmd
}

// landed is what land, update and undo print as JSON.
type landed struct {
	AttemptID contract.UUID `json:"attempt_id"`
	Branch    string        `json:"workspace_branch"`
	Target    string        `json:"target_branch"`
	How       worktree.How  `json:"how"`
	DryRun    bool          `json:"dry_run"`
	Moves     []landedMove  `json:"moves"`
	Message   string        `json:"message,omitempty"`
	Secrets   []string      `json:"secrets,omitempty"`
}

type landedMove struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Before string `json:"before"`
	After  string `json:"after"`
	Dir    string `json:"checked_out_in,omitempty"`
}

func (b *bench) land(ctx context.Context, prefix string, q tasks.LandRequest) error {
	id, err := b.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	q.AttemptID = id
	var done tasks.Landed
	err = b.allowing(ctx, &q.Secrets, q.DryRun, func() (err error) {
		done, err = b.manager.Land(ctx, q)
		return err
	})
	if err != nil {
		return err
	}
	return b.landing(done, q.DryRun, "landed", nil)
}

func (b *bench) update(ctx context.Context, prefix string, how worktree.How, dryRun bool) error {
	id, err := b.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	done, err := b.manager.Update(ctx, tasks.UpdateRequest{AttemptID: id, How: how, DryRun: dryRun})
	if err != nil {
		return err
	}
	return b.landing(done, dryRun, "updated", nil)
}

func (b *bench) undo(ctx context.Context, prefix string, dryRun bool) error {
	id, err := b.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	done, err := b.manager.Undo(ctx, id, dryRun)
	if err != nil {
		return err
	}
	return b.landing(done, dryRun, "undone", worktree.Move.Back)
}

// allowing calls do. As long as that is held back because of what looks like a
// secret, it asks the person at the terminal, and calls do again after a yes,
// when allowed names what the person has seen. Otherwise the fault stays as it is.
func (b *bench) allowing(ctx context.Context, allowed *tasks.Allowance, dryRun bool, do func() error) error {
	for {
		err := do()
		f := fault.Of(err)
		if f == nil || f.Code != tasks.LandHeld || dryRun || !onTerminal(b.stdin) {
			return err
		}
		agreed, broken := b.yes(ctx, painter(b.stderr).plain(f.Message)+". Bring it onto your branch all the same?")
		if broken != nil {
			return broken
		}
		if !agreed {
			return err
		}
		allowed.Named, _ = f.Details["found"].([]string)
	}
}

// landedOf is what is printed of moves; turn says which way, nil: as it is.
func landedOf(done tasks.Landed, dryRun bool, turn func(worktree.Move) worktree.Move) landed {
	out := landed{AttemptID: contract.UUID(done.AttemptID), Branch: done.Branch, Target: done.Target, How: done.How, DryRun: dryRun, Moves: []landedMove{}, Message: done.Message, Secrets: done.Secrets}
	for _, m := range done.Moves {
		if turn != nil {
			m = turn(m)
		}
		out.Moves = append(out.Moves, landedMove{m.Name, m.Branch, m.Before, m.After, m.Dir})
	}
	return out
}

// landing prints what moved.
func (b *bench) landing(done tasks.Landed, dryRun bool, word string, turn func(worktree.Move) worktree.Move) error {
	out := landedOf(done, dryRun, turn)
	if b.asJSON {
		return b.json(out)
	}
	b.tellSecrets(out.Secrets)
	if dryRun {
		word = "would be " + word
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s", brief(out.AttemptID), word)
	for _, m := range out.Moves {
		fmt.Fprintf(&text, "\n  %s  %s  %.12s -> %.12s", m.Repo, m.Branch, m.Before, m.After)
		if m.Dir != "" {
			fmt.Fprintf(&text, "  with the files of %s", m.Dir)
		}
	}
	if dryRun && out.Message != "" {
		fmt.Fprintf(&text, "\n\n%s", out.Message)
	}
	return b.line("%s", text.String())
}

// tellSecrets says on stderr what looks like a secret and was allowed.
func (b *bench) tellSecrets(found []string) {
	for _, what := range found {
		b.tell("allowed: " + what)
	}
}
