package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console/onboarding"
	"github.com/deskhand/deskhand/runtime/setup"
)

func initCommand(a *app) *cobra.Command {
	var f onboarding.Flags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up this project: docs, index and your coding agents",
		Long: "Find the docs of the project in the working directory, build their index, and connect the installed coding\n" +
			"agents. deskhand shows all changes before it writes them, and keeps comments and other entries in the agents'\n" +
			"files. Files in the project work for everyone who clones it; --user writes to your own files instead.\n" +
			"Agents: " + strings.Join(setup.IDs(), ", ") + ".",
		Example: "  deskhand init\n  deskhand init --yes --client claude --client codex\n  deskhand init --user\n  deskhand init --remove",
		Args:    arguments(0, 0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.setUp(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.Yes, "yes", false, "write without asking, and use the docs' title as their description")
	flags.BoolVar(&f.User, "user", false, "connect agents in all your projects, through the files in your home folder")
	flags.BoolVar(&f.Remove, "remove", false, "remove what init added")
	flags.StringArrayVar(&f.Clients, "client", nil, "agent to connect, installed or not (repeatable; default: those found)")
	flags.StringVar(&f.Description, "description", "", `what the docs are about, to complete "Search the ..." (default: their title)`)
	settings.Declare(flags, "embed")
	settings.Declare(flags, "cache")
	return cmd
}

// setUp runs init with the current settings.
func (a *app) setUp(ctx context.Context, f onboarding.Flags) error {
	state, err := a.settings.StateDir()
	if err != nil {
		return err
	}
	w := onboarding.Work{
		Console: &a.Console, State: state, Index: a.settings.Index(),
		Build: func(ctx context.Context, dir string) error { return a.index(ctx, &indexFlags{}, []string{dir}) },
		Untrusted: func() string {
			now := a.settings.Untrusted()
			if now == nil {
				return ""
			}
			return now.Path() + " has changed: " + now.Needs() + " are ignored until you run: " + now.Command()
		},
	}
	return w.Run(ctx, f)
}
