//go:build unix && agents

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/clients"
	"github.com/deskhand/deskhand/runtime/tasks/executor/modeltest"
)

// receivers are the clients that call every tool, their names in initialize, and
// the tool that a client hides from its model, as it has one of that name.
var receivers = []struct{ id, name, hides string }{
	{"claude", "claude-code", ""}, {"codex", "codex-mcp-client", ""}, {"codex-code", "codex-mcp-client", ""}, {"gemini", "gemini-cli-mcp-client", "ask_user"}, {"opencode", "opencode", ""},
}

// aTurn bounds one run of a client: it takes 15 to 40 seconds on two cores.
const aTurn = 3 * time.Minute

// Real clients call every tool of ours, and their model receives what the tool
// said: the words of a document, ids, notes, reasons, hints, errors. `make
// received` installs the clients and sets AGENTS_BIN, AGENTS and the tag.
func TestReceived(t *testing.T) {
	all := ""
	for _, r := range receivers {
		all += r.id + " "
	}
	ids, bin := modeltest.Chosen(t, all)
	if len(ids) == 0 {
		t.Fatalf("AGENTS=%q names none of %s", os.Getenv("AGENTS"), all)
	}
	if program := os.Getenv("RECEIVED_PROGRAM"); program != "" { // as it is shipped
		t.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	manual, err := filepath.Abs(filepath.Join("..", "..", "corpus"))
	if err != nil {
		t.Fatal(err)
	}
	index := indexed(t, manual)
	tables := make([]intake, len(receivers))
	t.Run("by", func(t *testing.T) {
		for i, r := range receivers {
			if slices.Contains(ids, r.id) {
				t.Run(r.id, func(t *testing.T) {
					t.Parallel()
					tables[i] = newStory(t, r.id, r.name, r.hides, index).told(bin)
				})
			}
		}
	})
	show(t, tables, filepath.Dir(bin))
}

// told has the client call every tool and returns what its model received.
func (s *story) told(bin string) intake {
	result := intake{client: s.client, version: releaseOf(s.t, s.client, bin)}
	if measured := clients.Of(s.name).Version; result.version != measured {
		s.t.Errorf("%s is %s, and runtime/clients has what was measured of %s: measure it again", s.name, result.version, measured)
	}
	cmd := modeltest.Headless(s.ctx, s.t, s.client, bin, s.home, "Call every tool", s.servers...)
	var said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = gitRepo(s.t, map[string]string{"README.md": "# Work\n"}), &said, &said
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "CI" { // in which some clients are others
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, modeltest.Settings(s.home, s.model.URL)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = patience
	began := time.Now()
	err := cmd.Run()
	result.took = time.Since(began)
	s.people.Wait()
	if err != nil {
		s.t.Errorf("%s: %v\n%s", s.client, err, said.String())
	}
	s.mu.Lock()
	failed := slices.Clone(s.failed)
	s.mu.Unlock()
	for _, err := range failed {
		s.t.Errorf("%s: beside the client: %v", s.client, err)
	}
	for i, text := range s.model.Received() {
		result.rows = append(result.rows, s.judged(i, text))
	}
	if s.t.Failed() {
		s.t.Logf("%s said\n%s\nits model was offered %v", s.client, said.String(), s.model.Offered())
	}
	return result
}

// releaseOf is what the client says that it is.
func releaseOf(t *testing.T, client, bin string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), modeltest.Program(bin, client), "--version").Output()
	found := regexp.MustCompile(`\d+\.\d+\.\d+`).Find(out)
	if err != nil || found == nil {
		t.Fatalf("%s --version: %q, %v: make received installs it", client, out, err)
	}
	return string(found)
}

// judged looks for the words of call i in what the model received, and is an
// error of the test for each that is missing.
func (s *story) judged(i int, text string) row {
	r := &receptions[i]
	got := row{tool: r.tool, shows: r.shows, text: text, skipped: s.skipped[i]}
	if got.skipped != "" {
		return got
	}
	want := slices.Clone(r.want)
	if clients.Of(s.name).Shows == clients.Structured {
		want = append(want, r.fields...)
	}
	once := len(want)
	if r.lines != "" {
		want = append(want, pageLines(s.t, r.lines)...)
	}
	got.wants = len(want)
	for n, words := range want {
		words = s.fill(words)
		has := slices.ContainsFunc(strings.Split(words, " | "), func(one string) bool { return strings.Contains(text, one) })
		switch {
		case !has:
			got.missing = append(got.missing, words)
		case n >= once && strings.Count(text, words) != 1:
			got.missing = append(got.missing, words+" (once)")
		}
	}
	if text == "" {
		s.t.Errorf("%s, %s, %s: never called, or nothing came of it", s.client, r.tool, r.shows)
	} else if len(got.missing) > 0 {
		s.t.Errorf("%s, %s, %s: the model received\n%s\nand not\n\t%s", s.client, r.tool, r.shows, text, strings.Join(got.missing, "\n\t"))
	}
	return got
}

// pageLines are the lines of a page of the manual that stand in it once and that
// no client writes in another way, as it would quotes in JSON.
func pageLines(t *testing.T, page string) (lines []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "corpus", filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(strings.TrimPrefix(string(data), "---\n"), "\n---\n")
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if len(line) > 20 && !strings.ContainsAny(line, "\"\\<>&\t") && strings.Count(body, line) == 1 {
			lines = append(lines, line)
		}
	}
	if len(lines) < 10 {
		t.Fatalf("%s has %d lines to look for", page, len(lines))
	}
	return lines
}
