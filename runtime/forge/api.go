package forge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// api is the REST API for one repository.
type api interface {
	open(context.Context, Request) (Pull, error)
	look(ctx context.Context, number int) (Pull, error)
	comments(ctx context.Context, number int) ([]Comment, error)
}

// TokenNames lists the environment variables that may hold a token, by kind of forge.
var TokenNames = map[Kind][]string{
	GitHub: {"GH_TOKEN", "GITHUB_TOKEN"}, GitLab: {"GITLAB_TOKEN"}, Gitea: {"GITEA_TOKEN", "FORGEJO_TOKEN"},
}

func (c *Client) api(ctx context.Context, p Place) (api, error) {
	token := ""
	if c.Token != nil {
		var err error
		if token, err = c.Token(ctx, p); err != nil {
			return nil, err
		}
	}
	if token == "" {
		missing := "there is no token for " + cmp.Or(p.Host, p.API)
		switch {
		case p.Own: // no program is used
			missing = "there is no token for " + p.API
		case c.program(p) != "":
			missing += fmt.Sprintf(", and %s cannot show pull requests and their comments", programs[p.Kind])
		default:
			missing += fmt.Sprintf(", and %s is not installed", programs[p.Kind])
		}
		return nil, fault.New(ForgeNoToken, missing, p.HowToSignIn())
	}
	w := wire{place: p, client: c.http(), token: token}
	switch p.Kind {
	case GitHub:
		w.header = http.Header{"Authorization": {"Bearer " + token}, "Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"}}
		return gitHub{w}, nil
	case GitLab:
		w.header = http.Header{"Private-Token": {token}}
		return gitLab{w}, nil
	}
	w.header = http.Header{"Authorization": {"token " + token}}
	return gitea{w}, nil
}

// wire sends requests about one repository.
type wire struct {
	place  Place
	client *http.Client
	header http.Header
	token  string
}

// mostAnswer is the maximum size of an answer in bytes.
const mostAnswer = 8 << 20

// errExists means that a pull request already exists.
var errExists = errors.New("a pull request already exists")

// call sends a request with the body in, if that is not nil, and decodes the
// answer into out.
func (w wire) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, w.place.API+path, body)
	if err != nil {
		return fault.New(ForgeUnknown, fmt.Sprintf("%s is not a valid address", w.place.API), "fix the forge's URL")
	}
	r.Header = w.header.Clone()
	r.Header.Set("User-Agent", "deskhand")
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := w.client.Do(r)
	if err != nil {
		f := fault.New(ForgeAway, fmt.Sprintf("%s does not respond: %v", w.place.API, cause(err)), "retry when the server can be reached")
		f.Retryable = true
		return f
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("read the answer from %s: %w", w.place.API, err)
	}
	switch {
	case answer.StatusCode >= 200 && answer.StatusCode < 300:
		if err := json.Unmarshal(raw, out); err != nil {
			return fault.New(ForgeRefused, fmt.Sprintf("%s %s did not return JSON", method, w.place.API+path), "check whether this is the URL of its API")
		}
		return nil
	case method == http.MethodPost && (answer.StatusCode == http.StatusConflict || answer.StatusCode == http.StatusUnprocessableEntity && strings.Contains(string(raw), "already exists")):
		return errExists
	}
	return w.refused(answer, raw)
}

// cause returns a request's error without the URL, which may be long.
func cause(err error) error {
	if u := new(url.Error); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// refused returns the fault for an error that a forge reports.
func (w wire) refused(answer *http.Response, raw []byte) error {
	var said struct {
		Message any `json:"message"`
		Error   any `json:"error"`
		Errors  any `json:"errors"`
	}
	text := ""
	if json.Unmarshal(raw, &said) == nil {
		for _, part := range []any{said.Message, said.Error, said.Errors} {
			if part != nil {
				text += fmt.Sprintf(" %v", part)
			}
		}
	}
	text = strings.ReplaceAll(textutil.Shorten(textutil.OneLine(strings.TrimSpace(text)), 500), w.token, "[token]")
	hint := "fix the reported problem and retry"
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = "check that the token is valid and has write permission for pull requests in " + w.place.Path
	case http.StatusNotFound:
		hint = "check that the token has access to " + w.place.Path + " and that this name is correct"
	}
	f := fault.New(ForgeRefused, fmt.Sprintf("%s returned %s: %s", w.place.API, answer.Status, cmp.Or(text, "no details")), hint)
	f.Retryable = answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests
	return f
}

// The APIs of GitHub, GitLab and Gitea.

type gitHub struct{ wire }

