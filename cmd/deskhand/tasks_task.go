package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

func tasksAddCommand(a *app) *cobra.Command {
	var project, description, requestID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "add TITLE",
		Short:   "Add a task to a project",
		Example: "  deskhand tasks add 'Round prices to cents' --description 'Half up, as on the invoice.'\n  deskhand tasks add 'Fix the build' --description - < build.log",
		Args:    arguments(1, 1000, "a title"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.textOf(description)
			if err != nil {
				return err
			}
			given := map[string]any{"title": strings.Join(args, " "), "description": text, "request_id": requestID}
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.add(cmd.Context(), project, given) })
		},
	}
	flags := cmd.Flags()
	projectFlag(a, cmd, &project)
	flags.StringVarP(&description, "description", "d", "", "what is to be done, at length (- reads stdin)")
	flags.StringVar(&requestID, "request-id", "", "key of your own: the same one again makes no second task")
	jsonFlag(cmd, &asJSON, "create_task")
	return cmd
}

func projectFlag(a *app, cmd *cobra.Command, project *string) {
	cmd.Flags().StringVarP(project, "project", "p", "", "project, by name or id (default: the only one)")
	_ = cmd.RegisterFlagCompletionFunc("project", func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.completeIDs(cmd, prefix, tasks.KindProject), cobra.ShellCompDirectiveNoFileComp
	}) // the flag is there
}

// mostTyped bounds a text that is read from stdin, in bytes.
const mostTyped = 1 << 20

// textOf is a text given as a flag or argument; "-" reads it from stdin.
func (a *app) textOf(given string) (string, error) {
	if given != "-" {
		return given, nil
	}
	b, err := io.ReadAll(io.LimitReader(a.stdin, mostTyped+1))
	if err != nil {
		return "", fmt.Errorf("read stdin: %w", err)
	}
	if len(b) > mostTyped || !utf8.Valid(b) {
		return "", misuse("stdin has more than 1 MiB, or is no UTF-8 text", "put it into a file of the repository and name that")
	}
	return strings.TrimRight(string(b), "\n"), nil
}

func (b *bench) add(ctx context.Context, project string, given map[string]any) error {
	id, err := b.project(ctx, project)
	if err != nil {
		return err
	}
	given["project_id"] = id
	var out work.CreatedTask
	return b.show(ctx, "create_task", withoutEmpty(given), &out, func() error { return b.line("%s", out.ID) })
}

// withoutEmpty is args without the texts that are empty: nobody has given them.
func withoutEmpty(args map[string]any) map[string]any {
	maps.DeleteFunc(args, func(_ string, v any) bool { return v == "" })
	return args
}

func tasksListCommand(a *app) *cobra.Command {
	var project, status string
	var asJSON bool
	limit := 50
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the tasks of a project, newest first",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := within("limit", limit, 1, 500); err != nil {
				return err
			}
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.list(cmd.Context(), project, status, limit) })
		},
	}
	projectFlag(a, cmd, &project)
	cmd.Flags().StringVarP(&status, "status", "s", "", "tasks of this status alone: todo, inprogress, inreview, done or cancelled")
	statusCompletion(cmd)
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "number of tasks, 1 to 500")
	jsonFlag(cmd, &asJSON, "list_tasks")
	return cmd
}

