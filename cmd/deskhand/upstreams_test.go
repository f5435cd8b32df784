package main

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
)

const orderedSchema = `{"type":"object","properties":{"zeta":{"type":"string"},"alpha":{"type":"string"}}}`

// keyed is an MCP server over HTTP that calls need a key for, and what it saw.
type keyed struct {
	*httptest.Server
	mu              sync.Mutex
	calls, refusals int
	by              []string // keys of the calls, in order
}

func newKeyed(t *testing.T, keys ...string) *keyed {
	server := mcp.NewServer(&mcp.Implementation{Name: "keyed", Version: "1"}, nil)
	k := &keyed{}
	server.AddTool(&mcp.Tool{Name: "issues", Description: "lists issues", InputSchema: json.RawMessage(orderedSchema)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.calls++
			k.by = append(k.by, strings.TrimPrefix(r.Extra.Header.Get("Authorization"), "Bearer "))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "3 issues"}}}, nil
		})
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if strings.Contains(string(body), `"tools/call"`) && !slices.Contains(keys, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
			k.mu.Lock()
			k.refusals++
			k.mu.Unlock()
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { k.CloseClientConnections(); k.Close() })
	return k
}

func (k *keyed) seen() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return fmt.Sprintf("%d calls, %d refused", k.calls, k.refusals)
}

// answering is a tool that says one thing.
func answering(text string) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
}

// configured writes a configuration file and names it and a state folder.
func configured(t *testing.T, config string) (file, state string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "deskhand.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, filepath.Join(dir, "state")
}

