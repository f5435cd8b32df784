package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func runnerCommand(a *app) *cobra.Command {
	var o tasks.QueueOptions
	cmd := &cobra.Command{
		Use:   "runner",
		Short: "Take queued attempts from the store and run them on this machine",
		Long: "Take attempts that were queued with \"deskhand tasks start --on LABEL\" and run them on this machine, if it has\n" +
			"the labels and the agent, and has or can clone the repositories. Clones are kept in the state folder.\n" +
			"Several machines share a queue if their store is the same PostgreSQL database.\n\n" +
			"When this command ends, it takes nothing more, and the attempts that it started continue.",
		Example: "  deskhand runner\n  deskhand runner --labels gpu,linux --places 2",
		Args:    arguments(0, 0, "no arguments"),
	}
	cmd.Flags().StringSliceVar(&o.Labels, "labels", nil, "labels of this machine, separated by commas (it always has its system and architecture, for example linux,amd64)")
	cmd.Flags().IntVar(&o.Places, "places", 0, "how many attempts run on this machine at the same time (default: tasks.max_running)")
	return a.working(cmd, "", func(ctx context.Context, c *attempts.Command, _ []string) error {
		return c.ServeQueue(ctx, o, cmd.Flags().Changed("places"))
	})
}