type gitHubPull struct {
	Number  int    `json:"number"`
	URL     string `json:"html_url"`
	State   string `json:"state"` // open or closed
	Draft   bool   `json:"draft"`
	Merged  bool   `json:"merged"`
	MergeAt string `json:"merged_at"`
	Head    struct {
		SHA string `json:"sha"`
	} `json:"head"`
}

func (p gitHubPull) pull() Pull {
	out := Pull{Number: p.Number, URL: p.URL, State: Closed, Draft: p.Draft}
	switch {
	case p.Merged, p.MergeAt != "":
		out.State = Merged
	case p.State == "open":
		out.State = Open
	}
	return out
}

func (g gitHub) repo() string { return "/repos/" + g.place.Path }

func (g gitHub) open(ctx context.Context, r Request) (Pull, error) {
	var made gitHubPull
	err := g.call(ctx, http.MethodPost, g.repo()+"/pulls", map[string]any{"title": r.Title, "body": r.Body, "head": r.Branch, "base": r.Target, "draft": r.Draft}, &made)
	if !errors.Is(err, errExists) {
		return made.pull(), err
	}
	owner, _, _ := strings.Cut(g.place.Path, "/")
	var all []gitHubPull
	query := url.Values{"head": {owner + ":" + r.Branch}, "state": {"open"}}
	if err := g.call(ctx, http.MethodGet, g.repo()+"/pulls?"+query.Encode(), nil, &all); err != nil || len(all) == 0 {
		return Pull{}, cmp.Or(err, errors.New("the forge reports an existing pull request, but lists none"))
	}
	return all[0].pull(), nil
}

func (g gitHub) look(ctx context.Context, number int) (Pull, error) {
	var found gitHubPull
	at := fmt.Sprintf("%s/pulls/%d", g.repo(), number)
	if err := g.call(ctx, http.MethodGet, at, nil, &found); err != nil {
		return Pull{}, err
	}
	out := found.pull()
	if out.State != Open {
		return out, nil
	}
	var runs struct {
		Runs []struct {
			Status     string `json:"status"`
			Conclusion string `json:"conclusion"`
		} `json:"check_runs"`
	}
	var combined struct {
		State    string `json:"state"`
		Statuses []any  `json:"statuses"`
	}
	if err := g.call(ctx, http.MethodGet, g.repo()+"/commits/"+found.Head.SHA+"/status", nil, &combined); err != nil {
		return out, err
	}
	var words []string
	for page := 1; page <= mostCommentPage; page++ {
		runs.Runs = nil
		if err := g.call(ctx, http.MethodGet, fmt.Sprintf("%s/commits/%s/check-runs?per_page=100&page=%d", g.repo(), found.Head.SHA, page), nil, &runs); err != nil {
			return out, err
		}
		for _, run := range runs.Runs {
			words = append(words, cmp.Or(run.Conclusion, run.Status))
		}
		if len(runs.Runs) < 100 {
			break
		}
	}
	reviews, err := g.reviews(ctx, at, "per_page=100")
	if err != nil {
		return out, err
	}
	if len(combined.Statuses) > 0 {
		words = append(words, combined.State)
	}
	out.Checks, out.Review = checks(words), reviewed(reviews)
	return out, nil
}

// review is a review on GitHub or Gitea.
type review struct {
	User struct {
		Login string `json:"login"`
	} `json:"user"`
	State string `json:"state"`
}

// reviews returns the reviews of a pull request on GitHub or Gitea, oldest first. size
// asks for the largest page.
func (w wire) reviews(ctx context.Context, at, size string) (all []review, err error) {
	for page, full := 1, 0; page <= mostThreadPage; page++ {
		var some []review
		if err := w.call(ctx, http.MethodGet, fmt.Sprintf("%s/reviews?%s&page=%d", at, size, page), nil, &some); err != nil {
			return nil, err
		}
		all = append(all, some...)
		if full = max(full, len(some)); len(some) < full || full == 0 {
			break
		}
	}
	return all, nil
}

// reviewed combines each reviewer's last decision.
func reviewed(all []review) string {
	last := map[string]string{}
	for _, r := range all {
		switch strings.ToUpper(r.State) {
		case "APPROVED":
			last[r.User.Login] = Approved
		case "CHANGES_REQUESTED", "REQUEST_CHANGES":
			last[r.User.Login] = ChangesRequested
		case "DISMISSED":
			delete(last, r.User.Login)
		}
	}
	out := ""
	for _, word := range last {
		if word == ChangesRequested || out == "" {
			out = word
		}
	}
	return out
}

// checks combines the results of several checks.
func checks(words []string) string {
	out := ""
	for _, w := range words {
		now := Pending
		switch strings.ToLower(w) {
		case "success", "neutral", "skipped", "passed":
			now = Passing
		case "failure", "failed", "error", "cancelled", "canceled", "timed_out", "action_required", "startup_failure", "warning":
			now = Failing
		case "":
			continue
		}
		if out == "" || now == Failing || now == Pending && out == Passing {
			out = now
		}
	}
	return out
}

