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

	"github.com/deskhand/deskhand/runtime/contract"
)

//lint:file-ignore SA1019 2026-07-28 deprecates roots, and clients have them

func TestFirstMessageSaysWhatAClientLends(t *testing.T) {
	long := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"roots":{}},"x":"` + strings.Repeat("x", maxHello) + `"}}` + "\n"
	for name, c := range map[string]struct {
		in   string
		want contract.Lends
	}{
		"initialize": {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{"tools":{}}},"clientInfo":{"name":"x","version":"1"}}}` + "\nmore", contract.Lends{Sampling: true, SamplingTools: true, Roots: true}},
		"discover":   {`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}}` + "\n", contract.Lends{Sampling: true}},
		"nothing":    {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}` + "\n", contract.Lends{}},
		"odd":        {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"roots":true,"sampling":[]}}}` + "\n", contract.Lends{}},
		"no message": {"hello\n", contract.Lends{}},
		"no line":    {"", contract.Lends{}},
		"too long":   {long, contract.Lends{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, rest := hello(t.Context(), strings.NewReader(c.in))
			if got != c.want {
				t.Errorf("hello = %+v, want %+v", got, c.want)
			}
			if all, err := io.ReadAll(rest); err != nil || string(all) != c.in {
				t.Errorf("what is left to read is %.80q, %v; want all of it", all, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	silent, _ := io.Pipe()
	if got, rest := hello(ctx, silent); got != (contract.Lends{}) {
		t.Errorf("hello of a client that is told to stop = %+v, %v", got, rest)
	}
}

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
