package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func tasksPullCommand(a *app) *cobra.Command {
	var q tasks.PullQuery
	cmd := &cobra.Command{
		Use:   "pr ID",
		Short: "Push an attempt's branch and open a pull request",
		Long: "Push an attempt's branch and open a pull request in each repository that the attempt changed. The\n" +
			"command uses gh, glab or tea if installed, and otherwise the forge's API with a token from GITHUB_TOKEN,\n" +
			"GITLAB_TOKEN or GITEA_TOKEN, or from git's credential helpers. If you run it again, it pushes new\n" +
			"commits and shows the results of checks and reviews. If a pull request was merged, it marks the task as\n" +
			"done.",
		Example: "  deskhand tasks pr 0197f3a4 --draft\n  deskhand tasks pr 0197f3a4 --dry-run",
	}
	f := cmd.Flags()
	f.BoolVar(&q.Draft, "draft", false, "open the pull request as a draft")
	f.StringVar(&q.Title, "title", "", "title (default: the task's)")
	f.StringVar(&q.Body, "body", "", "description (default: the agent's final message)")
	f.StringVar(&q.Into, "into", "", "target branch (default: the attempt's)")
	f.StringVar(&q.Remote, "remote", "", "remote to push to (default: origin)")
	allowSecrets(f, &q.Secrets.All)
	dryRun(f, &q.DryRun)
	return a.onAttempt(cmd, doneAsJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.OpenPulls(ctx, args[0], q)
	})
}
