package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console/attempts"
)

func tasksUsageCommand(a *app) *cobra.Command {
	var by, project, since string
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show the tokens and the cost of agents, by day, agent, task or project",
		Long: "Show what agents consumed, as far as they report it. A cost that an agent reports takes precedence over\n" +
			"the table of prices. A + after a cost means that some tokens or prices are unknown.",
		Example: "  deskhand tasks usage --by agent --since 7d",
		Args:    arguments(0, 0, ""),
	}
	cmd.Flags().StringVar(&by, "by", "day", "group by day, agent, task, project, attempt or process")
	cmd.Flags().StringVar(&since, "since", "30d", "runs that started within this time, for example 12h or 7d")
	cmd.Flags().StringVarP(&project, "project", "p", "", "only this project")
	return a.working(cmd, "print the groups and the total as JSON", func(ctx context.Context, c *attempts.Command, _ []string) error {
		within, err := settings.Days(since)
		if err != nil {
			return misuse("--since takes a time, not "+since, "write it as 12h or 7d")
		}
		return c.Usage(ctx, by, project, time.Now().Add(-within))
	})
}
