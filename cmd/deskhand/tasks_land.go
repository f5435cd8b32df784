package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// ways holds the flags that select how to land. At most one of them may be set.
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

// flags adds the flags to a command that lands attempts, and checks that they agree.
func (w *ways) flags(cmd *cobra.Command, q *tasks.LandRequest) {
	f := cmd.Flags()
	f.BoolVar(&w.merge, "merge", false, "create a merge commit (default)")
	f.BoolVar(&w.squash, "squash", false, "squash the attempt's commits into one")
	f.BoolVar(&w.rebase, "rebase", false, "rebase the attempt's commits onto the target")
	f.BoolVar(&w.ff, "ff", false, "fast-forward only: fail if the target has commits that the attempt lacks")
	f.StringVar(&q.Into, "into", "", "target branch (default: the attempt's)")
	f.StringVarP(&q.Message, "message", "m", "", "commit message (default: the task's title and the agent's summary)")
	f.BoolVar(&q.KeepBranch, "keep-branch", false, "keep the attempt's branch when its folder is removed")
	f.BoolVar(&q.NoHooks, "no-hooks", false, "skip your hooks")
	allowSecrets(f, &q.Secrets.All)
	dryRun(f, &q.DryRun)
	exclusive(cmd, []string{"merge", "squash", "rebase", "ff"}, []string{"resolve", "dry-run"})
}

// exclusive refuses several flags of one group.
func exclusive(cmd *cobra.Command, groups ...[]string) {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, group := range groups {
			if err := settings.Exclusive(cmd.Flags(), group...); err != nil {
				return err
			}
		}
		return nil
	}
}

// allowSecrets adds the flag for commands that move work to a person's branch.
func allowSecrets(f *pflag.FlagSet, allow *bool) {
	f.BoolVar(allow, "allow-secrets", false, "also land text that looks like a key or is one of the agent's keys")
}

func dryRun(f *pflag.FlagSet, dry *bool) {
	f.BoolVar(dry, "dry-run", false, "show what would change, without changing it")
}

func askNot(f *pflag.FlagSet, yes *bool) { f.BoolVarP(yes, "yes", "y", false, "do not ask") }

func tasksCommitCommand(a *app) *cobra.Command {
	var secrets bool
	cmd := &cobra.Command{
		Use:   "commit ID",
		Short: "Move the work that an attempt left behind onto its branch",
		Long: "Move the work that an attempt left behind onto its branch: commits that the agent made on a detached HEAD or on\n" +
			"another branch, and uncommitted changes, which are committed first. No file in the folder changes. If there is an\n" +
			"unfinished merge or rebase, or the branches have diverged, you have to finish that yourself.",
	}
	allowSecrets(cmd.Flags(), &secrets)
	return a.onAttempt(cmd, doneAsJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Commit(ctx, args[0], secrets)
	})
}

func tasksLandCommand(a *app) *cobra.Command {
	var w ways
	var q tasks.LandRequest
	var resolve, yes bool
	cmd := &cobra.Command{
		Use:   "land ID",
		Short: "Land an attempt's work on its target branch",
		Long: "Land an attempt's work on its target branch, in all its repositories or in none, and mark the task as\n" +
			"done. Uncommitted changes of the attempt are committed first. If the target branch is checked out, its\n" +
			"files are updated too; if that checkout has uncommitted changes, landing is refused. If a commit\n" +
			"contains text that looks like a secret, the command asks at a terminal, and fails otherwise. \"deskhand\n" +
			"tasks undo\" undoes the landing.",
		Example: "  deskhand tasks land 3f9c1a --dry-run\n  deskhand tasks land 3f9c1a --squash -m 'Round prices to cents'\n" +
			"  deskhand tasks land 3f9c1a --into release",
	}
	w.flags(cmd, &q)
	cmd.Flags().BoolVar(&resolve, "resolve", false, "have the attempt's agent resolve conflicts, and ask before landing the result")
	askNot(cmd.Flags(), &yes)
	return a.onAttempt(cmd, doneAsJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		q.How = w.how()
		if resolve {
			return c.ResolveAndLand(ctx, args[0], q, yes)
		}
		return c.Land(ctx, args[0], q)
	})
}

