package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func tasksPullCommand(a *app) *cobra.Command {
	var q tasks.PullQuery
	var comments bool
	cmd := &cobra.Command{
		Use:   "pr ID",
		Short: "Push an attempt's branch and open a pull request",
		Long: "Push an attempt's branch and open a pull request in each repository that the attempt changed. The\n" +
			"command uses gh, glab or tea if installed, and otherwise the forge's API with a token from GITHUB_TOKEN,\n" +
			"GITLAB_TOKEN or GITEA_TOKEN, from \"deskhand connect HOST\", or from git's credential helpers. If you run it\n" +
			"again, it pushes new commits and shows the results of checks and reviews. If a pull request was merged, it\n" +
			"marks the task as done.\n\n" +
			"With --comments, send the unresolved review comments of the open pull request to the agent, as one message\n" +
			"with file, line and author. Each comment is sent only once.",
		Example: "  deskhand tasks pr 3f9c1a --draft\n  deskhand tasks pr 3f9c1a --dry-run\n  deskhand tasks pr 3f9c1a --comments",
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			for _, other := range []string{"draft", "title", "body", "into", "remote", "allow-secrets"} {
				if err := settings.Exclusive(cmd.Flags(), "comments", other); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&q.Draft, "draft", false, "open the pull request as a draft")
	f.StringVar(&q.Title, "title", "", "title (default: the task's)")
	f.StringVar(&q.Body, "body", "", "description (default: the agent's final message)")
	f.StringVar(&q.Into, "into", "", "target branch (default: the attempt's)")
	f.StringVar(&q.Remote, "remote", "", "remote to push to (default: origin)")
	f.BoolVar(&comments, "comments", false, "send the reviewers' unresolved comments to the agent; with --dry-run, only print them")
	allowSecrets(f, &q.Secrets.All)
	dryRun(f, &q.DryRun)
	return a.onAttempt(cmd, doneAsJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		if comments {
			return c.PullComments(ctx, args[0], q.DryRun)
		}
		return c.OpenPulls(ctx, args[0], q)
	})
}
