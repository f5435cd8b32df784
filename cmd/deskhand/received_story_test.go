//go:build unix && agents

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/tasks/executor/modeltest"
)

// story is one client, its model, and the world in which they call our tools: a
// server with all tools and an upstream, a person who answers there, and a server
// with a store of its own that reaches nobody, in the worktree of an attempt.
type story struct {
	t            *testing.T
	client, name string
	state, home  string
	servers      []modeltest.Server
	model        *modeltest.Model
	skipped      map[int]string // why a call is not made, by its index

	ctx    context.Context // of the client; ends early if the story cannot go on
	stop   context.CancelFunc
	people sync.WaitGroup
	mu     sync.Mutex
	beside map[int]string // what the command before a call said, by its index
	failed []error        // of what goes on beside the client
}

func newStory(t *testing.T, client, name, hides, index string) *story {
	s := &story{t: t, client: client, name: name, state: lingering(t), skipped: map[int]string{}, beside: map[int]string{}}
	s.ctx, s.stop = context.WithTimeout(t.Context(), aTurn)
	t.Cleanup(s.stop)
	program, err := exec.LookPath("deskhand")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("serves with %s", program)
	config := t.TempDir()
	write(t, config, map[string]string{"deaf.yaml": "inbox: 'off'\n", "deskhand.yaml": "upstreams:\n  - {name: weather, url: '" + forecast(t) + "'}\n"})
	all := []string{"--state", s.state, "--config", filepath.Join(config, "deskhand.yaml"), "--index", index, "--tools", "docs,ask,work"}
	if !slices.ContainsFunc(s.listed(config, all...), func(tool string) bool { return slices.Contains(askNames, tool) && tool != hides }) {
		all = append(all, "--tool-prefix", "desk") // as the manual advises
	}
	project(t, s.state)
	apart := lingering(t)
	few := []string{"--state", apart, "--tools", "ask,work", "--tool-prefix", "ci"}
	dir := attempt(t, apart)
	s.covers(slices.Concat(s.listed(config, all...), s.listed(dir, append(slices.Clone(few), "--config", filepath.Join(config, "deaf.yaml"))...)))
	s.servers = []modeltest.Server{
		{Name: "deskhand", Env: map[string]string{"CI": ""}, Command: append([]string{program, "serve"}, all...)},
		{Name: "unattended", Env: map[string]string{"CI": "1"}, Command: append([]string{"sh", "-c", `cd "$0" && exec "$@"`, dir, program, "serve"}, few...)},
	}
	var steps []modeltest.Step
	for i := range receptions {
		steps = append(steps, modeltest.Step{Tools: s.names(i), Skip: true, Args: func(string, []string) map[string]any { return s.args(i) }})
	}
	s.model = modeltest.New(t, "Call every tool", "Every tool is called.", steps...)
	s.home = modeltest.Home(t, s.model.URL)
	modeltest.Connect(t, s.home, s.servers...)
	return s
}

// names are those under which the client may offer the tool of call i; none if it
// is not to be called. Names with the server in them come first, as a tool of the
// other server may have the same end.
func (s *story) names(i int) (names []string) {
	r := &receptions[i]
	if slices.Contains(r.person, "--note") && !strings.Contains(done(s.t, s.t.TempDir(), "ask", r.person[0], "--help"), "--note") {
		s.skipped[i] = "deskhand ask " + r.person[0] + " has no --note yet"
		s.t.Logf("SKIPPED: %s, %s: %s", r.tool, r.shows, s.skipped[i])
		return nil
	}
	prefix, tool := "", r.tool
	if rest, ok := strings.CutPrefix(tool, "ci_"); ok {
		prefix, tool = "ci_", rest
	}
	all := []string{tool}
	if tool == "ask_user" {
		all = askNames
	}
	for _, name := range all {
		if prefix == "" {
			names = append(names, "deskhand__"+name, "deskhand_"+name, "desk_"+name)
		}
		names = append(names, prefix+name)
	}
	return names
}

