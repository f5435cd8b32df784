package main

import (
	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/attempts"
)

func tasksSandboxCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Show which sandboxes work here, and which one agents run in",
		Long: "Test which sandboxes work here, and show which one agents run in. A project or an executor can use a\n" +
			"different sandbox than the settings.",
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := a.settings.TasksOptions()
			if err != nil {
				return err
			}
			return attempts.ShowSandbox(cmd.Context(), &a.Console, o, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}
