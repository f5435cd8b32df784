package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func tasksAddCommand(a *app) *cobra.Command {
	var project, description, requestID string
	var plan attempts.Planning
	cmd := &cobra.Command{
		Use:   "add TITLE",
		Short: "Add a task to a project",
		Example: "  deskhand tasks add 'Round prices to cents' --description 'Half up, as on the invoice.'\n" +
			"  deskhand tasks add 'Fix the build' --description - < build.log",
		Args: arguments(1, 1000, "a title"),
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			plan.Read(cmd.Flags().Changed)
			description, err = a.TextOf(description)
			return err
		},
	}
	projectFlag(a, cmd, &project)
	cmd.Flags().StringVarP(&description, "description", "d", "", "full description of the work (- reads stdin)")
	cmd.Flags().StringVar(&requestID, "request-id", "", "idempotency key: a retry with the same key does not create a second task")
	planFlags(a, cmd, &plan)
	return a.working(cmd, answerOf("create_task"), func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Add(ctx, project, map[string]any{"title": strings.Join(args, " "), "description": description, "request_id": requestID}, plan)
	})
}

// planFlags adds the flags that plan a task.
func planFlags(a *app, cmd *cobra.Command, p *attempts.Planning) {
	f := cmd.Flags()
	f.StringVar(&p.Priority, "priority", "", "urgent, high, normal or low")
	f.StringSliceVar(&p.Labels, "label", nil, "label (repeatable; '': none)")
	f.StringSliceVar(&p.BlockedBy, "blocked-by", nil, "task that has to end first (repeatable; '': none)")
	_ = cmd.RegisterFlagCompletionFunc("blocked-by", a.ids(tasks.KindTask)) // fails only if the flag does not exist
}

func projectFlag(a *app, cmd *cobra.Command, project *string) {
	cmd.Flags().StringVarP(project, "project", "p", "", "name or ID of the project (default: the only one, or this repository's)")
	_ = cmd.RegisterFlagCompletionFunc("project", func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.completeIDs(cmd, prefix, tasks.KindProject), cobra.ShellCompDirectiveNoFileComp
	}) // fails only if the flag does not exist
}

func tasksListCommand(a *app) *cobra.Command {
	q := attempts.Listing{Limit: 50}
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the tasks of a project, newest first",
		Example: "  deskhand tasks ls --ready\n  deskhand tasks ls --label ui --priority high",
		Args:    arguments(0, 0, "no arguments"),
		PreRunE: func(cmd *cobra.Command, _ []string) error { return q.Check(cmd.Flags().Changed) },
	}
	projectFlag(a, cmd, &q.Project)
	statusFlag(cmd, &q.Status, "list only tasks with this status: ")
	cmd.Flags().IntVarP(&q.Limit, "limit", "n", q.Limit, "number of tasks, 1 to 500")
	cmd.Flags().BoolVar(&q.Sieve.Ready, "ready", false, "list only tasks that can begin: to do, not blocked and not running")
	cmd.Flags().StringVar(&q.Sieve.Label, "label", "", "list only tasks with this label")
	cmd.Flags().StringVar(&q.Sieve.Priority, "priority", "", "list only tasks with this priority: urgent, high, normal or low")
	return a.working(cmd, answerOf("list_tasks"), func(ctx context.Context, c *attempts.Command, _ []string) error {
		return c.List(ctx, q)
	})
}

// statusFlag adds the flag --status with shell completion.
func statusFlag(cmd *cobra.Command, status *string, what string) {
	cmd.Flags().StringVarP(status, "status", "s", "", what+"todo, inprogress, inreview, done or cancelled")
	var all []cobra.Completion
	for _, s := range tasks.Statuses {
		all = append(all, string(s))
	}
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)) // fails only if the flag does not exist
}

func tasksSetCommand(a *app) *cobra.Command {
	var title, description, status string
	var plan attempts.Planning
	given := map[string]any{}
	cmd := &cobra.Command{
		Use:     "set TASK",
		Short:   "Change a task's title, description, status or plan",
		Example: "  deskhand tasks set 3f9c1a --status done\n  deskhand tasks set 3f9c1a --priority high --label ui --blocked-by 77aa01",
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			for name, value := range map[string]string{"title": title, "description": description, "status": status} {
				if cmd.Flags().Changed(name) {
					text, err := a.TextOf(value)
					if err != nil {
						return err
					}
					given[name] = text
				}
			}
			if plan.Read(cmd.Flags().Changed); len(given) == 0 && !plan.Given() {
				return misuse("nothing to change", "pass --title, --description, --status, --priority, --label or --blocked-by")
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&title, "title", "t", "", "new title")
	cmd.Flags().StringVarP(&description, "description", "d", "", "new description (- reads stdin)")
	statusFlag(cmd, &status, "new status: ")
	planFlags(a, cmd, &plan)
	return a.onTask(cmd, answerOf("update_task"), func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Set(ctx, args[0], given, plan)
	})
}

func tasksRemoveCommand(a *app) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:     "rm TASK",
		Example: "  deskhand tasks rm 3f9c1a --keep-ignored",
		Short:   "Delete a task and its attempts; branches with commits stay",
		Long: "Delete a task and its attempts. Uncommitted changes are committed on their branches first, and branches\n" +
			"with commits stay. If work would be lost, for example in a nested repository or an unfinished merge,\n" +
			"nothing is deleted. Files that git ignores are deleted and listed.",
	}
	cmd.Flags().BoolVar(&keep, "keep-ignored", false, "delete nothing if a folder has files that git ignores")
	return a.onTask(cmd, answerOf("delete_task"), func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Remove(ctx, args[0], keep)
	})
}

func tasksGCCommand(a *app) *cobra.Command {
	var olderThan string
	var g tasks.GC
	cmd := &cobra.Command{
		Use:   "gc [ID]",
		Short: "Remove the folders of attempts that are no longer needed; branches stay",
		Long: "Remove the folders of attempts that have not been used for 7 days if the task is done or cancelled, or\n" +
			"for 30 days if it is in review; the setting tasks.retain changes these times. With ID, remove the folder\n" +
			"of that attempt. A folder is kept while it is in use or contains work that is not on its branch:\n" +
			"uncommitted changes, commits elsewhere, an unfinished merge or a nested repository. If the attempt\n" +
			"continues later, its folder is restored without the files that git ignores; the command lists those\n" +
			"files.",
		Args: arguments(0, 1, "an attempt or a task, or nothing"),
		PreRunE: func(cmd *cobra.Command, args []string) (err error) {
			if !cmd.Flags().Changed("older-than") {
				return nil
			}
			if len(args) == 1 {
				return misuse("--older-than cannot be combined with an ID", "omit --older-than, or omit the ID")
			}
			if g.OlderThan, err = settings.Days(olderThan); err != nil || g.OlderThan <= 0 {
				return misuse(fmt.Sprintf("--older-than takes a duration, not %q", olderThan), "write it as 12h or 7d")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&olderThan, "older-than", "", "remove only folders unused for at least this long, for example 12h or 7d, whatever the task's status")
	cmd.Flags().BoolVar(&g.DryRun, "dry-run", false, "print what would be removed, without removing it")
	cmd.Flags().BoolVar(&g.KeepIgnored, "keep-ignored", false, "keep folders that contain files ignored by git")
	return a.onAttempt(cmd, "print the report as JSON", func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.GC(ctx, args, g)
	})
}
