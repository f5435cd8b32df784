package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// inheriting annotates commands that only deskhand starts. These commands read their
// environment from stdin.
const inheriting = "inherits"

// internalNames lists the subcommands of tasks that only deskhand starts.
var internalNames = []string{"runner", "launcher"}

// tasksLauncherCommand returns the command of the launcher, which a manager starts if
// an attempt must wait for a slot.
func tasksLauncherCommand(a *app) *cobra.Command {
	return a.hidden(&cobra.Command{
		Use:   "launcher",
		Short: "Start waiting attempts when slots become free (internal; deskhand starts this)",
		Args:  arguments(0, 0, "no arguments"),
	}, (*installation.App).Work, func(ctx context.Context, m *tasks.Manager, _ []string) error { return m.Launch(ctx) })
}

// tasksRunnerCommand returns the command that a manager starts for each
// process of an attempt.
func tasksRunnerCommand(a *app) *cobra.Command {
	return a.hidden(&cobra.Command{
		Use:   "runner PROCESS_ID",
		Short: "Run one process of an attempt (internal; deskhand starts this)",
		Args:  arguments(1, 1, "a process"),
	}, (*installation.App).Runner, func(ctx context.Context, m *tasks.Manager, args []string) error { return m.Run(ctx, args[0]) })
}

// hidden turns cmd into a hidden command that only deskhand starts.
func (a *app) hidden(cmd *cobra.Command, open func(*installation.App, context.Context) (*tasks.Manager, error),
	do func(ctx context.Context, m *tasks.Manager, args []string) error) *cobra.Command {
	cmd.Hidden, cmd.Annotations = true, map[string]string{inheriting: ""}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		log, err := a.hiddenLogger()
		if err != nil {
			return err
		}
		all := a.installation(log)
		defer all.Close()
		m, err := open(all, cmd.Context())
		if err != nil {
			return err
		}
		return do(cmd.Context(), m, args)
	}
	return cmd
}

// inherit reads the parent's environment from stdin if cmd is a command that
// only deskhand starts.
func (a *app) inherit(cmd *cobra.Command) error {
	if _, ok := cmd.Annotations[inheriting]; !ok {
		return nil
	}
	origin, err := tasks.Inherit(a.Stdin)
	a.settings.Inherit(origin)
	return err
}

// hiddenLogger opens the log, and hides this process's environment from the agents that
// it starts or serves.
func (a *app) hiddenLogger() (*slog.Logger, error) {
	log, err := a.settings.Logger(a.Stderr)
	if err != nil || settings.OwnAttempt() != "" {
		return log, err // a process that an agent starts is found by its environment, and is stopped with the agent
	}
	if err := proc.Hide(); err != nil {
		log.Warn("not hidden", "error", err)
	}
	return log, nil
}
