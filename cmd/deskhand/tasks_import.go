package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/attempts"
)

func tasksImportCommand(a *app) *cobra.Command {
	var project string
	var closed, dryRun bool
	cmd := &cobra.Command{
		Use:   "import SOURCE",
		Short: "Make tasks of GitHub issues, beads, Backlog.md or a Markdown task list",
		Long: "Make tasks of the items of another tool: github:OWNER/REPO or a repository's URL, with gh or GitHub's API; a\n" +
			"folder with .beads or backlog; a .jsonl of beads; a .md with a task list; or a .json of tasks export. Importing\n" +
			"again adds what is new and updates what changed there, unless it also changed here.",
		Example: "  deskhand tasks import github:acme/shop --dry-run\n  deskhand tasks import TODO.md --project shop",
		Args:    arguments(1, 1, "what to import"),
	}
	cmd.Flags().StringVarP(&project, "project", "p", "", "project of the tasks (default: the only one, or this repository's)")
	cmd.Flags().BoolVar(&closed, "closed", false, "also items that are done there; they become done tasks")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would happen")
	return a.working(cmd, doneAsJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Import(ctx, args[0], project, closed, dryRun)
	})
}

func tasksExportCommand(a *app) *cobra.Command {
	var project string
	cmd := &cobra.Command{Use: "export", Short: "Print a project's tasks and attempts as JSON", Args: arguments(0, 0, "")}
	cmd.Flags().StringVarP(&project, "project", "p", "", "project (default: the only one, or this repository's)")
	return a.working(cmd, "", func(ctx context.Context, c *attempts.Command, _ []string) error { return c.Export(ctx, project) })
}
