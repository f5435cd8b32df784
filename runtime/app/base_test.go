package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/waittest"
)

const (
	publicHost = "desk.example.test"
	publicPath = "/deskhand"
)

// proxies are the ways to put a server below a path of another: the path removed from
// requests, or kept.
var proxies = []struct {
	name  string
	start func(t *testing.T, listen, server string)
}{
	{"Go, path removed", func(t *testing.T, listen, server string) { goProxy(t, listen, server, true) }},
	{"Go, path kept", func(t *testing.T, listen, server string) { goProxy(t, listen, server, false) }},
	{"nginx, path removed", func(t *testing.T, listen, server string) { nginx(t, listen, server+"/") }},
	{"nginx, path kept", func(t *testing.T, listen, server string) { nginx(t, listen, server) }},
	{"Caddy, path removed", func(t *testing.T, listen, server string) { caddy(t, listen, server, "handle_path") }},
	{"Caddy, path kept", func(t *testing.T, listen, server string) { caddy(t, listen, server, "handle") }},
}

// With a base path, every page and everything that a page refers to is below it.
func TestEveryPageWorksBelowABasePath(t *testing.T) {
	for _, proxy := range proxies {
		t.Run(proxy.name, func(t *testing.T) {
			at, server := unused(t), unused(t)
			proxy.start(t, at, server)
			base := "http://" + publicHost + ":" + portOf(at) + publicPath
			b := &browser{t: t, base: base, client: clientAt(t, at)}
			in, question := below(t, base, server)
			b.crawl(in)
			for _, path := range []string{"/", "/inbox/" + question, "/history", "/search", "/work", "/manual"} {
				if !b.seen[publicPath+path] {
					t.Errorf("no page leads to %s%s; seen: %d pages", publicPath, path, len(b.seen))
				}
			}
			b.answer(question)
			b.programs()
		})
	}
}

// below starts a server with all pages, which is reached at base. It returns a link that
// signs in, and the ID of an open question.
func below(t *testing.T, base, addr string) (in, question string) {
	t.Helper()
	c := house(t)
	c.BaseURL, c.PublicURL = base, base
	corpus, index := t.TempDir(), filepath.Join(t.TempDir(), "index")
	build(t, corpus, index, 1)
	c.Docs.Value.Dir, c.Docs.Value.Tools.MaxAnswerBytes = index, 100_000
	a := Open(c)
	ctx, stop := context.WithCancel(context.Background())
	said, ended := make(chan string, 10), make(chan error, 1)
	go func() {
		ended <- a.Serve(ctx, Service{Groups: []string{"docs", "ask", "work"}, Addr: addr, Tell: func(text string) { said <- text }})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	select {
	case text := <-said:
		if !strings.HasPrefix(text, "serving MCP at "+base+"/mcp") {
			t.Errorf("the server says %q, want its address %s/mcp", text, base)
		}
	case err := <-ended:
		ended <- err
		t.Fatalf("Serve: %v", err)
	case <-time.After(waittest.Patience):
		t.Fatal("the server does not listen")
	}
	hub, err := a.Hub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Questions: []elicit.Question{{ID: "q", Message: "Which name?", Required: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return c.Visitors.Value.LoginLink(base, "/inbox/"+r.ID), r.ID
}

// browser follows links as a browser does.
type browser struct {
	t      *testing.T
	base   string
	client *http.Client
	seen   map[string]bool // paths
	token  string          // of the forms
}

func clientAt(t *testing.T, at string) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, at)
	}
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Hostname() != publicHost || !strings.HasPrefix(r.URL.Path, publicPath+"/") {
			return fmt.Errorf("a redirect leads to %s, which is not below the base path", r.URL)
		}
		return nil
	}}
}

// mostPages bounds a crawl: the manual has some hundred pages, and a few are enough.
const mostPages = 30