type gitLab struct{ wire }

type gitLabPull struct {
	Number   int    `json:"iid"`
	URL      string `json:"web_url"`
	State    string `json:"state"` // opened, merged, closed or locked
	Draft    bool   `json:"draft"`
	Pipeline *struct {
		Status string `json:"status"`
	} `json:"head_pipeline"`
}

func (p gitLabPull) pull() Pull {
	out := Pull{Number: p.Number, URL: p.URL, State: Open, Draft: p.Draft}
	switch p.State {
	case "merged":
		out.State = Merged
	case "closed":
		out.State = Closed
	}
	if p.Pipeline != nil {
		out.Checks = checks([]string{p.Pipeline.Status})
	}
	return out
}

func (g gitLab) requests() string {
	return "/projects/" + url.PathEscape(g.place.Path) + "/merge_requests"
}

func (g gitLab) open(ctx context.Context, r Request) (Pull, error) {
	title := r.Title
	if r.Draft {
		title = "Draft: " + title
	}
	var made gitLabPull
	err := g.call(ctx, http.MethodPost, g.requests(), map[string]any{"source_branch": r.Branch, "target_branch": r.Target, "title": title, "description": r.Body}, &made)
	if !errors.Is(err, errExists) {
		return made.pull(), err
	}
	var all []gitLabPull
	query := url.Values{"source_branch": {r.Branch}, "state": {"opened"}}
	if err := g.call(ctx, http.MethodGet, g.requests()+"?"+query.Encode(), nil, &all); err != nil || len(all) == 0 {
		return Pull{}, cmp.Or(err, errors.New("the forge reports an existing merge request, but lists none"))
	}
	return all[0].pull(), nil
}

func (g gitLab) look(ctx context.Context, number int) (Pull, error) {
	var found gitLabPull
	at := fmt.Sprintf("%s/%d", g.requests(), number)
	if err := g.call(ctx, http.MethodGet, at, nil, &found); err != nil {
		return Pull{}, err
	}
	out := found.pull()
	if out.State != Open {
		return out, nil
	}
	var approvals struct {
		Approved bool  `json:"approved"`
		By       []any `json:"approved_by"`
	}
	if err := g.call(ctx, http.MethodGet, at+"/approvals", nil, &approvals); err != nil {
		return out, err
	}
	if approvals.Approved && len(approvals.By) > 0 {
		out.Review = Approved
	}
	return out, nil
}

type gitea struct{ wire }

func (g gitea) repo() string { return "/repos/" + g.place.Path }

func (g gitea) open(ctx context.Context, r Request) (Pull, error) {
	title := r.Title
	if r.Draft {
		title = "WIP: " + title
	}
	var made gitHubPull
	err := g.call(ctx, http.MethodPost, g.repo()+"/pulls", map[string]any{"title": title, "body": r.Body, "head": r.Branch, "base": r.Target}, &made)
	if !errors.Is(err, errExists) {
		return made.pull(), err
	}
	for page := 1; page <= mostThreadPage; page++ {
		var all []struct {
			gitHubPull
			From struct {
				Ref string `json:"ref"`
			} `json:"head"`
		}
		if err := g.call(ctx, http.MethodGet, fmt.Sprintf("%s/pulls?state=open&limit=%d&page=%d", g.repo(), pageOfGitea, page), nil, &all); err != nil {
			return Pull{}, err
		}
		for _, one := range all {
			if one.From.Ref == r.Branch {
				return one.pull(), nil
			}
		}
		if len(all) == 0 {
			break
		}
	}
	return Pull{}, errors.New("the forge reports an existing pull request, but lists none")
}

func (g gitea) look(ctx context.Context, number int) (Pull, error) {
	var found gitHubPull
	at := fmt.Sprintf("%s/pulls/%d", g.repo(), number)
	if err := g.call(ctx, http.MethodGet, at, nil, &found); err != nil {
		return Pull{}, err
	}
	out := found.pull()
	if out.State != Open {
		return out, nil
	}
	var combined struct {
		State    string `json:"state"`
		Statuses []any  `json:"statuses"`
	}
	if err := g.call(ctx, http.MethodGet, g.repo()+"/commits/"+found.Head.SHA+"/status", nil, &combined); err != nil {
		return out, err
	}
	reviews, err := g.reviews(ctx, at, fmt.Sprintf("limit=%d", pageOfGitea))
	if err != nil {
		return out, err
	}
	if len(combined.Statuses) > 0 {
		out.Checks = checks([]string{combined.State})
	}
	out.Review = reviewed(reviews)
	return out, nil
}
