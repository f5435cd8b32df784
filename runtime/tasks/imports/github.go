package imports

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// issue is an issue as gh and the REST API return it. They name its URL differently.
type issue struct {
	Number int             `json:"number"`
	Title  string          `json:"title"`
	Body   string          `json:"body"`
	State  string          `json:"state"`
	URL    string          `json:"url"`
	Page   string          `json:"html_url"`
	Pull   json.RawMessage `json:"pull_request"`
	Labels []label         `json:"labels"`
}

// label is a label's name. GitHub sends an object with the name, or only the name.
type label string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *label) UnmarshalJSON(data []byte) error {
	var whole struct{ Name label }
	if json.Unmarshal(data, &whole) == nil {
		*l = whole.Name
		return nil
	}
	return json.Unmarshal(data, (*string)(l))
}

func itemsOf(host, repo string, issues []issue) (items []Item) {
	for _, i := range issues {
		if i.Number <= 0 || len(i.Pull) > 0 {
			continue
		}
		var p Plan
		for _, l := range i.Labels {
			p.Labels = append(p.Labels, string(l))
		}
		items = append(items, Item{Plan: p, Key: fmt.Sprintf("%s/%s#%d", host, strings.ToLower(repo), i.Number), Title: i.Title,
			Description: from(i.Body, fmt.Sprintf("https://%s/%s/issues/%d", host, repo, i.Number)), Done: strings.EqualFold(i.State, "closed")})
	}
	return items
}

// gitHub reads the issues of a repository: with gh, or else over the REST API. host is
// empty for github.com.
func (s Source) gitHub(ctx context.Context, host, owner, name string) ([]Item, error) {
	host = cmp.Or(strings.ToLower(host), "github.com")
	repo := owner + "/" + name
	var issues []issue
	var err error
	if s.Program != "" {
		issues, err = s.gh(ctx, host, repo)
	} else {
		issues, err = s.rest(ctx, host, repo)
	}
	if err != nil {
		return nil, err
	}
	return s.kept(itemsOf(host, repo, issues), nil)
}

// readTime bounds the reading of a repository's issues.
const readTime = 2 * time.Minute

func (s Source) gh(ctx context.Context, host, repo string) (issues []issue, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Program, "issue", "list", "--repo", host+"/"+repo, "--state", s.state(), "--limit", fmt.Sprint(maxItems), "--json", "number,title,body,state,url,labels")
	var said textutil.Tail
	said.Max = 4 << 10
	cmd.Stderr, cmd.WaitDelay = &said, time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fault.New(Unreadable, fmt.Sprintf("cannot start gh: %v", err), "")
	}
	data, err := io.ReadAll(io.LimitReader(out, 4*maxFile))
	if len(data) >= 4*maxFile {
		cmd.Process.Kill()
	}
	if ended := cmd.Wait(); err == nil {
		err = ended
	}
	if err != nil || json.Unmarshal(data, &issues) != nil {
		return nil, fault.New(Unreadable, fmt.Sprintf("gh cannot list the issues of %s: %s", repo, cmp.Or(said.LastLine(), fmt.Sprint(err))), "run gh auth status")
	}
	return issues, nil
}

func (s Source) state() string {
	if s.Closed {
		return "all"
	}
	return "open"
}

// rest reads the issues over GitHub's REST API, version 2022-11-28.
func (s Source) rest(ctx context.Context, host, repo string) (issues []issue, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	base := "https://" + host + "/api/v3"
	if host == "github.com" {
		base = "https://api.github.com"
	}
	for page := 1; ; page++ {
		more, err := s.restPage(ctx, fmt.Sprintf("%s/repos/%s/issues?state=%s&per_page=100&sort=created&direction=asc&page=%d", base, repo, s.state(), page), host)
		if err != nil {
			return nil, err
		}
		issues = append(issues, more...)
		if len(more) < 100 {
			return issues, nil
		}
		if len(issues) > 4*maxItems { // pull requests are among them
			return nil, tooMuch(repo, "too many issues")
		}
	}
}

func (s Source) restPage(ctx context.Context, url, host string) (issues []issue, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fault.New(Unreadable, url+" is not an address", "")
	}
	r.Header.Set("Accept", "application/vnd.github+json")
	r.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	r.Header.Set("User-Agent", "deskhand")
	if s.Token != nil {
		token, err := s.Token(ctx, host)
		if err != nil {
			return nil, err
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
	}
	client := s.Client
	if client == nil {
		client = &http.Client{Timeout: time.Minute} // it sends the token to no other host
	}
	answer, err := client.Do(r)
	if err != nil {
		f := fault.New(Unreadable, fmt.Sprintf("%s does not answer: %v", host, err), "retry when it can be reached")
		f.Retryable = true
		return nil, f
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxFile+1))
	if err != nil || len(data) > maxFile {
		return nil, tooMuch(host, "an answer of more than 16 MiB")
	}
	if answer.StatusCode != http.StatusOK {
		var said struct{ Message string }
		json.Unmarshal(data, &said) // empty if it says nothing
		return nil, fault.New(Unreadable, fmt.Sprintf("%s answered %d: %s", host, answer.StatusCode, textutil.Shorten(textutil.Plain(said.Message), 200)),
			s.refusedHint(host))
	}
	if json.Unmarshal(bytes.TrimSpace(data), &issues) != nil {
		return nil, fault.New(Unreadable, host+" did not return a list of issues", "")
	}
	return issues, nil
}

func (s Source) refusedHint(host string) string {
	hint := "check the name of the repository"
	if s.SignIn != nil {
		hint += "; for a private one, " + s.SignIn(host)
	}
	return hint
}
