package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

type startFlags struct {
	executor, variant, prompt, requestID string
	resume                               string
	repos                                []string
	follow                               bool
}

func tasksStartCommand(a *app) *cobra.Command {
	var f startFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "start TASK --executor NAME",
		Short: "Start an attempt at a task",
		Long: "Start an attempt at a task: an agent on a branch and in a folder of its own. It goes on when this\n" +
			"command has ended; with --follow the command shows the log and ends with the agent, with exit code 1\n" +
			"if the attempt failed.\n\n" +
			"An attempt that waits for a slot runs later, with the environment and settings of this command.\n" +
			"--resume takes over one that waits and that nobody starts, as after a restart of the machine: it runs\n" +
			"with those of this command instead.",
		Args:              arguments(0, 1, "a task"),
		ValidArgsFunction: a.ids(tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if f.resume != "" {
				return a.resumeWaiting(cmd, args, f.resume)
			}
			if len(args) == 0 {
				return misuse("the task is missing", "deskhand tasks ls lists them")
			}
			if f.executor == "" {
				return misuse("--executor is missing", "deskhand tasks executors lists them")
			}
			if f.follow && asJSON {
				return exclusive(cmd.Flags(), "follow", "json")
			}
			if f.prompt, err = a.textOf(f.prompt); err != nil {
				return err
			}
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.start(cmd.Context(), args[0], &f) })
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.executor, "executor", "e", "", "coding agent to run")
	_ = cmd.RegisterFlagCompletionFunc("executor", a.executorNames) // the flag is there
	flags.StringVar(&f.variant, "variant", "", "variant of the executor")
	flags.StringVar(&f.prompt, "prompt", "", "what the agent is told (default: title and description of the task; - reads stdin)")
	flags.StringArrayVar(&f.repos, "repo", nil, "NAME or NAME=BRANCH of a repository to work on (repeat; default: all of the project)")
	flags.StringVar(&f.requestID, "request-id", "", "key of your own: the same one again starts no second attempt")
	flags.BoolVarP(&f.follow, "follow", "f", false, "show the log until the attempt has ended")
	flags.StringVar(&f.resume, "resume", "", "attempt that waits, to be run with this environment and these settings")
	_ = cmd.RegisterFlagCompletionFunc("resume", a.ids(tasks.KindAttempt)) // the flag is there
	jsonFlag(cmd, &asJSON, "start_task_attempt")
	return cmd
}

// resumeWaiting makes an attempt that waits this command's own.
func (a *app) resumeWaiting(cmd *cobra.Command, args []string, prefix string) error {
	for _, other := range []string{"executor", "variant", "prompt", "repo", "request-id", "follow", "json"} {
		if err := exclusive(cmd.Flags(), "resume", other); err != nil {
			return err
		}
	}
	if len(args) > 0 {
		return misuse("--resume takes no task", "deskhand tasks start --resume ID")
	}
	ctx := cmd.Context()
	return a.withBench(ctx, false, func(b *bench) error {
		id, err := b.attempt(ctx, prefix)
		if err != nil {
			return err
		}
		if err := b.manager.Resume(ctx, id); err != nil {
			return err
		}
		return b.line("%s  runs with this environment as soon as a slot is free", brief(id))
	})
}

