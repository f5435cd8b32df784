package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestHTTPIsClosedToStrangers(t *testing.T) {
	s := overSocket(t, "--index", indexed(t, acme(t, nil)), "--allow-host", "docs.example.com", "--allow-origin", "https://tools.example.com")
	for name, c := range map[string]struct {
		header map[string]string
		status int
		says   string
	}{
		"no token":                  {map[string]string{"Authorization": ""}, 401, "the token is missing or wrong"},
		"a wrong token":             {map[string]string{"Authorization": "Bearer " + bearer + "x"}, 401, "the token is missing or wrong"},
		"a token without Bearer":    {map[string]string{"Authorization": bearer}, 401, "the token is missing or wrong"},
		"a name that resolves here": {map[string]string{"Host": "evil.example"}, 403, "Host 'evil.example' is not this server"},
		"a name that is allowed":    {map[string]string{"Host": "docs.example.com"}, 200, ""},
		"a page of somebody":        {map[string]string{"Origin": "https://evil.example"}, 403, "pages of https://evil.example may not call this server"},
		"a page that is allowed":    {map[string]string{"Origin": "https://tools.example.com"}, 200, ""},
		"a sandboxed page":          {map[string]string{"Origin": "null"}, 403, "may not call"},
		"a form":                    {map[string]string{"Content-Type": "text/plain"}, 415, "Content-Type must be application/json"},
		"a browser's Accept":        {map[string]string{"Accept": "text/html"}, 406, "Accept must contain application/json and text/event-stream"},
		"everything in order":       {nil, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url,
				strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept", "application/json, text/event-stream")
			request.Header.Set("Authorization", "Bearer "+bearer)
			for k, v := range c.header {
				request.Header.Set(k, v)
			}
			request.Host = request.Header.Get("Host")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != c.status || !strings.Contains(string(body), c.says) {
				t.Errorf("status %d, body %.200s, %v; want %d and %q", response.StatusCode, body, err, c.status, c.says)
			}
		})
	}
}

func TestHTTPSaysHowItIs(t *testing.T) {
	s := overSocket(t, "--index", indexed(t, acme(t, nil)))
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"/healthz": {200, `"status":"ok"`},
		"/readyz":  {200, `"status":"ready"`},
		"/metrics": {401, "token"},
		"/mcp":     {401, "token"},
		"/nowhere": {404, "there is nothing at /nowhere"},
	} {
		if status, body := s.get(path); status != want.status || !strings.Contains(body, want.says) {
			t.Errorf("GET %s: %d %.200s, want %d and %q", path, status, body, want.status, want.says)
		}
	}
}

func TestServeOnAPortThatIsTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	r := deskhand(t, t.TempDir(), "serve", "--index", indexed(t, acme(t, nil)), "--no-token", "--http", listener.Addr().String())
	if r.code != 1 || !strings.Contains(r.stderr, "is already in use on 127.0.0.1") || !strings.Contains(r.stderr, "\nhint: ") {
		t.Errorf("exit %d, stderr %q; want 1, that the port is in use, and a hint", r.code, r.stderr)
	}
}

// Without DESKHAND_TOKEN the token is the installation's own, made at the first
// start, readable by its owner alone, and the same at the second.
func TestTokenOfTheInstallation(t *testing.T) {
	index, state := indexed(t, acme(t, nil)), filepath.Join(t.TempDir(), "state")
	var first string
	for range 2 {
		s := socketOf(t, exec.Command("deskhand", "serve", "--http", "127.0.0.1:0", "--index", index, "--state", state))
		path := filepath.Join(state, "token")
		if !strings.Contains(s.stderr.String(), "(token in "+path+")") {
			t.Errorf("stderr %q does not say where the token is", s.stderr)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("mode of the token %v, %v; want 0600", info.Mode(), err)
		}
		s.token = strings.TrimSpace(string(b))
		d := door{t, "http", s.withSession().ask}
		d.succeed("search_docs", `{"query":"jitter"}`)
		if first == "" {
			first = s.token
		}
		if s.token != first || strings.Contains(s.stderr.String(), s.token) {
			t.Errorf("the token changed, or is on stderr: %s", s.stderr)
		}
	}
}

func TestNoTokenOnLoopback(t *testing.T) {
	index := indexed(t, acme(t, nil))
	s := socketOf(t, exec.Command("deskhand", "serve", "--http", "localhost:0", "--index", index, "--no-token"))
	s.token = ""
	d := door{t, "http", s.withSession().ask}
	d.succeed("search_docs", `{"query":"jitter"}`)
	if status, body := s.get("/metrics"); status != 200 || !strings.Contains(body, "deskhand_http_requests_total") {
		t.Errorf("GET /metrics: %d %.200s", status, body)
	}
}
