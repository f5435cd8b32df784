package main

import (
	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/upkeep"
)

func auditCommand(a *app) *cobra.Command {
	var f upkeep.Audit
	cmd := &cobra.Command{Use: "audit", Short: "Show who answered, started, landed and changed what",
		Example: "  deskhand audit --since 7d --who ada\n  deskhand audit --json --follow\n  deskhand audit prune --before 365d",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := a.installation(nil)
			defer all.Close()
			return f.Print(cmd.Context(), &a.Console, all)
		}}
	cmd.Flags().StringVar(&f.Since, "since", "", "only records since this time: 90m, 30d, a date or a time")
	cmd.Flags().StringVar(&f.Who, "who", "", "only what this person did; local is the owner")
	cmd.Flags().BoolVar(&f.JSON, "json", false, "print a JSON object per line")
	cmd.Flags().BoolVar(&f.Follow, "follow", false, "wait for new records, and print them")
	prune := &cobra.Command{Use: "prune", Short: "Delete old records; a record says so", Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := a.installation(nil)
			defer all.Close()
			return f.Prune(cmd.Context(), &a.Console, all)
		}}
	prune.Flags().StringVar(&f.Before, "before", "", "delete records before this time: 365d, a date or a time")
	cmd.AddCommand(prune)
	return cmd
}