func statusCompletion(cmd *cobra.Command) {
	var all []cobra.Completion
	for _, s := range tasks.Statuses {
		all = append(all, string(s))
	}
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

func (b *bench) list(ctx context.Context, project, status string, limit int) error {
	id, err := b.project(ctx, project)
	if err != nil {
		return err
	}
	var out work.Tasks
	args := withoutEmpty(map[string]any{"project_id": id, "status": status, "limit": limit})
	return b.show(ctx, "list_tasks", args, &out, func() error {
		if out.NextCursor != nil {
			defer b.tell(fmt.Sprintf("only %d are listed, --limit takes up to 500", out.Count))
		}
		if out.Count == 0 {
			b.tell("no task, add one with deskhand tasks add TITLE")
			return nil
		}
		paint := painter(b.stdout)
		w := tabwriter.NewWriter(b.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tSTATUS\tATTEMPT\tEXECUTOR\tCHANGED\tTITLE")
		for _, t := range out.Tasks {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", brief(t.ID), t.Status, standing(t), orDash(t.Executor), age(t.Updated.Time), paint.plain(oneLine(t.Title)))
		}
		defer b.tellStranded(out.Tasks)
		return w.Flush()
	})
}

// tellStranded says what to do about what nobody starts.
func (b *bench) tellStranded(list []work.TaskSummary) {
	n := 0
	for _, t := range list {
		if t.WaitsFor != nil && tasks.Wait(*t.WaitsFor) == tasks.ForStarter {
			n++
		}
	}
	if n > 0 {
		b.tell(fmt.Sprintf("%d of those that wait were started with another environment or other settings, and no launcher of theirs runs; deskhand tasks show ID says what to do", n))
	}
}

// standing is how the newest attempt at a task stands.
func standing(t work.TaskSummary) string {
	switch {
	case t.AttemptID == nil:
		return "-"
	case t.WaitsFor != nil:
		return waitWord(*t.WaitsFor)
	case t.InProgress:
		return "running"
	case t.LastFailed:
		return "failed"
	case t.OffBranch:
		return "off branch"
	case t.Landed:
		return "landed"
	}
	return "ended"
}

// oneLine is a title in a table.
func oneLine(s string) string {
	return textutil.Shorten(textutil.OneLine(s), 70)
}

func tasksSetCommand(a *app) *cobra.Command {
	var title, description, status string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "set TASK",
		Short:   "Change a task's title, description or status",
		Example: "  deskhand tasks set 0197f3a4-5b6c --status done",
		Args:    arguments(1, 1, "a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			given := map[string]any{}
			for name, value := range map[string]string{"title": title, "description": description, "status": status} {
				if cmd.Flags().Changed(name) {
					text, err := a.textOf(value)
					if err != nil {
						return err
					}
					given[name] = text
				}
			}
			if len(given) == 0 {
				return misuse("nothing to change", "give --title, --description or --status")
			}
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.set(cmd.Context(), args[0], given) })
		},
		ValidArgsFunction: a.ids(tasks.KindTask),
	}
	cmd.Flags().StringVarP(&title, "title", "t", "", "new title")
	cmd.Flags().StringVarP(&description, "description", "d", "", "new description (- reads stdin)")
	cmd.Flags().StringVarP(&status, "status", "s", "", "new status: todo, inprogress, inreview, done or cancelled")
	statusCompletion(cmd)
	jsonFlag(cmd, &asJSON, "update_task")
	return cmd
}

func (b *bench) set(ctx context.Context, prefix string, given map[string]any) (err error) {
	if given["task_id"], err = b.task(ctx, prefix); err != nil {
		return err
	}
	var out work.TaskAnswer
	return b.show(ctx, "update_task", given, &out, func() error {
		return b.line("%s  %s  %s", brief(out.Task.ID), out.Task.Status, oneLine(out.Task.Title))
	})
}

func tasksRemoveCommand(a *app) *cobra.Command {
	var asJSON, keep bool
	cmd := &cobra.Command{
		Use:   "rm TASK",
		Short: "Delete a task with its attempts; branches that have commits stay",
		Long: "Delete a task with its attempts. What was not committed is committed on their branches first, and branches\n" +
			"that have commits stay. Where a folder has what would be lost, as a repository of its own or an unfinished\n" +
			"merge, nothing is deleted. Files that git ignores go, and are listed.",
		Args:              arguments(1, 1, "a task"),
		ValidArgsFunction: a.ids(tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.remove(cmd.Context(), args[0], keep) })
		},
	}
	cmd.Flags().BoolVar(&keep, "keep-ignored", false, "delete nothing if a folder has files which git ignores")
	jsonFlag(cmd, &asJSON, "delete_task")
	return cmd
}

func (b *bench) remove(ctx context.Context, prefix string, keep bool) error {
	id, err := b.task(ctx, prefix)
	if err != nil {
		return err
	}
	ignored, err := b.manager.Ignored(ctx, id)
	if err != nil {
		return err
	}
	if keep && len(ignored) > 0 {
		return fault.New(tasks.WorkUnsaved, "git ignores these, and they would go: "+some(ignored), "move away what you need, or leave --keep-ignored out")
	}
	var out work.DeletedTask
	return b.show(ctx, "delete_task", map[string]any{"task_id": id}, &out, func() error {
		if len(ignored) > 0 {
			b.tell("gone with it, as git ignores them: " + some(ignored))
		}
		return b.line("%s  deleted", brief(out.ID))
	})
}