func tasksUpdateCommand(a *app) *cobra.Command {
	var w ways
	var dry, resolve bool
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Update an attempt's branch with its target branch",
	}
	cmd.Flags().BoolVar(&w.merge, "merge", false, "create a merge commit (default)")
	cmd.Flags().BoolVar(&w.rebase, "rebase", false, "rebase the attempt's commits onto the target")
	exclusive(cmd, []string{"merge", "rebase"}, []string{"resolve", "dry-run"})
	dryRun(cmd.Flags(), &dry)
	cmd.Flags().BoolVar(&resolve, "resolve", false, "have the attempt's agent merge and resolve conflicts")
	return a.onAttempt(cmd, doneAsJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		if resolve {
			return c.ResolveOrUpdate(ctx, args[0], w.how())
		}
		return c.Update(ctx, args[0], w.how(), dry)
	})
}

func tasksUndoCommand(a *app) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "undo ID",
		Short: "Undo the landing of an attempt",
		Long:  "Undo the landing of an attempt: each target returns to its earlier commit, unless someone has built on it since.",
	}
	dryRun(cmd.Flags(), &dry)
	return a.onAttempt(cmd, doneAsJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Undo(ctx, args[0], dry)
	})
}

func tasksApplyCommand(a *app) *cobra.Command {
	var dry bool
	var secrets tasks.Allowance
	cmd := &cobra.Command{
		Use:   "apply ID",
		Short: "Apply an attempt's changes to your checkout, uncommitted",
		Long: "Apply an attempt's changes to your checkout of each repository without committing them, whatever branch\n" +
			"is checked out there. The command fails if the changes would conflict with the checkout.",
	}
	allowSecrets(cmd.Flags(), &secrets.All)
	dryRun(cmd.Flags(), &dry)
	return a.onAttempt(cmd, doneAsJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Apply(ctx, args[0], dry, secrets)
	})
}

func tasksCheckoutCommand(a *app) *cobra.Command {
	return visitCommand(a, &cobra.Command{
		Use:   "checkout ID",
		Short: "Check out an attempt's branch in your own checkout",
		Long: "Check out an attempt's branch in your own checkout of each repository. The checkouts must have no\n" +
			"changes. The agent does not continue until \"deskhand tasks release\" returns the branch. Commits that you\n" +
			"add until then become part of the attempt.",
	}, "is checked out in", (*tasks.Manager).CheckOut)
}

func tasksReleaseCommand(a *app) *cobra.Command {
	return visitCommand(a, &cobra.Command{
		Use:   "release ID",
		Short: "Release the attempt's branch, and return to your own",
	}, "belongs to the attempt again; your own branch is checked out in", (*tasks.Manager).Release)
}

func visitCommand(a *app, cmd *cobra.Command, words string, do attempts.Visit) *cobra.Command {
	var dry bool
	dryRun(cmd.Flags(), &dry)
	return a.onAttempt(cmd, doneAsJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Visit(ctx, args[0], words, do, dry)
	})
}

func tasksDiscardCommand(a *app) *cobra.Command {
	var yes, dry bool
	cmd := &cobra.Command{
		Use:   "discard ID",
		Short: "Delete one attempt with its folder, logs and branch; its commits are kept",
		Long: "Delete one attempt with its folder, logs and branch. Uncommitted changes are committed first. The\n" +
			"commits are kept under refs/deskhand/kept. Files that git ignores are deleted.",
	}
	askNot(cmd.Flags(), &yes)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "report whether it could be deleted, without deleting it")
	return a.onAttempt(cmd, doneAsJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Discard(ctx, args[0], yes, dry)
	})
}

func tasksPickCommand(a *app) *cobra.Command {
	var w ways
	var q tasks.LandRequest
	var yes bool
	cmd := &cobra.Command{
		Use:               "pick ID",
		Short:             "Land one attempt of a task and discard the others",
		Long:              "Land one attempt of a task and discard the others. Their commits are kept under refs/deskhand/kept.",
		Args:              arguments(1, 1, "an attempt"),
		ValidArgsFunction: a.ids(tasks.KindAttempt),
	}
	w.flags(cmd, &q)
	askNot(cmd.Flags(), &yes)
	return a.working(cmd, doneAsJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		q.How = w.how()
		return c.Pick(ctx, args[0], q, yes)
	})
}
