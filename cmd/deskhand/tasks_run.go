package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

func tasksRunCommand(a *app) *cobra.Command {
	var agent, variant string
	var detach bool
	cmd := &cobra.Command{
		Use:   "run PROMPT",
		Short: "Let an agent do something in this repository, and follow it to the end",
		Long: "Let an agent do something in the git repository of this folder, and follow it to the end. The project is made\n" +
			"if the repository has none. Ctrl-C leaves the agent running. At the end you choose what becomes of its work.",
		Example: "  deskhand tasks run 'Round prices to cents, with a test'\n" +
			"  deskhand tasks run --agent codex - < plan.md",
		Args: arguments(1, 1000, "a prompt"),
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := a.textOf(strings.Join(args, " "))
			if err != nil {
				return err
			}
			if strings.TrimSpace(prompt) == "" {
				return misuse("the prompt is empty", "deskhand tasks run 'What to do'")
			}
			return a.withBench(cmd.Context(), false, func(b *bench) error { return b.run(cmd.Context(), prompt, agent, variant, detach) })
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&agent, "agent", "e", "", "executor to run (default: the first one that is installed)")
	_ = cmd.RegisterFlagCompletionFunc("agent", a.executorNames) // the flag is there
	flags.StringVar(&variant, "variant", "", "variant of the executor")
	flags.BoolVarP(&detach, "detach", "d", false, "start it, and do not follow")
	return cmd
}

// preferred are the executors that run takes if none is named, best first: over
// ACP an agent asks in the inbox before it acts.
var preferred = []string{"claude", "codex", "opencode", "gemini", "claude-stream", "codex-stream", "opencode-stream", "gemini-stream"}

func (b *bench) run(ctx context.Context, prompt, agent, variant string, detach bool) error {
	if agent == "" {
		var err error
		if agent, err = b.installed(ctx); err != nil {
			return err
		}
	}
	project, repo, err := b.manager.ProjectAt(ctx, ".")
	if err != nil {
		return err
	}
	title, rest := splitPrompt(prompt)
	task, err := b.manager.CreateTask(ctx, tasks.NewTask{ProjectID: project.ID, Title: title, Description: rest})
	if err != nil {
		return err
	}
	started, err := b.manager.Start(ctx, tasks.StartRequest{TaskID: task.ID, Executor: agent, Variant: variant, Prompt: prompt, Repos: []tasks.RepoTarget{{RepoID: repo.ID}}})
	if err != nil {
		return err
	}
	id := contract.UUID(started.AttemptID)
	b.tell(fmt.Sprintf("%s works on attempt %s, branch %s; Ctrl-C leaves it running", agent, brief(id), started.Branch))
	if detach {
		return b.line("%s", started.AttemptID)
	}
	err = b.followToEnd(ctx, started.AttemptID)
	if ctx.Err() != nil {
		b.tell(fmt.Sprintf("it goes on: deskhand tasks logs %s --follow, or deskhand tasks stop %s", brief(id), brief(id)))
		return nil
	}
	if err != nil || !onTerminal(b.stdin) || !onTerminal(b.stderr) {
		return err
	}
	return b.whatNow(ctx, started.AttemptID)
}

// installed is the executor that run takes.
func (b *bench) installed(ctx context.Context) (string, error) {
	all, err := b.manager.Executors(ctx)
	if err != nil {
		return "", err
	}
	ready := map[string]bool{}
	for _, e := range all {
		ready[e.ID] = e.Missing == ""
	}
	for _, id := range preferred {
		if ready[id] {
			return id, nil
		}
	}
	for _, e := range all { // one of the user's own
		if e.Missing == "" && e.Protocol != "fake" {
			return e.ID, nil
		}
	}
	return "", fault.New("no_executor", "no coding agent is installed", "deskhand tasks executors says how to install one; --agent names one")
}

// splitPrompt makes a task of a prompt: its first line is the title.
func splitPrompt(prompt string) (title, rest string) {
	const most = 100 // characters of a title
	title, rest, _ = strings.Cut(strings.TrimSpace(prompt), "\n")
	if short := textutil.Shorten(title, most); short != title {
		return short, prompt
	}
	if strings.TrimSpace(rest) == "" {
		return title, ""
	}
	return title, prompt
}

// whatNow asks what becomes of the work, until that is settled.
func (b *bench) whatNow(ctx context.Context, id string) error {
	in := bufio.NewReader(b.stdin)
	ask := func(text string) (string, bool) {
		fmt.Fprint(b.stderr, text)
		line, err := in.ReadString('\n')
		return strings.TrimSpace(line), err == nil || line != ""
	}
	for {
		choice, ok := ask("\n[l]and  [d]iff  [s]ay  [x] discard  [q]uit: ")
		if !ok || choice == "q" || choice == "" {
			return b.line("\nIt stays as it is: deskhand tasks show %s", brief(contract.UUID(id)))
		}
		settled, err := false, error(nil)
		switch choice {
		case "l":
			settled, err = true, b.land(ctx, id, tasks.LandRequest{How: worktree.Merge})
		case "d":
			err = b.diff(ctx, id, nil, diffFlags{})
		case "s":
			if text, ok := ask("say: "); ok && text != "" {
				if _, err = b.call(ctx, "follow_up", map[string]any{"action": string(tasks.Send), "attempt_id": id, "prompt": text}, &work.FollowUp{}); err == nil {
					err = b.followToEnd(ctx, id)
				}
			}
		case "x":
			settled, err = true, b.discard(ctx, id, true, false)
		}
		if ctx.Err() != nil || err == nil && settled {
			return err
		}
		if f := fault.Of(err); f != nil {
			b.tell(b.worded(err).Error())
			if w := fault.Of(b.worded(err)); w.Hint != "" {
				b.tell(w.Hint)
			}
		} else if err != nil {
			return err
		}
	}
}
