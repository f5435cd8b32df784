package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// programs maps each forge to its command-line program.
var programs = map[Kind]string{GitHub: "gh", GitLab: "glab", Gitea: "tea"}

// signIn maps each forge to the command with which a person signs in.
var signIn = map[Kind]string{GitHub: "gh auth login", GitLab: "glab auth login", Gitea: "tea login add"}

// program returns the path of a place's program, or "" if it is missing or the place
// has a configured API.
func (c *Client) program(p Place) string {
	if p.Own {
		return ""
	}
	find := c.Find
	if find == nil {
		find = func(name string) string {
			found, err := exec.LookPath(name)
			if err != nil {
				return ""
			}
			return found
		}
	}
	return find(programs[p.Kind])
}

// full returns the repository with its host, in the form that the programs accept.
func (p Place) full() string {
	if p.Kind == GitLab {
		return "https://" + p.Host + "/" + p.Path
	}
	return p.Host + "/" + p.Path
}

// openBy opens a pull request with a program. Each program prints the pull request's
// URL.
func (c *Client) openBy(ctx context.Context, program string, p Place, r Request) (Pull, error) {
	var args []string
	switch p.Kind {
	case GitHub:
		args = []string{"pr", "create", "--repo", p.full(), "--head", r.Branch, "--base", r.Target, "--title", r.Title, "--body", r.Body}
		if r.Draft {
			args = append(args, "--draft")
		}
	case GitLab:
		args = []string{"mr", "create", "--repo", p.full(), "--source-branch", r.Branch, "--target-branch", r.Target, "--title", r.Title, "--description", r.Body, "--yes"}
		if r.Draft {
			args = append(args, "--draft")
		}
	case Gitea:
		title := r.Title
		if r.Draft {
			title = "WIP: " + title
		}
		args = []string{"pulls", "create", "--repo", p.Path, "--head", r.Branch, "--base", r.Target, "--title", title, "--description", r.Body}
	}
	out, said, err := runProgram(ctx, program, args)
	if err != nil {
		// gh and glab print the URL of the existing pull request.
		if at := address.FindString(said); at == "" || !strings.Contains(said, "already exists") {
			return Pull{}, programFault(p, said, err)
		}
		out = said
	}
	pull := Pull{State: Open, Draft: r.Draft}
	for _, at := range address.FindAllString(out, -1) {
		pull.URL = strings.TrimRight(at, ".,")
	}
	if u, err := url.Parse(pull.URL); err == nil {
		pull.Number, _ = strconv.Atoi(path.Base(u.Path))
	}
	if pull.Number == 0 {
		return Pull{}, fault.New(ForgeRefused, fmt.Sprintf("%s did not report which pull request it opened: %s", programs[p.Kind], textutil.Shorten(textutil.OneLine(out), 300)), "check on the forge whether it was opened")
	}
	return pull, nil
}

// address matches a pull request's URL in a program's output.
var address = regexp.MustCompile(`https?://[^\s]+/(?:pull|pulls|merge_requests)/[0-9]+`)

// lookBy reads the state of a pull request with gh or glab.
func (c *Client) lookBy(ctx context.Context, program string, p Place, was Pull) (Pull, error) {
	if p.Kind == GitLab {
		out, said, err := runProgram(ctx, program, []string{"mr", "view", strconv.Itoa(was.Number), "--repo", p.full(), "--output", "json"})
		var found gitLabPull
		if err == nil {
			err = json.Unmarshal([]byte(out), &found)
		}
		if err != nil {
			return Pull{}, programFault(p, said, err)
		}
		now := found.pull()
		return now, nil
	}
	out, said, err := runProgram(ctx, program, []string{"pr", "view", strconv.Itoa(was.Number), "--repo", p.full(), "--json", "number,url,state,isDraft,reviewDecision,statusCheckRollup"})
	var found struct {
		Number int    `json:"number"`
		URL    string `json:"url"`
		State  string `json:"state"` // OPEN, MERGED or CLOSED
		Draft  bool   `json:"isDraft"`
		Review string `json:"reviewDecision"`
		Checks []struct {
			Status     string `json:"status"`     // check run
			Conclusion string `json:"conclusion"` // completed check run
			State      string `json:"state"`      // status
		} `json:"statusCheckRollup"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(out), &found)
	}
	if err != nil {
		return Pull{}, programFault(p, said, err)
	}
	now := Pull{Number: found.Number, URL: found.URL, State: State(strings.ToLower(found.State)), Draft: found.Draft, Review: strings.ToLower(found.Review)}
	if now.Review != Approved && now.Review != ChangesRequested {
		now.Review = ""
	}
	var words []string
	for _, one := range found.Checks {
		word := one.Conclusion
		for _, other := range []string{one.State, one.Status} {
			if word == "" {
				word = other
			}
		}
		words = append(words, word)
	}
	now.Checks = checks(words)
	return now, nil
}

// runProgram runs a program in an empty folder, so no file there can configure the
// program.
func runProgram(ctx context.Context, program string, args []string) (out, said string, err error) {
	dir, err := os.MkdirTemp("", "deskhand-forge-")
	if err != nil {
		return "", "", fmt.Errorf("create a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.WaitDelay = dir, 2*time.Second
	cmd.Env = append(os.Environ(), "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "NO_COLOR=1", "NO_PROMPT=1", "GIT_CEILING_DIRECTORIES="+dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// programFault returns a fault with the reason why a program failed.
func programFault(p Place, said string, err error) error {
	exit := new(exec.ExitError)
	if said = textutil.Shorten(textutil.OneLine(strings.TrimSpace(said)), 500); said == "" || !errors.As(err, &exit) {
		said = err.Error()
	}
	return fault.New(ForgeRefused, fmt.Sprintf("%s reported: %s", programs[p.Kind], said), "fix the reported problem and retry; if the program is not signed in, run: "+signIn[p.Kind])
}
