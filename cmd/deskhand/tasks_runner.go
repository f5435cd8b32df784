package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// inheriting annotates commands that only deskhand starts. These commands read their
// environment from stdin.
const inheriting = "inherits"

// internalNames lists the subcommands of tasks that only deskhand starts.
var internalNames = []string{"runner"}

// tasksRunnerCommand returns the command of the process that runs attempts. Managers of
// earlier versions, which may still be running after an upgrade, give it a process.
func tasksRunnerCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "runner",
		Short:       "Run attempts (internal; deskhand starts this)",
		Args:        arguments(0, 1, "no arguments"),
		Hidden:      true,
		Annotations: map[string]string{inheriting: ""},
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := a.hiddenLogger()
			if err != nil {
				return err
			}
			all := a.installation(log)
			defer all.Close()
			m, err := all.Runner(cmd.Context())
			if err != nil {
				return err
			}
			return m.Run(cmd.Context())
		},
	}
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
