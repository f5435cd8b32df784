package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

// tasksRunnerCommand is what a manager starts for each process of an attempt.
func tasksRunnerCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "runner PROCESS_ID",
		Short:  "Run one process of an attempt; started by deskhand itself",
		Hidden: true,
		Args:   arguments(1, 1, "a process"),

		Annotations: map[string]string{inheriting: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
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
			return m.Run(cmd.Context(), args[0])
		},
	}
}

// tasksFakeCommand is the agent of the executor fake.
func tasksFakeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    executor.FakeArgs[len(executor.FakeArgs)-1],
		Short:  "Do what a prompt says, line by line; started by deskhand itself",
		Hidden: true,
		Args:   arguments(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if code := executor.FakeMain(a.stdin, a.stdout); code != 0 {
				return &ending{code: code, error: errSaid}
			}
			return nil
		},
	}
}

// here is the working directory; empty if it is gone.
func here() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}
