package main

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// perAccount starts an upstream that offers each account one tool of its own, which only it can
// call, and one that all have. Without a key it offers nothing.
func perAccount(t *testing.T) string {
	t.Helper()
	return forAccounts(t, func(account string) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "accounts", Version: "1"}, nil)
		for _, name := range []string{"all", account} {
			s.AddTool(&mcp.Tool{Name: name, Description: "reads the mail of " + name, InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "mail of " + account}}}, nil
				})
		}
		return s
	})
}

// forAccounts serves what of returns for the account whose key a request has, and refuses
// requests without a key. It returns the URL.
func forAccounts(t *testing.T, of func(account string) *mcp.Server) string {
	t.Helper()
	const bearer = "Bearer key-of-"
	inner := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		return of(strings.TrimPrefix(r.Header.Get("Authorization"), bearer))
	}, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), bearer) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// Each person's agent lists and finds the tools that the person's own credential gives, whether
// the server lists all tools or lets models search. Nobody sees another's.
func TestEachPersonSeesTheToolsOfTheirOwnCredential(t *testing.T) {
	for _, disclosure := range []string{"all", "search"} {
		t.Run(disclosure, func(t *testing.T) {
			file, state := configured(t, "gateway: {disclosure: "+disclosure+"}\nupstreams:\n  - {name: mail, url: '"+perAccount(t)+"', credential_scope: user, auth: {kind: header}}\n")
			t.Setenv("DESKHAND_CONFIG", file)
			t.Setenv("DESKHAND_STATE", state)
			tokens := map[string]string{}
			add := func(name string) {
				t.Helper()
				done(t, ".", "people", "add", name)
				tokens[name] = strings.TrimSpace(done(t, ".", "token", "create", "--for", name, "--scope", "ask"))
			}
			connect := func(name string) {
				t.Helper()
				t.Setenv("DESKHAND_PERSON", name)
				if got := fed(t, ".", "key-of-"+cmp.Or(name, "owner"), "connect", "mail"); got.code != 0 {
					t.Fatalf("connect for %q: %d %s", name, got.code, got.stderr)
				}
				t.Setenv("DESKHAND_PERSON", "")
			}
			add("ada")
			add("bob")
			s := socketOf(t, exec.Command("deskhand", "serve", "--tools", "ask", "--http", "127.0.0.1:0"))
			tokens[""] = tokenOf(t, state)
			connect("")
			connect("ada")
			// seen returns which of the upstream's tools a caller is shown.
			seen := func(name string) (all []string) {
				body := s.tool(tokens[name], "find_tools", `{"query":"read the mail of an account","limit":20}`)
				if disclosure == "all" {
					_, body = s.asks(tokens[name], "tools/list", "", "")
				}
				for _, tool := range []string{"mail_all", "mail_ada", "mail_bob", "mail_connect", "mail_owner"} {
					if strings.Contains(body, tool+`"`) || strings.Contains(body, tool+` `) || strings.Contains(body, tool+`\n`) {
						all = append(all, tool)
					}
				}
				return all
			}
			shows := func(name string, want ...string) {
				t.Helper()
				waittest.Until(t, "what "+name+" is shown", func() (bool, any) {
					got := seen(name)
					return slices.Equal(got, want), got
				})
			}
			shows("", "mail_all", "mail_owner")
			shows("ada", "mail_all", "mail_ada")
			shows("bob", "mail_connect")
			call := func(name, tool string) string {
				if disclosure == "search" {
					return s.tool(tokens[name], "call_tool", `{"name":"`+tool+`"}`)
				}
				return s.tool(tokens[name], tool, `{}`)
			}
			if got := call("ada", "mail_ada"); !strings.Contains(got, "mail of ada") {
				t.Errorf("ada's own tool: %.300s", got)
			}
			if got := call("ada", "mail_all"); !strings.Contains(got, "mail of ada") {
				t.Errorf("the tool of all, for ada: %.300s", got)
			}
			connect("bob")
			shows("bob", "mail_all", "mail_bob")
			if got := call("bob", "mail_ada"); strings.Contains(got, "mail of") {
				t.Errorf("bob calls ada's tool: %.300s", got)
			}
			shows("ada", "mail_all", "mail_ada")

			// Who gets the name later has no list.
			done(t, ".", "people", "remove", "ada")
			add("ada")
			shows("ada", "mail_connect")
		})
	}
}
