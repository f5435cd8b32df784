package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

// inheriting marks the commands that deskhand itself starts, with what they run
// with on stdin.
const inheriting = "inherits"

// tasksLauncherCommand runs the launcher, which a manager starts when an attempt
// has to wait for a slot.
func tasksLauncherCommand(a *app) *cobra.Command {
	return a.hidden(&cobra.Command{
		Use:   "launcher",
		Short: "Start waiting attempts when slots become free (internal: deskhand starts this)",
		Args:  arguments(0, 0, "no arguments"),
	}, (*installation.App).Work, func(ctx context.Context, m *tasks.Manager, _ []string) error { return m.Launch(ctx) })
}

// tasksRunnerCommand is what a manager starts for each process of an attempt.
func tasksRunnerCommand(a *app) *cobra.Command {
	return a.hidden(&cobra.Command{
		Use:   "runner PROCESS_ID",
		Short: "Run one process of an attempt (internal: deskhand starts this)",
		Args:  arguments(1, 1, "a process"),
	}, (*installation.App).Runner, func(ctx context.Context, m *tasks.Manager, args []string) error { return m.Run(ctx, args[0]) })
}

// hidden is a command that deskhand itself starts.
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

// tasksFakeCommand is the agent of the executor fake.
func tasksFakeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    executor.FakeArgs[len(executor.FakeArgs)-1],
		Short:  "Run a prompt line by line (internal: deskhand starts this)",
		Hidden: true,
		Args:   arguments(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if code := executor.FakeMain(a.Stdin, a.Stdout); code != 0 {
				return &ending{code: code, error: errSaid}
			}
			return nil
		},
	}
}

// inherit takes over the environment of who started cmd, if cmd is one of those
// that deskhand starts.
func (a *app) inherit(cmd *cobra.Command) error {
	if _, ok := cmd.Annotations[inheriting]; !ok {
		return nil
	}
	origin, err := tasks.Inherit(a.Stdin)
	a.settings.Inherit(origin)
	return err
}

// hiddenLogger hides this process from the agents that it starts or serves,
// which must not read its environment, and opens its log.
func (a *app) hiddenLogger() (*slog.Logger, error) {
	log, err := a.settings.Logger(a.Stderr)
	if err != nil || settings.OwnAttempt() != "" {
		return log, err // what an agent starts is found by its environment, to be ended with it
	}
	if err := proc.Hide(); err != nil {
		log.Warn("not hidden", "error", err)
	}
	return log, nil
}
