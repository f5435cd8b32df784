package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// TestClientThatShowsLinksIsAskedItself runs with a client of each era: one is
// asked while its call is held, the other between two calls.
func TestClientThatShowsLinksIsAskedItself(t *testing.T) { // I-036
	for era, version := range map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			const key = "sk-test-0123456789"
			k := newKeyed(t, key)
			file, state := configured(t, "inbox: off\nupstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
			shown := make(chan *mcp.ElicitParams, 10)
			session := dialFrom(t, version, file, state, func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				shown <- r.Params
				return &mcp.ElicitResult{Action: "accept"}, nil // the person opens the page
			})
			answers := make(chan string, 1)
			go func() { answers <- called(t, session, "linear_issues") }()
			p := <-shown
			hub := inboxOf(t, state)
			r := oneOpen(t, hub)
			if p.Mode != "url" || p.URL != r.URL || r.Status != elicit.Open {
				t.Errorf("the client is shown %+v, want the page %s, and nothing is done with that", p, r.URL)
			}
			paste(t, state, r, key)
			if got := come(t, answers); got != "3 issues" || k.seen() != "1 calls, 0 refused" {
				t.Errorf("the call = %s, the upstream saw %s; want the answer of one call", got, k.seen())
			}
		})
	}
}

func TestClientThatCannotShowLinksIsToldAtOnce(t *testing.T) { // I-033 I-035
	k := newKeyed(t, "key")
	file, state := configured(t, "inbox: off\nupstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
	const want = "Tool linear_issues requires user authentication. The user needs to connect their Linear account before this tool can be used."
	if got := called(t, dialFrom(t, "2025-11-25", file, state, nil), "linear_issues"); got != want || k.seen() != "0 calls, 0 refused" {
		t.Errorf("the call = %s, the upstream saw %s; want %s and no call", got, k.seen(), want)
	}
}

func TestLinkThatIsDeclinedInTheClientEndsTheCall(t *testing.T) { // I-024
	for era, version := range map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			k := newKeyed(t, "key")
			file, state := configured(t, "upstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
			session := dialFrom(t, version, file, state, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "decline"}, nil
			})
			if got := called(t, session, "linear_issues"); !strings.HasPrefix(got, "Authentication required but not provided.") || k.seen() != "0 calls, 0 refused" {
				t.Errorf("the call = %s, the upstream saw %s; want that it was declined", got, k.seen())
			}
		})
	}
}

func TestRequestsOfAServerReachTheCollector(t *testing.T) { // I-050 I-060
	spans := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		spans <- r.URL.Path + " " + string(body)
	}))
	defer collector.Close()
	t.Setenv("DESKHAND_OTLP_ENDPOINT", collector.URL)
	t.Setenv("DESKHAND_ATTEMPT_ID", "attempt-1")
	k := newKeyed(t, "key")
	file, state := configured(t, "upstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
	session := dialFrom(t, "2025-11-25", file, state, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "decline"}, nil
	})
	called(t, session, "linear_issues")
	if list, err := inboxOf(t, state).List(t.Context(), elicit.Filter{AttemptID: "attempt-1", Statuses: []elicit.Status{elicit.Completed}}); err != nil || len(list.Requests) != 1 {
		t.Errorf("requests of the attempt = %+v, %v; want the one", list.Requests, err)
	}
	session.Close() // the last spans are sent at the end
	got := come(t, spans)
	for _, want := range []string{"/v1/traces ", `"elicitation.requested"`, `"elicitation.declined"`, `"attempt-1"`, `"linear"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the collector got %s, want %s in it", got, want)
		}
	}
	if strings.Contains(got, "/connect/") {
		t.Errorf("a span has the address: %s", got)
	}
}

// dialFrom is a client of one era with a server of its own. ask nil: it cannot
// show anything.
func dialFrom(t *testing.T, version, file, state string, ask func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)) *mcp.ClientSession {
	t.Helper()
	o := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}, ElicitationHandler: ask}
	if ask != nil {
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "shows-links", Version: "1"}, o)
	cmd := exec.Command("deskhand", "serve", "--tools", "ask", "--config", file, "--state", state)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// called is the first text of an answer.
func called(t *testing.T, session *mcp.ClientSession, tool string) string {
	result, err := session.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}})
	if err != nil {
		return err.Error()
	}
	return result.Content[0].(*mcp.TextContent).Text
}
