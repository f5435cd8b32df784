package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/web"
)

func healthCommand(a *app) *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use:   "health [URL]",
		Short: "Check whether a running HTTP server is healthy",
		Long: "Request /healthz from a server started with \"deskhand serve --http\", or /readyz with --ready, and print\n" +
			"the response. The exit code is 0 if the server is healthy, and 1 otherwise. An image without a shell can\n" +
			"use this command as its health check.",
		Example:           "  deskhand health\n  deskhand health --ready http://127.0.0.1:8080",
		Args:              arguments(0, 1, "at most one address"),
		ValidArgsFunction: cobra.NoFileCompletions,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // needs no settings
		RunE: func(cmd *cobra.Command, args []string) error {
			base := "http://" + settings.DefaultAddr
			if len(args) == 1 {
				base = args[0]
			}
			answer, err := web.Check(cmd.Context(), base, ready)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, console.PainterFor(a.Stdout).Plain(answer))
			return err
		},
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "check whether the server can answer requests, not only whether it is running")
	return cmd
}