// listed are the tools that a server with these flags, started in dir, lists for
// the client.
func (s *story) listed(dir string, flags ...string) (names []string) {
	s.t.Helper()
	p := unmetIn(s.t, dir, flags...)
	p.rpc("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"`+s.name+`","version":"1"}}`)
	p.line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(p.rpc("tools/list", "{}"), &list); err != nil {
		s.t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// covers is an error of the test for each tool that no call calls.
func (s *story) covers(tools []string) {
	s.t.Helper()
	for _, tool := range tools {
		name := strings.TrimPrefix(strings.TrimPrefix(tool, "desk_"), "ci_")
		if slices.Contains(askNames, name) {
			name = "ask_user"
		}
		if !slices.ContainsFunc(receptions, func(r reception) bool { return r.tool == name || r.tool == "ci_"+name }) {
			s.t.Errorf("no case in received_cases_test.go calls %s", tool)
		}
	}
}

// args are the arguments of call i, which the client makes when it has them.
func (s *story) args(i int) map[string]any {
	r := &receptions[i]
	if len(r.before) > 0 {
		s.until("deskhand "+strings.Join(r.before, " "), func() error {
			out, err := s.command(r.before...)
			if err == nil && !strings.Contains(out, r.until) {
				err = fmt.Errorf("%q is not in %s", r.until, out)
			}
			s.mu.Lock()
			s.beside[i] = out
			s.mu.Unlock()
			return err
		})
	}
	if len(r.person) > 0 {
		s.people.Go(func() { s.until("the person", func() error { return s.answer(r) }) })
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(s.fill(r.args)), &args); err != nil {
		s.fails(fmt.Errorf("arguments of %s, %s: %w", r.tool, r.shows, err))
	}
	return args
}

// answer does what the person does, once the question is open.
func (s *story) answer(r *reception) error {
	out, err := s.command("ask", "list", "--json")
	if err != nil {
		return err
	}
	var open []struct {
		ID        string
		Source    struct{ Name string }
		Questions []struct{ Message string }
	}
	if err := json.Unmarshal([]byte(out), &open); err != nil {
		return err
	}
	for _, one := range open {
		if len(one.Questions) != 1 || one.Questions[0].Message != r.question {
			continue
		}
		if one.Source.Name != s.name {
			s.fails(fmt.Errorf("%s calls itself %q, and runtime/clients %q", s.client, one.Source.Name, s.name))
		}
		_, err := s.command(append([]string{"ask", r.person[0], one.ID}, r.person[1:]...)...)
		return err
	}
	return fmt.Errorf("%q is not open: %s", r.question, out)
}

// command runs deskhand on the state of the story; {name} in args is an id.
func (s *story) command(args ...string) (string, error) {
	args = append(slices.Clone(args), "--state", s.state)
	for i := range args {
		args[i] = s.fill(args[i])
	}
	out, err := exec.CommandContext(s.t.Context(), "deskhand", args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("deskhand %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// until does something until it succeeds, and ends the story with its last error
// after patience. Unlike eventually it may be called beside the test.
func (s *story) until(what string, try func() error) {
	err := try()
	for end := time.Now().Add(patience); err != nil && s.ctx.Err() == nil && time.Now().Before(end); err = try() {
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		s.fails(fmt.Errorf("%s: %w", what, err))
	}
}

func (s *story) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, err)
	s.stop()
}

// fill puts ids of earlier results for their names in braces. A name whose result
// has no such id stays.
func (s *story) fill(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, received := range s.model.Received() {
		received += s.beside[i]
		for name, field := range receptions[i].keep {
			pattern := field + `[\\":\s]*([0-9a-f-]{36})` // the field of JSON, escaped or not
			if field == "elc_" {
				pattern = `(elc_[0-9A-Z]+)`
			}
			if id := regexp.MustCompile(pattern).FindStringSubmatch(received); id != nil {
				text = strings.ReplaceAll(text, "{"+name+"}", id[1])
			}
		}
	}
	return text
}
