package attempts

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// pullAnswer is the JSON output of pr.
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

// OpenPulls opens an attempt's pull requests, or prints them if the work has already
// landed, or if they were closed and there is no new work.
func (c *Command) OpenPulls(ctx context.Context, prefix string, q tasks.PullQuery) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	q.AttemptID = id
	if !q.DryRun {
		if err := c.Manager.LookAtPulls(ctx, id, 0); err != nil {
			c.Tell(err.Error())
		}
	}
	s, err := c.Manager.Status(ctx, id)
	if err != nil {
		return err
	}
	if s.Work.State == tasks.LandedWork && len(s.Pulls) > 0 {
		return c.pulled(tasks.Pulled{AttemptID: id, Branch: s.Branch, Requests: s.Pulls}, false)
	}
	var done tasks.Pulled
	err = c.allowing(ctx, &q.Secrets, q.DryRun, func() (err error) {
		done, err = c.Manager.OpenPull(ctx, q)
		return err
	})
	if f := fault.Of(err); f != nil && f.Case == tasks.PullClosed {
		c.Tell("the attempt has no new commits; " + f.Hint)
		return c.pulled(tasks.Pulled{AttemptID: id, Branch: s.Branch, Requests: s.Pulls}, false)
	}
	if err != nil {
		return err
	}
	if (q.Title != "" || q.Body != "" || q.Draft) && !q.DryRun {
		for _, was := range s.Pulls {
			if was.Pull.State == forge.Open {
				c.Tell(fmt.Sprintf("#%d was already open: its title, text and draft state are unchanged", was.Pull.Number))
			}
		}
	}
	return c.pulled(done, q.DryRun)
}

func (c *Command) pulled(done tasks.Pulled, dryRun bool) error {
	out := pullAnswer{contract.UUID(done.AttemptID), done.Branch, dryRun, []onePull{}, done.Secrets}
	for _, pr := range done.Requests {
		out.Pulls = append(out.Pulls, onePull{pr.Repo, pr.Remote, pr.Target, pr.Title, pr.Head, pr.Pull})
	}
	if c.AsJSON {
		return c.JSON(out)
	}
	c.tellSecrets(out.Secrets)
	var text strings.Builder
	for _, pr := range done.Requests {
		if dryRun {
			then := fmt.Sprintf("open %q for %s", pr.Title, pr.Target)
			if pr.Pull.Number > 0 {
				then = "update " + pullWord(pr)
			}
			fmt.Fprintf(&text, "%s  would push %s to %s and %s\n", pr.Repo, pr.Branch, pr.Remote, then)
			continue
		}
		fmt.Fprintf(&text, "%s  %s\n", pr.Repo, pullWord(pr))
	}
	if dryRun && done.Body != "" {
		fmt.Fprintf(&text, "\n%s\n", done.Body)
	}
	return c.Line("%s", strings.TrimSuffix(text.String(), "\n"))
}

// pullWord returns one line about a pull request.
func pullWord(pr tasks.PullRequest) string { return pr.Words() + "  " + pr.Pull.URL }

// pullLines returns a line for each of an attempt's pull requests.
func (c *Command) pullLines(ctx context.Context, id string) string {
	pulls, err := c.Manager.Pulls(ctx, id)
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

// commentAnswer is the JSON output of pr --comments.
type commentAnswer struct {
	AttemptID contract.UUID  `json:"attempt_id"`
	DryRun    bool           `json:"dry_run"`
	Comments  []reviewRemark `json:"comments"`
	Left      int            `json:"left"` // comments that did not fit into this message
}

type reviewRemark struct {
	Repo   string `json:"repo_name"`
	ID     string `json:"id"`
	Author string `json:"author"`
	Path   string `json:"path,omitempty"`
	Line   int    `json:"line,omitempty"`
	Text   string `json:"text"`
	URL    string `json:"url,omitempty"`
}

// PullComments sends the review comments of an attempt's pull requests to its agent, or
// only prints them.
func (c *Command) PullComments(ctx context.Context, prefix string, dryRun bool) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	var found []tasks.PullComment
	out := commentAnswer{AttemptID: contract.UUID(id), DryRun: dryRun, Comments: []reviewRemark{}}
	if dryRun {
		found, err = c.Manager.PullComments(ctx, id)
	} else {
		found, out.Left, err = c.Manager.SendPullComments(ctx, id)
	}
	if err != nil {
		return err
	}
	for _, one := range found {
		out.Comments = append(out.Comments, reviewRemark{one.Repo, one.ID, one.Author, one.Path, one.Line, one.Text, one.URL})
	}
	if c.AsJSON {
		return c.JSON(out)
	}
	for _, one := range found {
		where := one.Repo
		if one.Path != "" {
			where += fmt.Sprintf("/%s:%d", one.Path, one.Line)
		}
		if err := c.Line("%s  %s  %s", where, console.OneLine(one.Author), console.OneLine(one.Text)); err != nil {
			return err
		}
	}
	switch {
	case len(found) == 0:
		c.Tell("there are no new review comments")
	case !dryRun:
		c.Tell(fmt.Sprintf("sent %s to the agent", textutil.Count(len(found), "comment")))
	}
	if out.Left > 0 {
		c.Tell(fmt.Sprintf("%s did not fit; run the command again when the agent has ended", textutil.Count(out.Left, "comment")))
	}
	return nil
}
