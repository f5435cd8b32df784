//go:build agents

package executor

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/tasks/executor/modeltest"
	"github.com/deskhand/deskhand/runtime/usage"
)

// This is the main story with real agents and a scripted model: the agent searches the
// docs, asks a person, and writes the answer to a file; a second run continues the
// session. `make test-agents` installs the agents, sets AGENTS_BIN to the folder of
// their programs, and sets this file's build tag.
func TestRealAgents(t *testing.T) {
	ids, bin := modeltest.Chosen(t, "claude claude-stream opencode opencode-stream codex codex-stream gemini gemini-stream")
	for _, id := range ids {
		t.Run(id, func(t *testing.T) { story(t, id, bin) })
	}
}

func story(t *testing.T, id, bin string) {
	steps := []modeltest.Step{
		{Tools: []string{"search_docs"}, Args: func(string, []string) map[string]any { return map[string]any{"query": "colour"} }},
		{Tools: []string{"ask_user"}, Args: func(string, []string) map[string]any { return map[string]any{"question": "Which colour?"} }},
		{Tools: modeltest.WriteTools, Args: func(tool string, results []string) map[string]any {
			text := "no answer\n"
			if strings.Contains(strings.Join(results, ""), "the person says blue") {
				text = "blue\n"
			}
			return modeltest.Write(tool, text)
		}},
	}
	wantText, wantCalls := "blue\n", "search_docs ask_user"
	if strings.HasPrefix(id, "gemini") {
		// Without a terminal, the agent offers no tool named ask_user, even if a server
		// has one.
		steps = slices.Delete(steps, 1, 2)
		wantText, wantCalls = "no answer\n", "search_docs"
	}
	model := modeltest.New(t, "do the story", "Done: the colour is in colour.txt.", steps...)
	calls, served := tools(t)
	dir := filepath.Join(t.TempDir(), "work")
	home := modeltest.Home(t, model.URL)
	os.Mkdir(dir, 0o755)
	shell := exec.Command("git", "init", "-q", "-b", "main")
	shell.Dir = dir
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v %s", err, out)
	}
	env, _ := Environment(os.Environ(), nil)
	env = append(env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "TMPDIR="+t.TempDir())
	env = append(env, modeltest.Settings(home, model.URL)...)
	var asked []Question
	spec := Spec{Dir: dir, Prompt: "Please do the story", Env: env, MCP: MCP{URL: served, Token: "attempt-token"}, Ask: func(_ context.Context, q Question) (Answer, error) {
		asked = append(asked, q)
		for _, o := range q.Options {
			if o.Kind == "allow_once" {
				return Answer{Outcome: "accept", Option: o.ID}, nil
			}
		}
		return Answer{Outcome: "decline"}, nil
	}}
	// codex's sandbox requires a system that not every test machine has. Without a
	// model, gemini asks one which model to use.
	spec.Variant = map[string]string{"codex": "full-access", "gemini": "flash", "gemini-stream": "flash"}[id]
	first, log := realRun(t, id, spec)
	text, err := os.ReadFile(filepath.Join(dir, "colour.txt"))
	if string(text) != wantText {
		t.Errorf("colour.txt = %q, %v; result %+v\noffered %v\ncalled %v\nlog\n%s\nstderr %s\nasked %+v\nraw %s", text, err, first, model.Offered(), *calls, log.text(), log.said("STDERR"), asked, log.said("STDOUT"))
		return
	}
	if first.Failure != "" || first.AgentSession == "" || !strings.Contains(first.Summary, "Done: the colour") {
		t.Errorf("result = %+v\n%s", first, log.text())
	}
	if got := strings.Join(*calls, " "); got != wantCalls {
		t.Errorf("called %s, want %s", got, wantCalls)
	}
	t.Logf("%s: %d tokens in, %d permissions asked\n%s", id, first.Usage.Tokens().In, len(asked), log.text())
	checkUsage(t, id, first.Usage)
	if !table(t, nil).info(id).FollowUp {
		return
	}
	spec.Resume, spec.Prompt, spec.Used = first.AgentSession, "Please do the story again", first.Usage.Tokens()
	second, log := realRun(t, id, spec)
	if strings.Contains(log.text(), "starts a new one") && strings.HasPrefix(id, "gemini") {
		t.Logf("%s does not find its session again: %s", id, log.text())
		return
	}
	checkUsage(t, id, second.Usage)
	if second.Failure != "" || second.AgentSession != first.AgentSession || !strings.Contains(second.Summary, "Done: the colour") {
		t.Errorf("resumed: %+v\n%s", second, log.text())
	}
	spec.Resume, spec.Before = first.AgentSession[:len(first.AgentSession)-4]+"0000", "Earlier the person said hello. "
	third, log := realRun(t, id, spec)
	begun := strings.Contains(log.text(), "starts a new one") && third.Failure == ""
	if !third.Lost && !begun {
		t.Errorf("a session that is not there: %+v, want it lost or a new one\n%s\nstderr %s", third, log.text(), log.said("STDERR"))
	}
}

// checkUsage compares what an agent reported with what the model told it: 120 tokens
// read and 20 written in each of four calls, or three of gemini's. See usage.go.
func checkUsage(t *testing.T, id string, got usage.Report) {
	t.Helper()
	calls, coverage := int64(4), usage.Full
	switch id {
	case "gemini", "gemini-stream":
		calls = 3
	case "opencode":
		calls, coverage = 1, usage.Part
	case "codex":
		calls, coverage = 0, usage.Nothing
	}
	if want := (usage.Tokens{In: 120 * calls, Out: 20 * calls}); got.Tokens() != want || got.Coverage != coverage {
		t.Errorf("%s reported %+v, want %+v, %q", id, got, want, coverage)
	}
	if costs := strings.HasPrefix(id, "claude"); costs != (got.Cost > 0) {
		t.Errorf("%s reported %d millionths of a dollar", id, got.Cost)
	}
}

func realRun(t *testing.T, id string, s Spec) (Result, *memory) {
	t.Helper()
	since := time.Now()
	r, log := start(t, table(t, nil), id, s)
	select {
	case <-r.Done():
	case <-time.After(5 * time.Minute): // opencode takes 25 s and codex 3 s, and the machine may be busy
		r.Kill()
		t.Errorf("%s does not end", id)
	}
	t.Logf("%s took %v", id, time.Since(since).Round(100*time.Millisecond))
	return r.Wait(), log
}

// tools starts an MCP server with two of deskhand's tools, for agents to use.
func tools(t *testing.T) (calls *[]string, url string) {
	calls = &[]string{}
	server := mcp.NewServer(&mcp.Implementation{Name: "deskhand", Version: "1"}, nil)
	tool := func(name, answer string) {
		server.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: map[string]any{"type": "object", "properties": map[string]any{"query": map[string]any{"type": "string"}, "question": map[string]any{"type": "string"}}}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				*calls = append(*calls, name)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer}}}, nil
			})
	}
	tool("search_docs", "colours are in colour.txt")
	tool("ask_user", "the person says blue")
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer attempt-token" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return calls, h.URL
}
