package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func tasksShowCommand(a *app) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a task with its attempts, or the state of one attempt",
		Long: "Show a task with its attempts, or the state of one attempt. With --follow, the command continues until\n" +
			"nothing is running, and its exit code is 1 if the attempt failed.",
		Args:              arguments(1, 1, "a task or an attempt"),
		ValidArgsFunction: a.ids(tasks.KindTask, tasks.KindAttempt),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show every change until nothing is running")
	return a.working(cmd, answerOf("get_task or get_attempt_status"), func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Show(ctx, args[0], follow)
	})
}

func tasksLogsCommand(a *app) *cobra.Command {
	var follow, raw bool
	limit := 50
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Show what the agent of an attempt says and does",
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := within("limit", limit, 1, 1000); err != nil {
				return err
			}
			return settings.Exclusive(cmd.Flags(), "follow", "json")
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue until nothing is running")
	cmd.Flags().BoolVar(&raw, "raw", false, "print the process's raw output lines")
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "number of earlier entries to print, 1 to 1000")
	return a.onAttempt(cmd, answerOf("tail_attempt_logs"), func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Logs(ctx, args[0], raw, limit, follow)
	})
}

func tasksMessagesCommand(a *app) *cobra.Command {
	limit := 20
	cmd := &cobra.Command{
		Use:     "messages ID",
		Short:   "Show the prompts and final replies of an attempt's conversation",
		PreRunE: func(*cobra.Command, []string) error { return within("limit", limit, 1, 200) },
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "number of turns, 1 to 200")
	return a.onAttempt(cmd, answerOf("tail_session_messages"), func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Messages(ctx, args[0], limit)
	})
}

func tasksDiffCommand(a *app) *cobra.Command {
	var f attempts.Shown
	cmd := &cobra.Command{
		Use:   "diff ID [PATH...]",
		Short: "Show what an attempt has changed, as a patch",
		Long: "Show an attempt's changes as a patch against the branch that it started from. PATH is a file or folder,\n" +
			"as REPOSITORY/path. --json prints the result of get_attempt_changes, or with PATH the result of\n" +
			"get_attempt_patch.",
		Args: arguments(1, 101, "an attempt or a task, and up to 100 paths"),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return settings.Exclusive(cmd.Flags(), "stat", "names", "json")
		},
	}
	cmd.Flags().BoolVar(&f.Stat, "stat", false, "print files and line counts instead of the patch")
	cmd.Flags().BoolVar(&f.Names, "names", false, "print only file names")
	cmd.Flags().BoolVar(&f.Force, "force", false, "show the changes even if they exceed the limit")
	return a.onAttempt(cmd, answerOf("get_attempt_changes or get_attempt_patch"), func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Diff(ctx, args[0], args[1:], f)
	})
}

func tasksCatCommand(a *app) *cobra.Command {
	return a.onAttempt(&cobra.Command{
		Use:   "cat ID PATH",
		Short: "Print a file from an attempt's folder",
		Args:  arguments(2, 2, "an attempt or a task, and REPOSITORY/path"),
	}, answerOf("get_attempt_file"), func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Cat(ctx, args[0], args[1])
	})
}
