package land

import (
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

type openPullRequestIn struct {
	ID     contract.UUID `json:"attempt_id" required:"true" doc:"ID of the attempt to open a pull request for, from list_task_attempts. It must not be running."`
	Draft  bool          `json:"draft" default:"false" doc:"Open it as a draft. Default false."`
	Title  string        `json:"title" visible:"true" max:"500" doc:"Title, at most 500 characters. Default: the task's."`
	Body   string        `json:"body" visible:"true" max:"100000" doc:"Description, at most 100000 characters. Default: the agent's final message."`
	DryRun bool          `json:"dry_run" default:"false" doc:"Only report what would be pushed where; no person is asked. Default false."`
}

// PullRequests is the result of open_pull_request.
type PullRequests struct {
	Outcome
	AttemptID contract.UUID `json:"attempt_id" doc:"The requested attempt."`
	Branch    string        `json:"workspace_branch" doc:"The attempt's branch, which is pushed."`
	Pulls     []PullRequest `json:"pull_requests" doc:"One for each repository that the attempt has changed."`
}

// PullRequest is the pull request of one repository.
type PullRequest struct {
	Repo   string  `json:"repo_name" doc:"Name of the repository."`
	Remote string  `json:"remote" doc:"Address of the remote."`
	Target string  `json:"target_branch" doc:"Target branch."`
	Number *int    `json:"number" doc:"Its number on the forge. Null if it was not opened."`
	URL    *string `json:"url" doc:"Its page. Null if it was not opened."`
	State  *string `json:"state" enum:"open,merged,closed" doc:"Its state. Null if it was not opened."`
}

func (o Options) openPullRequest() contract.Tool {
	return work.Define(o.Work, work.Described{
		Name: "open_pull_request", Title: "Open a pull request", Additive: true, Idempotent: true,
		UseWhen: "an attempt's work should be reviewed on GitHub, GitLab or Gitea. Its branch is pushed; an open pull request gets the new commits. The person is asked first.",
		Next:    "tell the user the url; if status is waiting, the same call later. When the pull request is merged, the task's status in get_task becomes done.",
		Avoid:   "land_attempt for the same attempt; opening a pull request that the user has not asked for.",
	}, func(ctx context.Context, caller contract.Caller, in openPullRequestIn) (out PullRequests, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		about, ask, err := m.MayLand(ctx, string(in.ID))
		if err != nil {
			return out, err
		}
		q := tasks.PullQuery{AttemptID: string(in.ID), Draft: in.Draft, Title: in.Title, Body: in.Body}
		dry := q
		dry.DryRun, dry.Save = true, !in.DryRun
		would, err := m.OpenPull(ctx, dry)
		if err != nil {
			return out, err
		}
		if out = pullsOf(would); in.DryRun {
			out.Outcome = o.plan("open_pull_request")
			return out, nil
		}
		outcome := Outcome{Status: done}
		if ask {
			var ok bool
			if outcome, ok, err = o.permitted(ctx, caller, about, pullQuestion(would, in.Draft)); err != nil || !ok {
				out.Outcome = outcome
				return out, err
			}
		}
		q.Plan = would.Plan
		opened, err := m.OpenPull(ctx, q)
		if err != nil {
			return out, err
		}
		out = pullsOf(opened)
		out.Outcome = outcome
		return out, nil
	})
}

func pullQuestion(p tasks.Pulled, draft bool) question {
	kind := "pull request"
	if draft {
		kind = "draft pull request"
	}
	q := question{tool: "open_pull_request", does: "Push", heading: "The pull request's description:", words: p.Body}
	for _, pr := range p.Requests {
		q.facts = append(q.facts, fmt.Sprintf("%s: push %s at %.12s to %s", pr.Repo, pr.Branch, pr.Head, pr.Remote))
		if pr.Pull.Number > 0 {
			q.facts = append(q.facts, fmt.Sprintf("update the open pull request #%d", pr.Pull.Number))
			continue
		}
		q.facts = append(q.facts, fmt.Sprintf("open a %s for %s: %q", kind, pr.Target, pr.Title))
	}
	return q
}

func pullsOf(p tasks.Pulled) PullRequests {
	out := PullRequests{AttemptID: contract.UUID(p.AttemptID), Branch: p.Branch, Pulls: []PullRequest{}}
	for _, pr := range p.Requests {
		one := PullRequest{Repo: pr.Repo, Remote: pr.Remote, Target: pr.Target}
		if pr.Pull.Number > 0 {
			one.Number, one.URL, one.State = &pr.Pull.Number, textOrNull(pr.Pull.URL), textOrNull(string(pr.Pull.State))
		}
		out.Pulls = append(out.Pulls, one)
	}
	return out
}
