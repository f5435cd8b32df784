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

// programs are the forges' own.
var programs = map[Kind]string{GitHub: "gh", GitLab: "glab", Gitea: "tea"}

// signIn is how a person signs in with each.
var signIn = map[Kind]string{GitHub: "gh auth login", GitLab: "glab auth login", Gitea: "tea login add"}

// program is the path of the program for a place; empty: it is not there, or the
// place has an API of its own.
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

// full is the repository as a program takes it, with the host.
func (p Place) full() string {
	if p.Kind == GitLab {
		return "https://" + p.Host + "/" + p.Path
	}
	return p.Host + "/" + p.Path
}

// openBy opens a pull request with a program. Each prints its address.
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
		// gh and glab print the address of the one that is there.
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
		return Pull{}, fault.New(ForgeRefused, fmt.Sprintf("%s does not say which pull request it has opened: %s", programs[p.Kind], textutil.Shorten(textutil.OneLine(out), 300)), "look at the forge whether there is one")
	}
	return pull, nil
}

// address matches that of a pull request in what a program prints.
var address = regexp.MustCompile(`https?://[^\s]+/(?:pull|pulls|merge_requests)/[0-9]+`)

// lookBy looks at a pull request with gh or glab.
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
			Status     string `json:"status"`     // of a check run
			Conclusion string `json:"conclusion"` // of one that has ended
			State      string `json:"state"`      // of a status
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

// runProgram runs a program in a folder of its own, in which there is nothing that
// could configure it.
func runProgram(ctx context.Context, program string, args []string) (out, said string, err error) {
	dir, err := os.MkdirTemp("", "deskhand-forge-")
	if err != nil {
		return "", "", fmt.Errorf("make folder: %w", err)
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

// programFault words why a program failed.
func programFault(p Place, said string, err error) error {
	exit := new(exec.ExitError)
	if said = textutil.Shorten(textutil.OneLine(strings.TrimSpace(said)), 500); said == "" || !errors.As(err, &exit) {
		said = err.Error()
	}
	return fault.New(ForgeRefused, fmt.Sprintf("%s says: %s", programs[p.Kind], said), "correct that and try again; if it is not signed in: "+signIn[p.Kind])
}