// crawl opens a page and everything that it leads to.
func (b *browser) crawl(start string) {
	b.t.Helper()
	b.seen = map[string]bool{}
	for todo := []string{start}; len(todo) > 0 && len(b.seen) < mostPages; todo = todo[1:] {
		at, err := url.Parse(todo[0])
		if err != nil {
			b.t.Fatal(err)
		}
		if b.seen[at.Path] || at.Hostname() != publicHost {
			continue
		}
		b.seen[at.Path] = true
		response, body := b.get(todo[0])
		if response.StatusCode != http.StatusOK {
			b.t.Errorf("GET %s: %s %.200s", todo[0], response.Status, body)
			continue
		}
		b.seen[response.Request.URL.Path] = true
		switch kind := response.Header.Get("Content-Type"); {
		case strings.HasPrefix(kind, "text/html"):
			todo = append(todo, b.links(response.Request.URL, body)...)
		case strings.Contains(kind, "javascript"):
			if path := bareInScript.FindString(body); path != "" {
				b.t.Errorf("%s asks for %s, which is not below the base path", at.Path, path)
			}
		}
	}
}

// bareInScript matches an address at the root in a script's requests and moves.
var bareInScript = regexp.MustCompile("(?:fetch|ask|post|EventSource|WebSocket|assign|replace|pushState|leave)\\((?:[^()]*, )?['\"`]/[a-z][^'\"`]*")

