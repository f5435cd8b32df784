package attempts

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/surface/terminal"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// preferred lists the executors that run picks from if no executor is named, best
// first. ACP agents come first because they ask in the inbox before acting.
var preferred = []string{"claude", "codex", "opencode", "gemini", "claude-stream", "codex-stream", "opencode-stream", "gemini-stream"}

// Run starts an agent with a prompt in the working directory's repository, and follows it
// to the end unless detach is set. An empty agent means the first installed one.
func (c *Command) Run(ctx context.Context, prompt, agent, variant string, images []string, detach bool) error {
	if strings.TrimSpace(prompt) == "" {
		return fault.Misuse("the prompt is empty", "pass a prompt: deskhand tasks run 'Round prices to cents'")
	}
	agent, err := c.Executor(ctx, agent, "--agent")
	if err != nil {
		return err
	}
	project, repo, err := c.Manager.ProjectAt(ctx, ".")
	if f := fault.Of(err); f != nil && f.Code == worktree.NoCommits {
		if err = worktree.FirstCommit(ctx, "."); err == nil {
			c.Tell("this repository was empty: created its first commit, which is empty too")
			project, repo, err = c.Manager.ProjectAt(ctx, ".")
		}
	}
	if err != nil {
		return err
	}
	title, rest := splitPrompt(prompt)
	if prompt, err = c.WithImages(ctx, prompt, images); err != nil {
		return err
	}
	task, err := c.Manager.CreateTask(ctx, tasks.NewTask{ProjectID: project.ID, Title: title, Description: rest})
	if err != nil {
		return err
	}
	started, err := c.Manager.Start(ctx, tasks.StartRequest{TaskID: task.ID, Executor: agent, Variant: variant, Prompt: prompt, Repos: []tasks.RepoTarget{{RepoID: repo.ID}}})
	if err != nil {
		return err
	}
	id := contract.UUID(started.AttemptID)
	c.Tell(fmt.Sprintf("%s is working on attempt %s, branch %s; it keeps running after Ctrl-C", agent, brief(id), started.Branch))
	if detach {
		return c.Line("%s", started.AttemptID)
	}
	err = c.followToEnd(ctx, started.AttemptID)
	if ctx.Err() != nil {
		c.tellRunning(id)
		return nil
	}
	if !console.OnTerminal(c.Stdin) || !console.OnTerminal(c.Stderr) || err != nil && fault.Of(err) == nil {
		return err
	}
	if err != nil {
		c.tellFault(err)
	}
	return c.whatNow(ctx, started.AttemptID)
}

// tellRunning tells the person, who has interrupted the command, what goes on.
func (c *Command) tellRunning(id contract.UUID) {
	c.Tell(fmt.Sprintf("the agent is still running; follow it with \"deskhand tasks logs %s --follow\", or stop it: deskhand tasks stop %s", brief(id), brief(id)))
}

// tellFault prints an error that does not end the command.
func (c *Command) tellFault(err error) {
	worded := c.Worded(err)
	c.Tell(worded.Error())
	if f := fault.Of(worded); f.Hint != "" {
		fmt.Fprintf(c.Stderr, "hint: %s\n", console.PainterFor(c.Stderr).Plain(f.Hint))
	}
}

// noExecutor is the code of the fault that no agent is installed.
const noExecutor = "no_executor"

// installed returns the executor that run uses if no executor is named.
func (c *Command) installed(ctx context.Context) (string, error) {
	all, err := c.Manager.Executors(ctx)
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
	for _, e := range all { // an executor from the user's settings
		if e.Missing == "" && e.Protocol != "fake" {
			return e.ID, nil
		}
	}
	return "", fault.New(noExecutor, "no coding agent is installed", "list them and how to install them: deskhand tasks executors")
}

// splitPrompt splits a prompt into a task's title, which is the first line,
// and its description.
func splitPrompt(prompt string) (title, rest string) {
	const most = 100 // maximum title length in characters
	title, rest, _ = strings.Cut(strings.TrimSpace(prompt), "\n")
	if short := textutil.Shorten(title, most); short != title {
		return short, prompt
	}
	if strings.TrimSpace(rest) == "" {
		return title, ""
	}
	return title, prompt
}

// whatNow asks what to do with the work, until the person lands, discards or keeps it.
func (c *Command) whatNow(ctx context.Context, id string) error {
	acts := map[string]terminal.Act{"l": terminal.ActLand, "p": terminal.ActPull, "s": terminal.ActSay, "x": terminal.ActDiscard}
	for {
		choice, err := c.Reply(ctx, "\n[l]and  [p]r  [d]iff  [s]ay  [x] discard  [q]uit: ")
		if err != nil || choice == "q" || choice == "" {
			return c.Line("\nThe attempt is unchanged; show it: deskhand tasks show %s", brief(contract.UUID(id)))
		}
		o := terminal.Order{Act: acts[choice], Attempt: id}
		if o.Act == "" && choice != "d" {
			c.Tell(fmt.Sprintf("%q is none of the letters in brackets", choice))
			continue
		}
		if o.Act == terminal.ActSay {
			if o.Text, err = c.Reply(ctx, "say: "); err != nil || o.Text == "" {
				continue
			}
		}
		if choice == "d" {
			err = c.Diff(ctx, id, nil, Shown{})
		} else {
			if err = c.act(ctx, o); err == nil && o.Act == terminal.ActSay {
				if err = c.followToEnd(ctx, id); ctx.Err() != nil {
					c.tellRunning(contract.UUID(id))
					return nil
				}
			}
		}
		if ctx.Err() != nil || err == nil && (o.Act == terminal.ActLand || o.Act == terminal.ActDiscard) {
			return err
		}
		if fault.Of(err) != nil {
			c.tellFault(err)
		} else if err != nil {
			return err
		}
	}
}
