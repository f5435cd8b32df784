//go:build unix && agents

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/tasks/executor/modeltest"
)

// twoHalves is an upstream whose results say something else in each half.
func twoHalves(t *testing.T) string {
	s := mcp.NewServer(&mcp.Implementation{Name: "halves", Version: "1"}, nil)
	object := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"where"}},"required":["city"]}`)
	add := func(name string, output any, r mcp.CallToolResult) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Reports the weather, as " + name + " does.", InputSchema: object, OutputSchema: output},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return &r, nil })
	}
	words := func(text string) mcp.Content { return &mcp.TextContent{Text: text} }
	closed := json.RawMessage(`{"type":"object","properties":{"degrees":{"type":"number"}},"required":["degrees"],"additionalProperties":false}`)
	add("plain", nil, mcp.CallToolResult{Content: []mcp.Content{words("Fog until noon, says the harbour.")}, StructuredContent: json.RawMessage(`{"degrees":7.25}`)})
	add("typed", closed, mcp.CallToolResult{Content: []mcp.Content{words("Hail in the evening, says the airport.")}, StructuredContent: json.RawMessage(`{"degrees":8.5}`)})
	add("same", closed, mcp.CallToolResult{Content: []mcp.Content{words(`{"degrees": 9.75}`)}, StructuredContent: json.RawMessage(`{"degrees":9.75}`)})
	add("picture", nil, mcp.CallToolResult{Content: []mcp.Content{words("A map of the storm."), &mcp.ImageContent{Data: []byte("not a real image"), MIMEType: "image/png"}}, StructuredContent: json.RawMessage(`{"degrees":10.125}`)})
	add("refused", nil, mcp.CallToolResult{IsError: true, Content: []mcp.Content{words("The station is closed on Sundays.")}, StructuredContent: json.RawMessage(`{"retry_after":3600}`)})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// receives runs a client against `deskhand serve` with that configuration, and
// returns the results as its model received them.
func receives(t *testing.T, client, bin, config string, steps ...modeltest.Step) []string {
	t.Helper()
	file, state := configured(t, config)
	var results []string
	last := modeltest.Step{Tools: []string{"await_answer"}, Args: func(_ string, got []string) map[string]any {
		results = got
		return map[string]any{"request_id": "elc_none"}
	}}
	model := modeltest.New(t, "Ask about the weather", "Done.", append(steps, last)...)
	home := modeltest.Home(t, model.URL)
	program, err := exec.LookPath("deskhand")
	if err != nil {
		t.Fatal(err)
	}
	serve := []string{"serve", "--tools", "ask", "--config", file, "--state", state}
	var args []string
	switch client {
	case "claude":
		servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"deskhand": map[string]any{"command": program, "args": serve}}})
		if err != nil {
			t.Fatal(err)
		}
		args = []string{"-p", "Ask about the weather", "--mcp-config", string(servers), "--strict-mcp-config", "--allowedTools", "mcp__deskhand"}
	case "codex":
		list, _ := json.Marshal(serve) // strings marshal
		args = []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
			"-c", fmt.Sprintf("mcp_servers.deskhand.command=%q", program), "-c", "mcp_servers.deskhand.args=" + string(list), "Ask about the weather"}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, client), args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = t.TempDir(), append(os.Environ(), modeltest.Settings(home, model.URL)...), 5*time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", client, err, said.String())
	}
	if len(results) != len(steps) {
		t.Fatalf("%s made %d calls of %d; it said\n%s\nits model was offered %v", client, len(results), len(steps), said.String(), model.Offered())
	}
	return results
}

// city are the arguments of each tool.
func city(string, []string) map[string]any { return map[string]any{"city": "Bern"} }

// What an upstream says in one half of a result reaches the model of clients that
// show the other. `make test-agents` installs them.
func TestRealAgentsReceiveBothHalvesOfAnUpstream(t *testing.T) {
	ids, bin := modeltest.Chosen(t, "claude codex")
	want := []struct {
		tool  string
		words []string
	}{
		{"plain", []string{"Fog until noon", "7.25"}},
		{"typed", []string{"Hail in the evening", "8.5"}},
		{"same", []string{"9.75"}},
		{"picture", []string{"A map of the storm", "10.125", "image"}},
		{"refused", []string{"closed on Sundays", "3600"}},
	}
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			var steps []modeltest.Step
			for _, w := range want {
				steps = append(steps, modeltest.Step{Tools: []string{"weather_" + w.tool}, Args: city})
			}
			results := receives(t, id, bin, "inbox: off\nupstreams:\n  - {name: weather, url: '"+twoHalves(t)+"'}\n", steps...)
			for i, w := range want {
				for _, words := range w.words {
					if !strings.Contains(results[i], words) {
						t.Errorf("the model received of %s\n%s\nand not %q", w.tool, results[i], words)
					}
				}
			}
		})
	}
}

// A model finds a tool and calls it, and a wrong call tells it what to change.
func TestRealAgentsFindAndCallTools(t *testing.T) {
	ids, bin := modeltest.Chosen(t, "claude codex")
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			call := func(args string) modeltest.Step {
				return modeltest.Step{Tools: []string{"call_tool"}, Args: func(string, []string) (in map[string]any) {
					if err := json.Unmarshal([]byte(args), &in); err != nil {
						t.Error(err)
					}
					return in
				}}
			}
			results := receives(t, id, bin, "inbox: off\ngateway: {disclosure: search}\nupstreams:\n  - {name: weather, url: '"+twoHalves(t)+"'}\n",
				modeltest.Step{Tools: []string{"find_tools"}, Args: func(string, []string) map[string]any { return map[string]any{"query": "plain weather report"} }},
				call(`{"name":"weather_plain","arguments":{"town":"Bern"}}`),
				call(`{"name":"weather_plain","arguments":{"city":"Bern"}}`),
				call(`{"name":"weather_typd","arguments":{}}`))
			for i, words := range []string{"weather_plain {city: string}", "city is required", "Fog until noon", "weather_typed"} {
				if !strings.Contains(results[i], words) {
					t.Errorf("the model received of call %d\n%s\nand not %q", i+1, results[i], words)
				}
			}
		})
	}
}
