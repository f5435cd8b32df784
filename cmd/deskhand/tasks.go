package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func tasksCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tasks COMMAND",
		Short: "Run coding agents on tasks, each attempt on its own branch",
		Long: "Run coding agents on tasks. A project has git repositories, a task describes the work, and an attempt is\n" +
			"one agent working on it, on its own branch and in its own folder. You can shorten IDs to their last\n" +
			"characters, as lists show them, or their first ones; newest is the newest task or attempt of this\n" +
			"repository's project or, outside of a project, of all. A command that takes an attempt also\n" +
			"accepts a task, and then uses its newest attempt.",
		Example: "  deskhand tasks project add . --name shop\n  deskhand tasks add 'Round prices to cents'\n" +
			"  deskhand tasks start 3f9c1a --executor claude --follow\n  deskhand tasks diff 3f9c1a",
		Args: arguments(1, 1000, "a command"),
		RunE: func(cmd *cobra.Command, args []string) error { return unknownOf(cmd, args[0]) },
	}
	for _, sub := range []func(*app) *cobra.Command{
		tasksProjectCommand, tasksAddCommand, tasksListCommand, tasksShowCommand, tasksSetCommand, tasksRemoveCommand,
		tasksRunCommand, tasksStartCommand, tasksSayCommand, tasksCommitCommand, tasksLandCommand, tasksUpdateCommand, tasksUndoCommand, tasksPullCommand,
		tasksApplyCommand, tasksCheckoutCommand, tasksReleaseCommand, tasksPickCommand, tasksDiscardCommand, tasksDevCommand, tasksStopCommand, tasksLogsCommand, tasksMessagesCommand,
		tasksDiffCommand, tasksCatCommand, tasksExecutorsCommand, tasksGCCommand, tasksRunnerCommand,
		tasksSandboxCommand, tasksUsageCommand, tasksImportCommand, tasksExportCommand,
	} {
		cmd.AddCommand(sub(a))
	}
	return cmd
}

// doing is the action of a tasks command. It is called after the store has been
// opened. The command's PreRunE checks the flags.
type doing func(ctx context.Context, c *attempts.Command, args []string) error

// working makes do the action of the tasks command cmd. asJSON is the usage text
// for the flag --json. If it is empty, the command does not have this flag.
func (a *app) working(cmd *cobra.Command, asJSON string, do doing) *cobra.Command {
	var wanted bool
	if asJSON != "" {
		cmd.Flags().BoolVar(&wanted, "json", false, asJSON)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withWork(cmd.Context(), wanted, func(c *attempts.Command) error { return do(cmd.Context(), c, args) })
	}
	return cmd
}

// onAttempt is like working, but for a command whose argument is an attempt. A task ID
// is also accepted. onTask and onProject are for commands about a task or a project.
func (a *app) onAttempt(cmd *cobra.Command, asJSON string, do doing) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = arguments(1, 1, "an attempt or a task")
	}
	cmd.ValidArgsFunction = a.ids(tasks.KindAttempt, tasks.KindTask)
	return a.working(cmd, asJSON, do)
}

func (a *app) onTask(cmd *cobra.Command, asJSON string, do doing) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = arguments(1, 1, "a task"), a.ids(tasks.KindTask)
	return a.working(cmd, asJSON, do)
}

func (a *app) onProject(cmd *cobra.Command, asJSON string, do doing) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = arguments(1, 1, "a project")
	}
	cmd.ValidArgsFunction = a.ids(tasks.KindProject)
	return a.working(cmd, asJSON, do)
}

// Usage messages for --json.
const doneAsJSON = "print the result as JSON"

func answerOf(tool string) string { return "print the result of " + tool + " as JSON" }

// withWork opens the store and runs do.
func (a *app) withWork(ctx context.Context, asJSON bool, do func(*attempts.Command) error) error {
	all := a.installation(nil)
	defer all.Close()
	m, err := all.Work(ctx)
	if err != nil {
		return err
	}
	c := attempts.New(&a.Console, attempts.Options{Manager: m, Questions: all.Questions, Pauses: all.Pauses, Hub: all.Hub, Hints: workHints, AsJSON: asJSON})
	return c.Worded(do(c))
}

// ids completes the IDs of objects of the given kinds.
func (a *app) ids(kinds ...tasks.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completeIDs(cmd, prefix, kinds...), cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) completeIDs(cmd *cobra.Command, prefix string, kinds ...tasks.Kind) (found []cobra.Completion) {
	a.completing(cmd, func(m *tasks.Manager) {
		for _, kind := range kinds {
			named, _ := m.IDs(cmd.Context(), kind, "")
			for _, n := range named {
				id := tasks.ShortID(n.ID)
				switch {
				case kind == tasks.KindProject:
					id = n.Name
				case prefix != "" && strings.HasPrefix(n.ID, prefix):
					id = n.ID
				}
				found = append(found, cobra.CompletionWithDesc(id, strings.Join(strings.Fields(n.Name), " ")))
			}
		}
	})
	return slices.Compact(found)
}

// executorNames completes the names of executors that can be started.
func (a *app) executorNames(cmd *cobra.Command, _ []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	a.completing(cmd, func(m *tasks.Manager) {
		executors, _ := m.Executors(cmd.Context())
		for _, e := range executors {
			if e.Missing == "" {
				names = append(names, e.ID)
			}
		}
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completing opens the store for a completion. It reports no errors, because a message
// would disturb the user's typing.
func (a *app) completing(cmd *cobra.Command, do func(*tasks.Manager)) {
	if a.settings.Load(cmd.Flags(), func(string) {}) != nil {
		return
	}
	all := a.installation(nil)
	defer all.Close()
	if m, err := all.Work(cmd.Context()); err == nil {
		do(m)
	}
}