func (a *app) executorNames(cmd *cobra.Command, _ []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	if a.settings.load(cmd, func(string) {}) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all := a.installation(nil)
	defer all.Close()
	if m, err := all.Work(cmd.Context()); err == nil {
		executors, _ := m.Executors(cmd.Context())
		for _, e := range executors {
			if e.Missing == "" {
				names = append(names, e.ID)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (b *bench) start(ctx context.Context, prefix string, f *startFlags) error {
	id, err := b.task(ctx, prefix)
	if err != nil {
		return err
	}
	task, err := b.manager.Task(ctx, id)
	if err != nil {
		return err
	}
	repos, err := b.repos(ctx, task.ProjectID, f.repos)
	if err != nil {
		return err
	}
	args := withoutEmpty(map[string]any{
		"task_id": id, "executor": f.executor, "variant": f.variant, "prompt": f.prompt, "request_id": f.requestID,
	})
	args["repos"] = repos
	var out work.Started
	return b.show(ctx, "start_task_attempt", args, &out, func() error {
		if !f.follow {
			return b.line("%s  started on branch %s", brief(out.AttemptID), out.Branch)
		}
		b.tell(fmt.Sprintf("attempt %s started on branch %s", brief(out.AttemptID), out.Branch))
		return b.followToEnd(ctx, string(out.AttemptID))
	})
}

// repos chooses repositories of a project by what --repo says.
func (b *bench) repos(ctx context.Context, projectID string, given []string) (chosen []map[string]any, err error) {
	var all work.Repos
	if _, err := b.call(ctx, "list_repos", map[string]any{"project_id": projectID}, &all); err != nil {
		return nil, err
	}
	if len(given) == 0 {
		for _, r := range all.Repos {
			chosen = append(chosen, map[string]any{"repo_id": r.ID})
		}
		return chosen, nil
	}
	for _, one := range given {
		name, branch, _ := strings.Cut(one, "=")
		var id any
		var names []string
		for _, r := range all.Repos {
			if names = append(names, r.Name); r.Name == name {
				id = r.ID
			}
		}
		if id == nil {
			return nil, misuse(fmt.Sprintf("the project has no repository %q", name), "it has "+strings.Join(names, ", "))
		}
		chosen = append(chosen, withoutEmpty(map[string]any{"repo_id": id, "target_branch": branch}))
	}
	return chosen, nil
}

// followToEnd prints the log until nothing runs.
func (b *bench) followToEnd(ctx context.Context, attemptID string) error {
	if err := b.followLogs(ctx, attemptID, "normalized", -1); err != nil {
		return err
	}
	var s work.Status
	if _, err := b.call(ctx, "get_attempt_status", map[string]any{"attempt_id": attemptID}, &s); err != nil {
		return err
	}
	return failedEnd(s)
}

func tasksSayCommand(a *app) *cobra.Command {
	var queue, cancel, follow, asJSON bool
	var variant, requestID string
	cmd := &cobra.Command{
		Use:   "say ID MESSAGE",
		Short: "Tell the agent of an attempt more, in the same conversation",
		Example: "  deskhand tasks say 0197f3a4-5b6c 'Add a test for negative prices' --follow\n" +
			"  deskhand tasks say 0197f3a4-5b6c --queue 'Then update the changelog'\n  deskhand tasks say 0197f3a4-5b6c --cancel",
		Args:              arguments(1, 1000, "an attempt or a task, and a message"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, pair := range [][2]string{{"queue", "cancel"}, {"follow", "queue"}, {"follow", "cancel"}, {"follow", "json"}} {
				if err := exclusive(cmd.Flags(), pair[0], pair[1]); err != nil {
					return err
				}
			}
			message, err := a.textOf(strings.Join(args[1:], " "))
			if err != nil {
				return err
			}
			action := tasks.Send
			switch {
			case cancel && message != "":
				return misuse("--cancel takes no message", "leave one of them out")
			case cancel:
				action = tasks.Cancel
			case strings.TrimSpace(message) == "":
				return misuse("the message is missing", "deskhand tasks say ID MESSAGE; - reads it from stdin")
			case queue:
				action = tasks.Queue
			}
			given := map[string]any{"action": string(action), "prompt": message, "variant": variant, "request_id": requestID}
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.say(cmd.Context(), args[0], given, follow) })
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&queue, "queue", false, "say it when the agent has ended well; at once if it does not run")
	flags.BoolVar(&cancel, "cancel", false, "take back the message that is queued")
	flags.StringVar(&variant, "variant", "", "variant of the executor (default: as before)")
	flags.StringVar(&requestID, "request-id", "", "key of your own: the same one again says nothing twice")
	flags.BoolVarP(&follow, "follow", "f", false, "show the log until the attempt has ended")
	jsonFlag(cmd, &asJSON, "follow_up")
	return cmd
}

func (b *bench) say(ctx context.Context, prefix string, given map[string]any, follow bool) error {
	id, err := b.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	given["attempt_id"] = id
	var out work.FollowUp
	return b.show(ctx, "follow_up", withoutEmpty(given), &out, func() error {
		switch {
		case follow:
			return b.followToEnd(ctx, id)
		case out.Action == string(tasks.Cancel):
			return b.line("%s  nothing is queued now", brief(id))
		case out.Status == "queued" && out.ProcessID == nil:
			return b.line("%s  queued until the agent has ended", brief(id))
		}
		return b.line("%s  said", brief(id))
	})
}

func tasksStopCommand(a *app) *cobra.Command {
	var force, asJSON bool
	cmd := &cobra.Command{
		Use:               "stop ID",
		Short:             "Stop what runs in an attempt; its changes stay",
		Args:              arguments(1, 1, "an attempt or a task"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error {
				id, err := b.attempt(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				var out work.Stopped
				return b.show(cmd.Context(), "stop_attempt", map[string]any{"attempt_id": id, "force": force}, &out, func() error {
					if !out.Stopped {
						return b.line("%s  nothing runs, the attempt is %s", brief(out.AttemptID), out.State)
					}
					return b.line("%s  stopped", brief(out.AttemptID))
				})
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "kill it at once")
	jsonFlag(cmd, &asJSON, "stop_attempt")
	return cmd
}

// noSession says that an attempt has no conversation yet.
func noSession(err error) bool {
	f := fault.Of(err)
	return f != nil && f.Code == tasks.NoSession
}
