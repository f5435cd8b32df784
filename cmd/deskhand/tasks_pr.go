package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func tasksPullCommand(a *app) *cobra.Command {
	var q tasks.PullQuery
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pr ID",
		Short: "Push the branch of an attempt and open a pull request",
		Long: "Push the branch of an attempt and open a pull request, in each of its repositories in which it has changed\n" +
			"something: through gh, glab or tea if it is installed, else through the forge's API with the token of\n" +
			"GITHUB_TOKEN, GITLAB_TOKEN or GITEA_TOKEN, or of git's credential helpers. Done again, it pushes what is new\n" +
			"and shows what checks and reviews say. A pull request that is merged marks the task as done.",
		Example:           "  deskhand tasks pr 0197f3a4 --draft\n  deskhand tasks pr 0197f3a4 --dry-run",
		Args:              arguments(1, 1, "an attempt or a task"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.pull(cmd.Context(), args[0], q) })
		},
	}
	f := cmd.Flags()
	f.BoolVar(&q.Draft, "draft", false, "open it as a draft")
	f.StringVar(&q.Title, "title", "", "title (default: the task's)")
	f.StringVar(&q.Body, "body", "", "text (default: what the agent said)")
	f.StringVar(&q.Into, "into", "", "another branch than the attempt's target")
	f.StringVar(&q.Remote, "remote", "", "remote to push to (default: origin)")
	allowSecrets(cmd, &q.Secrets.All)
	landFlags(cmd, &q.DryRun, &asJSON)
	return cmd
}

// pullAnswer is what pr prints as JSON.
type pullAnswer struct {
	AttemptID contract.UUID `json:"attempt_id"`
	Branch    string        `json:"workspace_branch"`
	DryRun    bool          `json:"dry_run"`
	Pulls     []onePull     `json:"pull_requests"`
	Secrets   []string      `json:"secrets,omitempty"`
}

type onePull struct {
	Repo   string `json:"repo_name"`
	Remote string `json:"remote"`
	Target string `json:"target_branch"`
	Title  string `json:"title"`
	Head   string `json:"head"`
	forge.Pull
}

// pull opens the pull requests of an attempt, or shows those that were merged or
// closed.
func (b *bench) pull(ctx context.Context, prefix string, q tasks.PullQuery) error {
	id, err := b.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	q.AttemptID = id
	if !q.DryRun {
		if err := b.manager.LookAtPulls(ctx, id, 0); err != nil {
			b.tell(err.Error())
		}
	}
	s, err := b.manager.Status(ctx, id)
	if err != nil {
		return err
	}
	if s.Work.State == tasks.LandedWork && len(s.Pulls) > 0 {
		return b.pulled(tasks.Pulled{AttemptID: id, Branch: s.Branch, Requests: s.Pulls}, false)
	}
	var done tasks.Pulled
	err = b.allowing(ctx, &q.Secrets, q.DryRun, func() (err error) {
		done, err = b.manager.OpenPull(ctx, q)
		return err
	})
	if err != nil {
		return err
	}
	return b.pulled(done, q.DryRun)
}

func (b *bench) pulled(done tasks.Pulled, dryRun bool) error {
	out := pullAnswer{contract.UUID(done.AttemptID), done.Branch, dryRun, []onePull{}, done.Secrets}
	for _, pr := range done.Requests {
		out.Pulls = append(out.Pulls, onePull{pr.Repo, pr.Remote, pr.Target, pr.Title, pr.Head, pr.Pull})
	}
	if b.asJSON {
		return b.json(out)
	}
	b.tellSecrets(out.Secrets)
	var text strings.Builder
	for _, pr := range done.Requests {
		if dryRun {
			fmt.Fprintf(&text, "%s  would push %s to %s and open %q for %s\n", pr.Repo, pr.Branch, pr.Remote, pr.Title, pr.Target)
			continue
		}
		fmt.Fprintf(&text, "%s  %s\n", pr.Repo, pullWord(pr))
	}
	if dryRun && done.Body != "" {
		fmt.Fprintf(&text, "\n%s\n", done.Body)
	}
	return b.line("%s", strings.TrimSuffix(text.String(), "\n"))
}

// pullWord is a pull request on a line.
func pullWord(pr tasks.PullRequest) string { return pr.Words() + "  " + pr.Pull.URL }

// pullLines are the pull requests of an attempt, a line each.
func (b *bench) pullLines(ctx context.Context, id string) string {
	pulls, err := b.manager.Pulls(ctx, id)
	if err != nil {
		return ""
	}
	var text strings.Builder
	for _, pr := range pulls {
		if pr.Pull.Number > 0 {
			fmt.Fprintf(&text, "pull      %s\n", pullWord(pr))
		}
	}
	return text.String()
}
