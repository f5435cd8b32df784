package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/web"
)

// issuer is an authorization server and the MCP server behind it.
func issuer(t *testing.T) *httptest.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "issues", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "issues", InputSchema: json.RawMessage(orderedSchema)}, answering("3 issues"))
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	says := func(path string, v func(*http.Request) any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v(r))
		})
	}
	says("/.well-known/oauth-protected-resource/mcp", func(*http.Request) any {
		return map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}}
	})
	says("/.well-known/oauth-authorization-server", func(*http.Request) any {
		return map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "client_id_metadata_document_supported": true}
	})
	says("/token", func(*http.Request) any {
		return map[string]any{"access_token": "issued-secret", "token_type": "Bearer"}
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"state": {q.Get("state")}, "code": {"c"}, "iss": {s.URL}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer issued-secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// freePort is one that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// TestKilledBetweenConsentAndTheWayBack: a person is at the authorization server
// when deskhand is killed, comes back to a new process, and is connected.
func TestKilledBetweenConsentAndTheWayBack(t *testing.T) { // I-003
	s, port := issuer(t), freePort(t)
	file, state := configured(t, fmt.Sprintf("upstreams:\n  - {name: linear, url: '%s/mcp', credential_scope: user, auth: {client_id: by-hand}}\n", s.URL))
	start := func() *socket {
		return socketOf(t, exec.Command("deskhand", "serve", "--port", port, "--tools", "ask", "--config", file, "--state", state))
	}
	first := start()
	token := tokenOf(t, state)
	client := func(at *socket) *mcpserver.Client {
		c, err := mcpserver.Dial(t.Context(), mcpserver.Target{URL: at.url, Token: token})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	_ = calls(t, client(first), "linear_connect", map[string]any{}) // which ends with the server
	r := oneOpen(t, inboxOf(t, state))

	jar, _ := cookiejar.New(nil)
	back := ""
	browser := &http.Client{Jar: jar, Timeout: patience, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.Path, "/connect/callback") && back == "" {
			back = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}}
	signIn(t, browser, r.URL, state)
	page := peopleOf(t, state).Home(r.URL)
	submit(t, browser, page, url.Values{"token": {hidden.FindStringSubmatch(opened(t, browser, page))[1]}, "act": {"connect"}})
	if back == "" {
		t.Fatal("the authorization server does not lead back")
	}
	first.kill()
	second := start()
	if got := opened(t, browser, back); !strings.Contains(got, "Linear is connected") {
		t.Errorf("the way back to a new process: %s", got)
	}
	c := client(second)
	eventually(t, "the upstream's tools", func() error {
		got := come(t, calls(t, c, "linear_issues", map[string]any{}))
		if !strings.Contains(got, "3 issues") {
			return fmt.Errorf("linear_issues = %s", got)
		}
		return nil
	})
	if log := second.stderr.String() + first.stderr.String(); strings.Contains(log, "issued-secret") {
		t.Errorf("the log shows the token: %s", log)
	}
}

func tokenOf(t *testing.T, state string) string { return secretOf(t, state, "token") }

// peopleOf is how people come in over a state folder.
func peopleOf(t *testing.T, state string) web.People {
	return web.People{Key: secretOf(t, state, web.KeyFile)}
}

func secretOf(t *testing.T, state, file string) string {
	t.Helper()
	secret, err := os.ReadFile(filepath.Join(state, file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(secret))
}

// opened reads a page as a browser does.
func opened(t *testing.T, browser *http.Client, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	answer, err := browser.Do(r)
	return bodyOf(t, answer, err)
}

func submit(t *testing.T, browser *http.Client, address string, form url.Values) string {
	t.Helper()
	answer, err := browser.PostForm(address, form)
	return bodyOf(t, answer, err)
}

func bodyOf(t *testing.T, answer *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
