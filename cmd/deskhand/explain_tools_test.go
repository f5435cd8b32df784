package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shownCatalog is what the command prints as JSON.
type shownCatalog struct {
	Tokens       int
	Counted      string
	Instructions struct {
		Text   string
		Tokens int
	}
	Tools []struct {
		Name, Description string
		Input             json.RawMessage `json:"input_schema"`
		Tokens            int
	}
}

// What the command prints is what a client gets, and it serves nothing.
func TestExplainToolsPrintsWhatAModelIsShown(t *testing.T) {
	t.Setenv("CI", "")
	corpus := t.TempDir() // without instructions of its own
	write(t, corpus, map[string]string{"a.md": "# A\n\nOne page.\n"})
	index, state := indexed(t, corpus), filepath.Join(t.TempDir(), "state")
	flags := []string{"--index", index, "--state", state, "--tools", "docs,ask,work", "--tool-prefix", "acme"}
	run := func(more ...string) string {
		return done(t, t.TempDir(), append(append([]string{"serve", "--explain-tools"}, flags...), more...)...)
	}
	var e shownCatalog
	if err := json.Unmarshal([]byte(run("--json")), &e); err != nil {
		t.Fatal(err)
	}
	p := overPipe(t, flags...)
	var list struct{ Tools []tool }
	var welcome struct{ Instructions string }
	if err := json.Unmarshal(p.rpc("tools/list", `{}`), &list); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(p.welcome, &welcome); err != nil {
		t.Fatal(err)
	}
	if e.Instructions.Text != welcome.Instructions || len(e.Tools) != len(list.Tools) {
		t.Fatalf("explained are %d tools and %q, served %d and %q", len(e.Tools), e.Instructions.Text, len(list.Tools), welcome.Instructions)
	}
	all, text := e.Instructions.Tokens, run()
	for i, one := range list.Tools {
		got := e.Tools[i]
		if got.Name != one.Name || got.Description != one.Description || onOneLine(t, got.Input) != onOneLine(t, one.InputSchema) || got.Tokens < 20 {
			t.Errorf("explained is %+v, served %+v", got, one)
		}
		for _, want := range []string{"\n" + one.Name + ", about ", strings.ReplaceAll(one.Description, "\n", "\n  "), onOneLine(t, got.Input)} {
			if !strings.Contains(text, want) {
				t.Errorf("the text lacks %q", want)
			}
		}
		all += got.Tokens
	}
	if e.Tokens != all || e.Counted == "" {
		t.Errorf("%d tokens counted %q, want %d", e.Tokens, e.Counted, all)
	}
	for _, group := range []string{"acme_search_docs before you answer", "call acme_ask_user only when", "call acme_start_task_attempt, which"} {
		if !strings.Contains(welcome.Instructions, group) {
			t.Errorf("the instructions lack %q: %s", group, welcome.Instructions)
		}
	}
	if first := "Search the Documentation corpus (acme_search_docs); ask the user for a decision (acme_ask_user); hand tasks to other coding agents (acme_start_task_attempt).\n"; !strings.HasPrefix(welcome.Instructions, first) {
		t.Errorf("the instructions begin %.200q, want %q", welcome.Instructions, first)
	}
	if n := len(welcome.Instructions); n > 2048 {
		t.Errorf("the instructions have %d characters, Claude Code cuts at 2,048", n)
	}
	// js-tiktoken 1.0.21 counts 419 without the prefix.
	if n := e.Instructions.Tokens; n > 600 {
		t.Errorf("the instructions of all groups are %d tokens, at most 600 are allowed", n)
	}
}

func TestTheInstructionsOfACorpusTakeThePlaceOfOurs(t *testing.T) {
	corpus := acme(t, nil)
	index := filepath.Join(t.TempDir(), "out")
	done(t, t.TempDir(), "index", corpus, "-o", index, "--mcp-server-instructions", "Search for the error code.")
	var welcome struct{ Instructions string }
	if err := json.Unmarshal(overPipe(t, "--index", index).welcome, &welcome); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(welcome.Instructions, "Search the Acme SDK docs (search_docs); ask ") || !strings.HasSuffix(welcome.Instructions, "\n\nSearch for the error code.") || strings.Contains(welcome.Instructions, "from memory") {
		t.Errorf("the instructions are %q, want the corpus's and those of ask", welcome.Instructions)
	}
}

func TestExplainToolsRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"serve", "--json"}, 2, "--explain-tools"},
		{[]string{"serve", "--explain-tools", "--index", "nowhere"}, 1, "there is no index"},
		{[]string{"serve", "--explain-tools", "--tools", "x"}, 2, "unknown group"},
	} {
		if r := deskhand(t, dir, c.args...); r.code != c.code || !strings.Contains(r.stderr, c.says) || !strings.Contains(r.stderr, "\nhint: ") {
			t.Errorf("%q: exit %d, %s; want %d and %q", c.args, r.code, r.stderr, c.code, c.says)
		}
	}
	if r := deskhand(t, dir, "serve", "--explain-tools", "--tools", "ask", "--state", filepath.Join(dir, "state")); r.code != 0 {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "state")); err == nil {
		t.Error("it has opened the store of questions")
	}
}

// onOneLine is JSON without white space.
func onOneLine(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
