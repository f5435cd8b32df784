package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// inheriting marks the commands that deskhand itself starts, with what they run
// with on stdin.
const inheriting = "inherits"

// tasksLauncherCommand runs the launcher, which a manager starts when an attempt has to wait for a slot.
func tasksLauncherCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "launcher",
		Short:       "Start waiting attempts as slots become free; deskhand runs this itself",
		Hidden:      true,
		Args:        arguments(0, 0, "no arguments"),
		Annotations: map[string]string{inheriting: ""},
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := a.hiddenLogger()
			if err != nil {
				return err
			}
			all := a.installation(log)
			defer all.Close()
			m, err := all.Work(cmd.Context())
			if err != nil {
				return err
			}
			return m.Launch(cmd.Context())
		},
	}
}

// inherit takes over the environment of who started cmd, if cmd is one of those
// that deskhand starts.
func (a *app) inherit(cmd *cobra.Command) (err error) {
	if _, ok := cmd.Annotations[inheriting]; ok {
		a.settings.inherited, err = tasks.Inherit(a.stdin)
	}
	return err
}

// hiddenLogger hides this process from the agents that it starts or serves,
// which must not read its environment, and opens its log.
func (a *app) hiddenLogger() (*slog.Logger, error) {
	log, err := a.logger()
	if err != nil || ownAttempt() != "" {
		return log, err // what an agent starts is found by its environment, to be ended with it
	}
	if err := proc.Hide(); err != nil {
		log.Warn("not hidden", "error", err)
	}
	return log, nil
}
