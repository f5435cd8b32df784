package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// manyTools is an upstream with so many tools.
func manyTools(t *testing.T, n int) string {
	s := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, nil)
	for i := range n {
		s.AddTool(&mcp.Tool{Name: fmt.Sprintf("press_button_%d", i), Description: fmt.Sprintf("Press button number %d.", i),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"times":{"type":"integer"}},"required":["times"]}`)},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "pressed " + r.Params.Name + string(r.Params.Arguments)}}}, nil
			})
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

func TestToolsOfALargeUpstreamAreFoundAndCalled(t *testing.T) {
	url := manyTools(t, 41)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			file, state := configured(t, "inbox: off\nupstreams:\n  - {name: panel, url: '"+url+"'}\n")
			session := dialFrom(t, version, file, state, nil)
			listed := func(session *mcp.ClientSession) (all []string) {
				t.Helper()
				tools, err := session.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range tools.Tools {
					all = append(all, one.Name)
				}
				return all
			}
			if got := listed(session); !slices.Contains(got, "find_tools") || !slices.Contains(got, "call_tool") || !slices.Contains(got, "ask_user") || len(got) != 5 {
				t.Fatalf("tools = %v, want those that ask, find_tools and call_tool", got)
			}
			call := func(session *mcp.ClientSession, tool string, args map[string]any) string {
				t.Helper()
				r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
				if err != nil {
					t.Fatal(err)
				}
				return r.Content[0].(*mcp.TextContent).Text
			}
			if got := call(session, "find_tools", map[string]any{"query": "press button 17"}); !strings.HasPrefix(got, "panel_press_button_17 {times: integer}\n") {
				t.Errorf("find_tools = %s", got)
			}
			if got, want := call(session, "call_tool", map[string]any{"name": "panel_press_button_17", "arguments": map[string]any{"times": 2}}), `pressed press_button_17{"times":2}`; got != want {
				t.Errorf("call_tool = %s, want %s", got, want)
			}
			next := dialFrom(t, version, file, state, nil)
			if got := listed(next); !slices.Contains(got, "panel_press_button_17") || len(got) != 6 {
				t.Errorf("tools of the next conversation = %v, want the one that was called beside the others", got)
			}
			if got := call(next, "panel_press_button_17", map[string]any{"times": 1}); got != `pressed press_button_17{"times":1}` {
				t.Errorf("the pinned tool = %s", got)
			}
		})
	}
}
