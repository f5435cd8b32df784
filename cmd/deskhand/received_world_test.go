//go:build unix && agents

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// forecast is an MCP server whose text says more than its structured form.
func forecast(t *testing.T) (address string) {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "forecast", Description: "tells the weather", InputSchema: json.RawMessage(`{"type":"object","properties":{"day":{"type":"string"}}}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			result := &mcp.CallToolResult{StructuredContent: map[string]any{"millimetres": 4}}
			texts := []string{"Rain from noon, says the station.", "Take an umbrella."}
			if strings.Contains(string(r.Params.Arguments), "never") {
				result.IsError, texts = true, []string{"There is no such day. Ask for today."}
			}
			for _, text := range texts {
				result.Content = append(result.Content, &mcp.TextContent{Text: text})
			}
			return result, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return web.URL
}

// project makes one with a repository.
func project(t *testing.T, state string) {
	t.Helper()
	repo := gitRepo(t, map[string]string{"README.md": "# Harbour\n"})
	done(t, repo, "tasks", "project", "add", repo, "--name", "harbour", "--repo", "harbour", "--state", state)
}

// attempt makes a project with an attempt that has ended, and returns the
// worktree of that.
func attempt(t *testing.T, state string) string {
	t.Helper()
	project(t, state)
	tasks := func(args ...string) string {
		return done(t, t.TempDir(), append(append([]string{"tasks"}, args...), "--state", state)...)
	}
	id := func(field, from string) string {
		found := regexp.MustCompile(`"` + field + `": ?"([^"]+)"`).FindStringSubmatch(from)
		if found == nil {
			t.Fatalf("no %s in %s", field, from)
		}
		return found[1]
	}
	tasks("add", "Measure the depth")
	attempt := id("attempt_id", tasks("start", id("task_id", tasks("ls", "--json")), "--executor", "fake", "--prompt", "say three fathoms", "--json"))
	eventually(t, "the attempt", func() error { return holds(tasks("show", attempt), "completed") })
	folder := regexp.MustCompile(`(?m)^folder +(.+)$`).FindStringSubmatch(tasks("show", attempt))
	if folder == nil {
		t.Fatalf("no folder in %s", tasks("show", attempt))
	}
	return filepath.Join(folder[1], "harbour")
}
