package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

func tasksCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tasks COMMAND",
		Short: "Let coding agents work on tasks, each attempt on a branch of its own",
		Long: "Let coding agents work on tasks. A project has git repositories; a task says what to do; an attempt is\n" +
			"one agent working on it, on a branch and in a folder of its own. Ids may be shortened to their first\n" +
			"characters; where an attempt is wanted, a task stands for its newest one.",
		Example: "  deskhand tasks project add . --name shop\n  deskhand tasks add 'Round prices to cents'\n" +
			"  deskhand tasks start 0197f3a4-5b6c --executor claude --follow\n  deskhand tasks diff 0197f3a4-5b6c",
		Args: arguments(1, 1000, "a command"),
		RunE: func(cmd *cobra.Command, args []string) error { return unknownOf(cmd, args[0]) },
	}
	for _, sub := range []func(*app) *cobra.Command{
		tasksProjectCommand, tasksAddCommand, tasksListCommand, tasksShowCommand, tasksSetCommand, tasksRemoveCommand,
		tasksRunCommand, tasksStartCommand, tasksSayCommand, tasksCommitCommand, tasksLandCommand, tasksUpdateCommand, tasksUndoCommand, tasksPullCommand,
		tasksApplyCommand, tasksCheckoutCommand, tasksReleaseCommand, tasksPickCommand, tasksDiscardCommand, tasksStopCommand, tasksLogsCommand, tasksMessagesCommand,
		tasksDiffCommand, tasksCatCommand, tasksExecutorsCommand, tasksGCCommand, tasksRunnerCommand, tasksLauncherCommand, tasksFakeCommand,
		tasksSandboxCommand,
	} {
		cmd.AddCommand(sub(a))
	}
	return cmd
}

// bench is one run of a tasks command. What it does it does with the tools that
// agents have, so that --json is their answer, to the byte.
type bench struct {
	*app
	all     *installation.App
	manager *tasks.Manager
	tools   map[string]contract.Tool
	about   map[string]string // the attempt and the task, for hints
	asJSON  bool
}

// withBench opens the store and runs do.
func (a *app) withBench(ctx context.Context, asJSON bool, do func(*bench) error) error {
	all := a.installation(nil)
	defer all.Close()
	m, err := all.Work(ctx)
	if err != nil {
		return err
	}
	b := &bench{app: a, all: all, manager: m, asJSON: asJSON, tools: map[string]contract.Tool{}}
	for _, tool := range work.Tools(work.Options{
		Open:      func(context.Context) (work.Manager, error) { return m, nil },
		Questions: all.Questions, Pauses: all.Pauses, MaxAnswerBytes: 64 << 20,
		Hint: func(_ string, f *fault.Fault) string { return f.Hint }, // worded has the commands
	}) {
		b.tools[tool.Name] = tool
	}
	return b.worded(do(b))
}

// call calls a tool and reads its answer into out.
func (b *bench) call(ctx context.Context, tool string, args map[string]any, out any) (json.RawMessage, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	result, err := b.tools[tool].Call(ctx, contract.Caller{Name: "deskhand"}, raw)
	if err != nil {
		return nil, err
	}
	answer := result.Structured.(json.RawMessage)
	return answer, json.Unmarshal(answer, out)
}

// show calls a tool and prints its answer: as it is with --json, else as table
// words it.
func (b *bench) show(ctx context.Context, tool string, args map[string]any, out any, table func() error) error {
	raw, err := b.call(ctx, tool, args, out)
	if err != nil {
		return err
	}
	if b.asJSON {
		return b.json(raw)
	}
	return table()
}

