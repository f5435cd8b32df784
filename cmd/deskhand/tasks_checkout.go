package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

func tasksCheckoutCommand(a *app) *cobra.Command {
	return visitCommand(a, &cobra.Command{
		Use:   "checkout ID",
		Short: "Check out the branch of an attempt in your own checkout",
		Long: "Check out the branch of an attempt in your own checkout of each repository, which must have no changes. The\n" +
			"agent does not continue until \"deskhand tasks release\" gives the branch back; what you commit meanwhile is in\n" +
			"the attempt then.",
	}, "is checked out in", (*tasks.Manager).CheckOut)
}

func tasksReleaseCommand(a *app) *cobra.Command {
	return visitCommand(a, &cobra.Command{
		Use:   "release ID",
		Short: "Give the branch back to the attempt, and have your own branch again",
	}, "is the attempt's again; you have your own branch in", (*tasks.Manager).Release)
}

func visitCommand(a *app, cmd *cobra.Command, word string, do func(*tasks.Manager, context.Context, string, bool) (tasks.Visited, error)) *cobra.Command {
	var dryRun, asJSON bool
	cmd.Args, cmd.ValidArgsFunction = arguments(1, 1, "an attempt or a task"), a.ids(tasks.KindAttempt, tasks.KindTask)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withBench(cmd.Context(), asJSON, func(b *bench) error {
			id, err := b.attempt(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			done, err := do(b.manager, cmd.Context(), id, dryRun)
			if err != nil {
				return err
			}
			if b.asJSON {
				return b.json(struct {
					AttemptID contract.UUID    `json:"attempt_id"`
					Branch    string           `json:"workspace_branch"`
					DryRun    bool             `json:"dry_run"`
					Visits    []worktree.Visit `json:"checkouts"`
				}{contract.UUID(done.AttemptID), done.Branch, dryRun, append([]worktree.Visit{}, done.Visits...)})
			}
			var dirs []string
			for _, v := range done.Visits {
				dirs = append(dirs, v.Path)
			}
			if dryRun {
				return b.line("%s  would change %s", brief(done.AttemptID), strings.Join(dirs, ", "))
			}
			return b.line("%s  branch %s %s %s", brief(done.AttemptID), done.Branch, word, strings.Join(dirs, ", "))
		})
	}
	landFlags(cmd, &dryRun, &asJSON)
	return cmd
}
