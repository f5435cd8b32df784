package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/attempts"
)

func workCommand(a *app) *cobra.Command {
	return a.working(&cobra.Command{
		Use:   "work",
		Short: "Show the tasks in the terminal: follow, review and land agents' work",
		Long: "Show the tasks of all projects in the terminal, and update them. Open a task to follow its agent's log, see its\n" +
			"changes, send the agent messages, land the work or open a pull request. Agents keep running when you leave.",
		Args: arguments(0, 0, "no arguments"),
	}, "", func(ctx context.Context, c *attempts.Command, _ []string) error { return c.Board(ctx) })
}
