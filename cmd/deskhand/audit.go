package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/upkeep"
)

func auditCommand(a *app) *cobra.Command {
	var f upkeep.Audit
	of := func(use, short string, do func(context.Context, upkeep.Log) error) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: arguments(0, 0, "no arguments"), RunE: func(cmd *cobra.Command, _ []string) error {
			all := a.installation(nil)
			defer all.Close()
			return do(cmd.Context(), all)
		}}
	}
	cmd := of("audit", "Show who answered, started, landed and changed what", func(ctx context.Context, log upkeep.Log) error { return f.Print(ctx, &a.Console, log) })
	cmd.Example = "  deskhand audit --since 7d --who ada\n  deskhand audit --json --follow\n  deskhand audit prune --before 365d"
	cmd.Flags().StringVar(&f.Since, "since", "", "only records since this time: 90m, 30d, a date or a time")
	cmd.Flags().StringVar(&f.Who, "who", "", "only what this person did; local is the owner")
	cmd.Flags().BoolVar(&f.JSON, "json", false, "print a JSON object per line")
	cmd.Flags().BoolVar(&f.Follow, "follow", false, "wait for new records, and print them")
	prune := of("prune", "Delete old records; a record says so", func(ctx context.Context, log upkeep.Log) error { return f.Prune(ctx, &a.Console, log) })
	prune.Flags().StringVar(&f.Before, "before", "", "delete records before this time: 365d, a date or a time")
	prune.Flags().BoolVar(&f.Yes, "yes", false, "do not ask for confirmation")
	cmd.AddCommand(prune)
	return cmd
}