func (b *browser) get(address string) (*http.Response, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,*/*")
	return b.do(r)
}

func (b *browser) do(r *http.Request) (*http.Response, string) {
	b.t.Helper()
	response, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range response.Cookies() {
		if c.Path != publicPath {
			b.t.Errorf("%s sets cookie %s for %q, want only %s", r.URL.Path, c.Name, c.Path, publicPath)
		}
	}
	return response, string(body)
}

// links returns the addresses of a page, and checks those of its forms.
func (b *browser) links(page *url.URL, body string) (found []string) {
	for z := html.NewTokenizer(strings.NewReader(body)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return found
		case html.StartTagToken, html.SelfClosingTagToken:
		default:
			continue
		}
		tag := z.Token()
		attributes := map[string]string{}
		for _, a := range tag.Attr {
			attributes[a.Key] = a.Val
			if !slices.Contains([]string{"href", "src", "action", "formaction", "data-news", "data-src"}, a.Key) || a.Val == "" {
				continue
			}
			to, err := page.Parse(a.Val)
			if err != nil || to.Host == page.Host && !strings.HasPrefix(to.Path, publicPath+"/") {
				b.t.Errorf("%s: <%s %s=%q> leads out of the base path (%v)", page.Path, tag.Data, a.Key, a.Val, err)
			} else if a.Key == "href" || a.Key == "src" {
				found = append(found, to.String())
			}
		}
		if tag.Data == "html" && attributes["data-base"] != publicPath {
			b.t.Errorf("%s: the scripts' base is %q, want %s", page.Path, attributes["data-base"], publicPath)
		}
		if tag.Data == "meta" && attributes["name"] == "token" {
			b.token = attributes["content"]
		}
	}
}

// answer sends the form of a question, as its page does.
func (b *browser) answer(question string) {
	b.t.Helper()
	b.get(b.base + "/inbox/" + question) // for the token of its form
	form := url.Values{"token": {b.token}, "do.act": {"send"}, "a.q": {"Endurance"}}
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.base+"/inbox/"+question, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	u, _ := url.Parse(b.base)
	r.Header.Set("Origin", "http://"+u.Host)
	response, body := b.do(r)
	if response.StatusCode >= 400 {
		b.t.Errorf("POST of the answer: %s %.300s", response.Status, body)
	}
	if _, body := b.get(b.base + "/history"); !strings.Contains(body, "Which name?") {
		b.t.Errorf("the history does not have the question that was answered: %.300s", body)
	}
}

// programs calls what is for programs.
func (b *browser) programs() {
	b.t.Helper()
	call := func(method, path, body string, header ...string) (*http.Response, string) {
		ctx, stop := context.WithTimeout(b.t.Context(), waittest.Patience)
		b.t.Cleanup(stop)
		r, err := http.NewRequestWithContext(ctx, method, b.base+path, strings.NewReader(body))
		if err != nil {
			b.t.Fatal(err)
		}
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			r.Header.Set(name, value)
		}
		response, err := b.client.Transport.RoundTrip(r)
		if err != nil {
			b.t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode == http.StatusSwitchingProtocols || strings.HasPrefix(path, "/inbox/events") {
			return response, "" // it does not end
		}
		text, err := io.ReadAll(response.Body)
		if err != nil {
			b.t.Fatal(err)
		}
		return response, string(text)
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	if r, body := call("POST", "/mcp", hello, "Authorization: Bearer "+agentsToken, "Content-Type: application/json", "Accept: application/json, text/event-stream"); r.StatusCode != 200 || !strings.Contains(body, "protocolVersion") {
		b.t.Errorf("POST /mcp: %s %s", r.Status, body)
	}
	if r, body := call("GET", "/healthz", ""); r.StatusCode != 200 {
		b.t.Errorf("GET /healthz: %s %s", r.Status, body)
	}
	if r, body := call("GET", "/ahp", "", "Authorization: Bearer "+personsKey, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="); r.StatusCode != http.StatusSwitchingProtocols {
		b.t.Errorf("GET /ahp as a WebSocket: %s %s", r.Status, body)
	}
	if r, body := call("GET", "/inbox/events?after=0", "", "Authorization: Bearer "+personsKey, "Accept: text/event-stream"); r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
		b.t.Errorf("GET /inbox/events: %s %s", r.Status, body)
	}
	if r, body := call("GET", "/search?q=edition", "", "Authorization: Bearer "+personsKey, "Accept: text/html"); r.StatusCode != 200 {
		b.t.Errorf("GET /search: %s %s", r.Status, body)
	}
}

// unused returns an address at which nothing listens.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

func goProxy(t *testing.T, listen, server string, remove bool) {
	target := &url.URL{Scheme: "http", Host: server}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	var h http.Handler = proxy
	if remove {
		h = http.StripPrefix(publicPath, proxy)
	}
	mux := http.NewServeMux() // the rest is another site's
	mux.Handle(publicPath+"/", h)
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: mux}
	go s.Serve(l) //nolint:errcheck // it ends with Close
	t.Cleanup(func() { s.Close() })
}

// program starts a proxy's program, if it is installed, and waits until it listens.
func program(t *testing.T, listen, dir string, words ...string) {
	t.Helper()
	if _, err := exec.LookPath(words[0]); err != nil {
		if os.Getenv("DESKHAND_TEST_PROXY") == "require" {
			t.Fatalf("%s is not installed, and DESKHAND_TEST_PROXY requires it", words[0])
		}
		t.Skipf("NOT TESTED: a base path behind %s: it is not installed", words[0])
	}
	cmd := exec.Command(words[0], words[1:]...)
	log := &waittest.Log{}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt) //nolint:errcheck // it may have ended
		cmd.Wait()                       //nolint:errcheck // by the signal
	})
	waittest.Until(t, words[0]+" listens", func() (bool, any) { return Listening(t.Context(), listen), log })
}

func written(t *testing.T, name, text string) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

func nginx(t *testing.T, listen, server string) {
	dir, path := written(t, "nginx.conf", `
daemon off; master_process off; pid nginx.pid; error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  map $http_upgrade $upgrade { default upgrade; "" close; }
  server {
    listen `+listen+`;
    location `+publicPath+`/ {
      proxy_pass http://`+server+`;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $upgrade;
      proxy_buffering off;
      proxy_read_timeout 1h;
    }
  }
}
`)
	program(t, listen, dir, "nginx", "-p", dir, "-c", path, "-e", "stderr")
}

func caddy(t *testing.T, listen, server, handle string) {
	dir, path := written(t, "Caddyfile", `{
	admin off
	auto_https off
}
:`+portOf(listen)+` {
	bind 127.0.0.1
	`+handle+` `+publicPath+`/* {
		reverse_proxy `+server+`
	}
}
`)
	program(t, listen, dir, "caddy", "run", "--config", path, "--adapter", "caddyfile")
}
