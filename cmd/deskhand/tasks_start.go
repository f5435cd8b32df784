package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func tasksRunCommand(a *app) *cobra.Command {
	var agent, variant, prompt string
	var images []string
	var detach bool
	cmd := &cobra.Command{
		Use:   "run PROMPT",
		Short: "Have an agent work in this repository, and follow it until it finishes",
		Long: "Have an agent work in the git repository of this folder, and follow it until it finishes. If the repository has\n" +
			"no project, one is created; if it has neither a commit nor a file, so is an empty first commit. Ctrl-C leaves the\n" +
			"agent running. At the end, you choose what to do with its work.",
		Example: "  deskhand tasks run 'Round prices to cents, with a test'\n" +
			"  deskhand tasks run --agent codex - < plan.md",
		Args: arguments(1, 1000, "a prompt"),
		PreRunE: func(_ *cobra.Command, args []string) (err error) {
			prompt, err = a.TextOf(strings.Join(args, " "))
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&agent, "agent", "e", "", "executor to run (default: the first one that is installed)")
	_ = cmd.RegisterFlagCompletionFunc("agent", a.executorNames) // fails only if the flag does not exist
	flags.StringVar(&variant, "variant", "", "variant of the executor")
	imageFlag(flags, &images)
	flags.BoolVarP(&detach, "detach", "d", false, "start the agent without following it")
	return a.working(cmd, "", func(ctx context.Context, c *attempts.Command, _ []string) error {
		return c.Run(ctx, prompt, agent, variant, images, detach)
	})
}

func tasksStartCommand(a *app) *cobra.Command {
	var f attempts.Start
	var resume string
	cmd := &cobra.Command{
		Use:     "start TASK",
		Example: "  deskhand tasks start newest --follow\n  deskhand tasks start 3f9c1a --executor codex",
		Short:   "Start an attempt at a task",
		Long: "Start an attempt at a task: an agent on its own branch and in its own folder. The agent keeps running\n" +
			"when this command exits. With --follow, the command shows the log until the agent finishes, and its exit\n" +
			"code is 1 if the attempt failed.\n\n" +
			"An attempt that waits for a slot runs later, with this command's environment and settings. If no\n" +
			"runner will start a waiting attempt, for example after a restart of the machine, --resume takes it\n" +
			"over and runs it with this command's environment and settings.",
		Args:              arguments(0, 1, "a task"),
		ValidArgsFunction: a.ids(tasks.KindTask),
		PreRunE: func(cmd *cobra.Command, args []string) (err error) {
			switch {
			case resume != "":
				return resumesAlone(cmd, args)
			case len(args) == 0:
				return misuse("the task is missing", "list the tasks: deskhand tasks ls")
			}
			if err := settings.Exclusive(cmd.Flags(), "follow", "json"); err != nil {
				return err
			}
			f.Prompt, err = a.TextOf(f.Prompt)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.Executor, "executor", "e", "", "coding agent to run (default: the first one that is installed)")
	_ = cmd.RegisterFlagCompletionFunc("executor", a.executorNames) // fails only if the flag does not exist
	flags.StringVar(&f.Variant, "variant", "", "variant of the executor")
	flags.StringVar(&f.Prompt, "prompt", "", "prompt for the agent (default: the task's title and description; - reads stdin)")
	imageFlag(flags, &f.Images)
	flags.StringArrayVar(&f.On, "on", nil, "queue it for any machine with this label that runs deskhand runner (repeatable; any: every machine)")
	flags.StringArrayVar(&f.Repos, "repo", nil, "NAME or NAME=BRANCH of a repository to work on (repeatable; default: all of the project)")
	flags.StringVar(&f.RequestID, "request-id", "", "idempotency key: a retry with the same key does not start a second attempt")
	flags.BoolVarP(&f.Follow, "follow", "f", false, "show the log until the attempt has ended")
	flags.StringVar(&resume, "resume", "", "waiting attempt to run with this command's environment and settings")
	_ = cmd.RegisterFlagCompletionFunc("resume", a.ids(tasks.KindAttempt)) // fails only if the flag does not exist
	return a.working(cmd, answerOf("start_task_attempt"), func(ctx context.Context, c *attempts.Command, args []string) error {
		if resume != "" {
			return c.Resume(ctx, resume)
		}
		return c.Start(ctx, args[0], f)
	})
}

// imageFlag adds the flag that attaches images to a prompt.
func imageFlag(f *pflag.FlagSet, files *[]string) {
	f.StringArrayVar(files, "image", nil, "PNG, JPEG, GIF or WebP file to show the agent (repeatable)")
}

// resumesAlone returns an error for flags and arguments that cannot be combined
// with --resume.
func resumesAlone(cmd *cobra.Command, args []string) error {
	for _, other := range []string{"executor", "variant", "prompt", "image", "repo", "request-id", "follow", "on", "json"} {
		if err := settings.Exclusive(cmd.Flags(), "resume", other); err != nil {
			return err
		}
	}
	if len(args) > 0 {
		return misuse("--resume does not take a task", "pass only the attempt: deskhand tasks start --resume ID")
	}
	return nil
}

func tasksSayCommand(a *app) *cobra.Command {
	var queue, cancel, follow bool
	var variant, requestID string
	var images []string
	var given map[string]any
	cmd := &cobra.Command{
		Use:   "say ID MESSAGE",
		Short: "Send a message to an attempt's agent in the same conversation",
		Example: "  deskhand tasks say 3f9c1a 'Add a test for negative prices' --follow\n" +
			"  deskhand tasks say 3f9c1a --queue 'Then update the changelog'\n  deskhand tasks say 3f9c1a --cancel",
		Args: arguments(1, 1000, "an attempt or a task, and a message"),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			for _, pair := range [][2]string{{"queue", "cancel"}, {"follow", "queue"}, {"follow", "cancel"}, {"follow", "json"}} {
				if err := settings.Exclusive(cmd.Flags(), pair[0], pair[1]); err != nil {
					return err
				}
			}
			message, err := a.TextOf(strings.Join(args[1:], " "))
			if err != nil {
				return err
			}
			action := tasks.Send
			switch {
			case cancel && message != "":
				return misuse("--cancel does not take a message", "omit one of them")
			case cancel:
				action = tasks.Cancel
			case strings.TrimSpace(message) == "":
				return misuse("the message is missing", "pass a message, or - to read it from stdin: deskhand tasks say ID MESSAGE")
			case queue:
				action = tasks.Queue
			}
			given = map[string]any{"action": string(action), "prompt": message, "variant": variant, "request_id": requestID}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&queue, "queue", false, "send the message when the agent has finished, or immediately if it is not running")
	flags.BoolVar(&cancel, "cancel", false, "withdraw the queued message")
	imageFlag(flags, &images)
	flags.StringVar(&variant, "variant", "", "variant of the executor (default: as before)")
	flags.StringVar(&requestID, "request-id", "", "idempotency key: a retry with the same key does not send the message twice")
	flags.BoolVarP(&follow, "follow", "f", false, "show the log until the attempt has ended")
	return a.onAttempt(cmd, answerOf("follow_up"), func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Say(ctx, args[0], given, images, follow)
	})
}

func tasksDevCommand(a *app) *cobra.Command {
	var stop bool
	cmd := &cobra.Command{
		Use:   "dev ID",
		Short: "Run the project's dev server on an attempt's work, on its own port",
		Long: "Run the project's dev server in an attempt's folder, on a free port that it gets in $PORT, and print its\n" +
			"output. It ends with this command, and when the attempt is stopped or its folder is removed.",
		Example: "  deskhand tasks dev newest\n  deskhand tasks dev 3f9c1a --stop",
	}
	cmd.Flags().BoolVar(&stop, "stop", false, "stop the attempt's dev server, whichever process runs it")
	return a.onAttempt(cmd, "", func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Dev(ctx, args[0], stop)
	})
}

func tasksStopCommand(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{Use: "stop ID", Short: "Stop an attempt's running process; its changes stay", Example: "  deskhand tasks stop newest"}
	cmd.Flags().BoolVar(&force, "force", false, "kill the process immediately")
	return a.onAttempt(cmd, answerOf("stop_attempt"), func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.Stop(ctx, args[0], force)
	})
}
