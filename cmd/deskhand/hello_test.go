package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//lint:file-ignore SA1019 2026-07-28 deprecates roots, and clients have them

// An upstream is started once, with what the client that started the server lends.
func TestUpstreamIsToldOnceWhatTheClientLends(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "folders", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "where", InputSchema: json.RawMessage(orderedSchema)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if reply, ok := r.Params.InputResponses["r"].(*mcp.ListRootsResult); ok {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: reply.Roots[0].URI}}}, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"r": &mcp.ListRootsParams{}}}, nil
	})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*mcp.ListToolsResult); ok && req.(*mcp.ListToolsRequest).ClientCapabilities().RootsV2 == nil {
				list.Tools = nil
			}
			return result, err
		}
	})
	var met atomic.Int32
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"initialize"`) {
			met.Add(1)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			met.Store(0)
			file, state := configured(t, "inbox: off\nupstreams:\n  - {name: folders, url: '"+front.URL+"'}\n")
			client := mcp.NewClient(&mcp.Implementation{Name: "editor", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}}})
			client.AddRoots(&mcp.Root{URI: "file:///srv/shop"})
			session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command("deskhand", "serve", "--tools", "ask", "--config", file, "--state", state)},
				&mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { session.Close() })
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || !slices.ContainsFunc(tools.Tools, func(t *mcp.Tool) bool { return t.Name == "folders_where" }) {
				t.Fatalf("the first list = %+v, %v; want folders_where", tools, err)
			}
			if got := called(t, session, "folders_where"); got != "file:///srv/shop" {
				t.Errorf("folders_where = %s, want the client's folder", got)
			}
			if n := met.Load(); n > 1 {
				t.Errorf("the upstream was connected to %d times, want once", n)
			}
		})
	}
}