// attempt is the attempt whose id begins so, or the newest one of the task whose
// id does.
func (b *bench) attempt(ctx context.Context, prefix string) (string, error) {
	id, err := b.manager.Find(ctx, tasks.KindAttempt, prefix)
	if f := fault.Of(err); f == nil || f.Code != tasks.NotFound {
		b.knows("attempt", id)
		return id, err
	}
	task, err := b.manager.Find(ctx, tasks.KindTask, prefix)
	if f := fault.Of(err); f != nil && f.Code == tasks.NotFound {
		return "", fault.New(f.Code, fmt.Sprintf("there is no attempt or task %q", prefix), "see deskhand tasks ls")
	}
	if err != nil {
		return "", err
	}
	attempts, err := b.manager.Attempts(ctx, task)
	if err != nil {
		return "", err
	}
	if len(attempts) == 0 {
		return "", fault.New(tasks.NotFound, "task "+brief(task)+" has no attempt yet", "start one: deskhand tasks start "+brief(task)+" --executor NAME")
	}
	b.knows("task", task)
	b.knows("attempt", attempts[0].ID)
	return attempts[0].ID, nil
}

func (b *bench) task(ctx context.Context, prefix string) (string, error) {
	id, err := b.manager.Find(ctx, tasks.KindTask, prefix)
	if f := fault.Of(err); f != nil && f.Code == tasks.NotFound {
		return "", fault.New(f.Code, fmt.Sprintf("there is no task %q", prefix), "see deskhand tasks ls")
	}
	b.knows("task", id)
	return id, err
}

// project is the one of that name or id, or the only one.
func (b *bench) project(ctx context.Context, given string) (string, error) {
	if given != "" {
		id, err := b.manager.Find(ctx, tasks.KindProject, given)
		if f := fault.Of(err); f != nil && f.Code == tasks.NotFound {
			return "", fault.New(f.Code, fmt.Sprintf("there is no project %q", given), "see deskhand tasks project ls")
		}
		return id, err
	}
	page, err := b.manager.Projects(ctx, tasks.Page{Limit: 20})
	switch {
	case err != nil:
		return "", err
	case len(page.Projects) == 0:
		return "", fault.New(tasks.NotFound, "there is no project yet", "make one: deskhand tasks project add PATH --name NAME")
	case len(page.Projects) == 1:
		return page.Projects[0].ID, nil
	}
	var names []string
	for _, p := range page.Projects {
		names = append(names, p.Name)
	}
	return "", misuse("there are several projects", "choose one with --project: "+strings.Join(names, ", "))
}

// brief is an id as tables show it: up to the millisecond that it was made in.
func brief[T ~string](id T) string {
	if len(id) != 36 {
		return string(id)
	}
	return string(id[:13])
}

// briefOr is brief of an id that may be missing.
func briefOr[T ~string](id *T, otherwise string) string {
	if id == nil {
		return otherwise
	}
	return brief(*id)
}

func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// line writes one line to stdout, safe for a terminal.
func (b *bench) line(format string, args ...any) error {
	_, err := io.WriteString(b.stdout, painter(b.stdout).plain(fmt.Sprintf(format, args...))+"\n")
	return err
}

// ids completes the ids of some kinds.
func (a *app) ids(kinds ...tasks.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completeIDs(cmd, prefix, kinds...), cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) completeIDs(cmd *cobra.Command, prefix string, kinds ...tasks.Kind) (found []cobra.Completion) {
	if a.settings.load(cmd, func(string) {}) != nil {
		return nil
	}
	all := a.installation(nil)
	defer all.Close()
	m, err := all.Work(cmd.Context())
	if err != nil {
		return nil // nobody reads an error while typing
	}
	for _, kind := range kinds {
		named, _ := m.IDs(cmd.Context(), kind, prefix)
		for _, n := range named {
			id := n.ID
			if kind == tasks.KindProject {
				id = n.Name
			}
			found = append(found, cobra.CompletionWithDesc(id, strings.Join(strings.Fields(n.Name), " ")))
		}
	}
	return slices.Compact(found)
}

// jsonFlag declares --json.
func jsonFlag(cmd *cobra.Command, asJSON *bool, tool string) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print the answer of "+tool+" as JSON")
}