// Whoever moves the servers of a client into upstreams may move deskhand along.
func TestAServerThatIsItsOwnUpstreamIsStartedOnce(t *testing.T) {
	file, state := configured(t, "")
	config, err := json.Marshal(map[string]any{"inbox": "off", "upstreams": []any{map[string]any{"name": "me",
		"command": []string{"deskhand", "serve", "--tools", "ask", "--config", file, "--state", state}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	p := unmet(t, "--tools", "ask", "--config", file, "--state", state)
	p.rpc("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"byhand","version":"1"}}`)
	p.line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	list, err := p.ask("tools/list", "{}")
	if err != nil || !strings.Contains(string(list.Result), `"me_ask_user"`) || strings.Contains(string(list.Result), `"me_me_`) {
		t.Errorf("tools/list = %s, %v; want me_ask_user, and no round more", list.Result, err)
	}
}

// This shows what an agent and a person go through, with a
// server in a process of its own.
func TestUpstreamCallWaitsForThePersonAndGoesThroughOnce(t *testing.T) { // I-001 I-027 I-029 I-031 I-059 I-061
	const key = "sk-test-0123456789"
	k := newKeyed(t, key)
	file, state := configured(t, "log_format: json\nupstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
	p := unmet(t, "--tools", "ask", "--config", file, "--state", state)
	p.rpc("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"byhand","version":"1"}}`)
	p.line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	list, err := p.ask("tools/list", "{}")
	if err != nil || !strings.Contains(string(list.Result), `"inputSchema":`+orderedSchema) {
		t.Fatalf("tools/list = %s, %v; want linear_issues with its schema as it is", list.Result, err)
	}
	answers := make(chan message, 1)
	go func() {
		m, _ := p.ask("tools/call", `{"name":"linear_issues","arguments":{"zeta":"z"}}`)
		answers <- m
	}()
	hub := inboxOf(t, state)
	r := oneOpen(t, hub)
	if r.Mode != elicit.URL || r.Trigger != elicit.CredentialRequired || !strings.HasSuffix(r.URL, "/connect/"+r.ID) {
		t.Fatalf("request = %+v, want the page to connect on", r)
	}
	page := paste(t, state, r, key)
	if !strings.Contains(page, "Linear is connected") {
		t.Errorf("the page says %s", page)
	}
	m := <-answers
	if !strings.Contains(string(m.Result), "3 issues") || k.seen() != "1 calls, 0 refused" {
		t.Errorf("the call = %s, the upstream saw %s; want the answer of one call", m.Result, k.seen())
	}
	log := p.stderr.String()
	for _, want := range []string{`"elicitation.requested"`, `"elicitation.completed"`, `"trigger":"credential_required"`, `"toolName":"linear_issues"`, `"toolId":"linear"`, `"credentialType":"header"`, `"userId":"local"`, `"outcome":"accept"`, `"duration"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s: %s", want, log)
		}
	}
	listed, err := exec.Command("ps", "axww").Output() // where there is none, nothing is shown either
	if err != nil {
		listed = nil
	}
	for place, text := range map[string]string{"log": log, "page": page, "answer": string(m.Result), "processes": string(listed)} {
		if strings.Contains(text, key) {
			t.Errorf("the %s shows the key", place)
		}
	}
}

var hidden = regexp.MustCompile(`name="token" value="([^"]*)"`)

// paste signs a browser in and gives a key on the page of a request.
func paste(t *testing.T, state string, r elicit.Request, key string) string {
	t.Helper()
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar, Timeout: patience}
	signIn(t, browser, r.URL, state)
	home := peopleOf(t, state).Home(r.URL)
	m := hidden.FindStringSubmatch(opened(t, browser, home))
	if m == nil {
		t.Fatal("the page has no form")
	}
	return submit(t, browser, home, url.Values{"token": {m[1]}, "act": {"connect"}, "key": {key}})
}

// signIn lets a browser in at deskhand, which a page asks it to.
func signIn(t *testing.T, browser *http.Client, page, state string) {
	t.Helper()
	base, _, _ := strings.Cut(page, "/connect/")
	login := opened(t, browser, page)
	if !strings.Contains(login, "Sign in to deskhand") {
		t.Fatalf("the page is open to everybody: %s", login)
	}
	in := peopleOf(t, state)
	onward := submit(t, browser, base+"/login", url.Values{"token": {hidden.FindStringSubmatch(login)[1]}, "key": {in.Key}})
	m := regexp.MustCompile(`href="(http[^"]*/login[^"]*)"`).FindStringSubmatch(onward)
	if m == nil || !strings.HasPrefix(m[1], in.Home(base)) {
		t.Fatalf("the page does not lead to %s: %s", in.Home(base), onward)
	}
	opened(t, browser, html.UnescapeString(m[1]))
}

func TestUpstreamToolsAreServedOverHTTPToo(t *testing.T) {
	k := newKeyed(t, "x")
	file, state := configured(t, "upstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
	cmd := exec.Command("deskhand", "serve", "--http", "127.0.0.1:0", "--tools", "ask", "--config", file, "--state", state)
	s := socketOf(t, cmd)
	c, err := mcpserver.Dial(t.Context(), mcpserver.Target{URL: s.url, Token: tokenOf(t, state)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answers := calls(t, c, "linear_issues", map[string]any{})
	hub := inboxOf(t, state)
	r := oneOpen(t, hub)
	if !strings.HasPrefix(r.URL, strings.TrimSuffix(s.url, "/mcp")+"/connect/") {
		t.Errorf("the page is at %s, want it on the server itself, %s", r.URL, s.url)
	}
	connect := exec.Command("deskhand", "connect", "linear", "--config", file, "--state", state)
	connect.Stdin = strings.NewReader("x-but-wrong")
	if out, err := connect.CombinedOutput(); err != nil {
		t.Fatalf("deskhand connect: %v %s", err, out)
	}
	// The request ends by the command line too; the key is refused there, once.
	if got := come(t, answers); !strings.Contains(got, "refused the credential that was just connected") {
		t.Errorf("the call = %s, want that the key is refused", got)
	}
	if k.seen() != "0 calls, 1 refused" {
		t.Errorf("the upstream saw %s, want one refusal", k.seen())
	}
}

func TestUpstreamOverStdioIsServed(t *testing.T) {
	file, state := configured(t, "upstreams:\n  - {name: desk, command: [deskhand, serve, --tools, ask, --state, "+t.TempDir()+"], allow: ask_user}\n")
	p := unmet(t, "--tools", "ask", "--config", file, "--state", state)
	p.rpc("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"byhand","version":"1"}}`)
	p.line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	list, err := p.ask("tools/list", "{}")
	if err != nil || !strings.Contains(string(list.Result), `"desk_ask_user"`) || strings.Contains(string(list.Result), `"desk_await_answer"`) {
		t.Fatalf("tools/list = %s, %v; want desk_ask_user and no other of it", list.Result, err)
	}
	m, err := p.ask("tools/call", `{"name":"desk_ask_user","arguments":{"questions":[]}}`)
	if err != nil || !strings.Contains(string(m.Result), "at least 1 item") || !strings.Contains(string(m.Result), `"isError":true`) {
		t.Errorf("desk_ask_user = %s, %v; want its own refusal", m.Result, err)
	}
}
