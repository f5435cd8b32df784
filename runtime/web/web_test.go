package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// running is a server on a real port.
type running struct {
	addr  string
	log   *bytes.Buffer // read after stop
	stop  func() error
	calls chan string // handlers report their calls here
}

// run starts a server with a few handlers and stops it when the test ends.
func run(t *testing.T, opts Options) *running {
	t.Helper()
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	rt := &running{log: &bytes.Buffer{}, calls: make(chan string, 16)}
	opts.Logger = slog.New(slog.NewTextHandler(rt.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if opts.Mounts == nil {
		opts.Access = map[string]access.Rule{"/mcp": {Level: access.Agents}, "/panic": {Level: access.Agents}, "/wait": {Level: access.Agents}, "/stream": {Level: access.Agents}, "/flood": {Level: access.Agents}}
		opts.Mounts = map[string]http.Handler{
			"/mcp": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
					w.WriteHeader(http.StatusRequestEntityTooLarge)
					return
				}
				if err != nil {
					rt.calls <- "body: " + err.Error()
					return
				}
				fmt.Fprintf(w, "read %d", len(body))
			}),
			"/panic": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") }),
			"/wait": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rt.calls <- "waiting"
				select {
				case <-time.After(300 * time.Millisecond):
					fmt.Fprint(w, "done")
				case <-r.Context().Done():
					rt.calls <- "cut"
				}
			}),
			"/stream": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, ": ok\n\n")
				_ = http.NewResponseController(w).Flush()
				rt.calls <- "streaming"
				<-r.Context().Done()
				rt.calls <- "stream ended"
			}),
			"/flood": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				chunk := make([]byte, 1<<20)
				for {
					if _, err := w.Write(chunk); err != nil {
						rt.calls <- "flood ended"
						return
					}
				}
			}),
		}
	}
	bound := make(chan net.Addr, 1)
	opts.OnListen = func(a net.Addr) { bound <- a }
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	select {
	case a := <-bound:
		rt.addr = a.String()
	case err := <-ended:
		t.Fatal(err)
	}
	rt.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := rt.stop(); err != nil {
			t.Errorf("Serve = %v, want nil", err)
		}
	})
	return rt
}

// ask sends one request; header has lines such as "Origin: null".
func (rt *running) ask(t *testing.T, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+rt.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Add(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(all)
}

const right = "Authorization: Bearer right-token-right-token"

var guardedOptions = Options{Token: "right-token-right-token", Build: map[string]string{"name": "deskhand", "version": "1"}}

func TestWhoMayComeIn(t *testing.T) {
	opts := guardedOptions
	opts.AllowedHosts = []string{"desk.example"}
	opts.AllowedOrigins = []string{"https://inspector.example"}
	rt := run(t, opts)
	for name, c := range map[string]struct {
		method, path string
		header       []string
		want         int
	}{
		"right token":              {"POST", "/mcp", []string{right}, 200},
		"scheme in lower case":     {"POST", "/mcp", []string{"Authorization: bearer right-token-right-token"}, 200},
		"no token":                 {"POST", "/mcp", nil, 401},
		"wrong token":              {"POST", "/mcp", []string{"Authorization: Bearer wrong"}, 401},
		"empty token":              {"POST", "/mcp", []string{"Authorization: Bearer "}, 401},
		"prefix of the token":      {"POST", "/mcp", []string{"Authorization: Bearer right-token"}, 401},
		"basic":                    {"POST", "/mcp", []string{"Authorization: Basic right-token-right-token"}, 401},
		"token in the address":     {"POST", "/mcp?token=right-token-right-token", nil, 401},
		"token in a cookie":        {"POST", "/mcp", []string{"Cookie: token=right-token-right-token"}, 401},
		"health needs none":        {"GET", "/healthz", nil, 200},
		"readiness needs none":     {"GET", "/readyz", nil, 200},
		"metrics need one":         {"GET", "/metrics", nil, 401},
		"metrics":                  {"GET", "/metrics", []string{right}, 200},
		"localhost":                {"POST", "/mcp", []string{right, "Host: localhost:99"}, 200},
		"name under localhost":     {"POST", "/mcp", []string{right, "Host: desk.localhost"}, 200},
		"::1":                      {"POST", "/mcp", []string{right, "Host: [::1]:20310"}, 200},
		"allowed host":             {"POST", "/mcp", []string{right, "Host: Desk.Example:443"}, 200},
		"rebound host":             {"POST", "/mcp", []string{right, "Host: evil.example"}, 403},
		"rebound host, health":     {"GET", "/healthz", []string{"Host: evil.example:20310"}, 403},
		"looks like localhost":     {"POST", "/mcp", []string{right, "Host: localhost.evil.example"}, 403},
		"looks like 127.0.0.1":     {"POST", "/mcp", []string{right, "Host: 127.0.0.1.evil.example"}, 403},
		"address of another":       {"POST", "/mcp", []string{right, "Host: 192.0.2.7"}, 403},
		"own origin":               {"POST", "/mcp", []string{right, "Origin: http://" + rt.addr}, 200},
		"allowed origin":           {"POST", "/mcp", []string{right, "Origin: https://inspector.example"}, 200},
		"foreign origin":           {"POST", "/mcp", []string{right, "Origin: https://evil.example"}, 403},
		"foreign origin, health":   {"GET", "/healthz", []string{"Origin: https://evil.example"}, 403},
		"origin null":              {"POST", "/mcp", []string{right, "Origin: null"}, 403},
		"origin of another port":   {"POST", "/mcp", []string{right, "Origin: http://127.0.0.1:1"}, 403},
		"origin with our prefix":   {"POST", "/mcp", []string{right, "Origin: http://" + rt.addr + ".evil.example"}, 403},
		"origin file":              {"POST", "/mcp", []string{right, "Origin: file://"}, 403},
		"origin empty":             {"POST", "/mcp", []string{right, "Origin: "}, 403},
		"two origins":              {"POST", "/mcp", []string{right, "Origin: http://" + rt.addr, "Origin: https://evil.example"}, 403},
		"foreign origin, no token": {"POST", "/mcp", []string{"Origin: https://evil.example"}, 403},
		"preflight, allowed":       {"OPTIONS", "/mcp", []string{"Origin: https://inspector.example", "Access-Control-Request-Method: POST"}, 204},
		"preflight, foreign":       {"OPTIONS", "/mcp", []string{"Origin: https://evil.example", "Access-Control-Request-Method: POST"}, 403},
		"nothing there":            {"GET", "/wp-admin.php", nil, 404},
		"OAuth, the resource":      {"GET", "/.well-known/oauth-protected-resource/mcp", nil, 404},
		"OAuth, the server":        {"GET", "/.well-known/oauth-authorization-server", nil, 404},
		"OAuth, sign up":           {"POST", "/register", []string{"Content-Type: application/json"}, 404},
		"below a mount":            {"GET", "/mcp/x", []string{right}, 404},
		"root":                     {"GET", "/", nil, 404},
		"POST to health":           {"POST", "/healthz", nil, 405},
		"DELETE of readiness":      {"DELETE", "/readyz", nil, 405},
		"HEAD of health":           {"HEAD", "/healthz", nil, 200},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := rt.ask(t, c.method, c.path, "", c.header...)
			if resp.StatusCode != c.want {
				t.Errorf("%s %s %q = %d %s, want %d", c.method, c.path, c.header, resp.StatusCode, body, c.want)
			}
			if c.want == 401 && resp.Header.Get("WWW-Authenticate") != `Bearer realm="deskhand"` {
				t.Errorf("401 with WWW-Authenticate %q", resp.Header.Get("WWW-Authenticate"))
			}
			if c.want == 405 && resp.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("405 with Allow %q", resp.Header.Get("Allow"))
			}
			var refusal struct {
				Error       string
				Description string `json:"error_description"`
			}
			if err := json.Unmarshal([]byte(body), &refusal); c.want >= 400 && (err != nil || refusal.Error == "" || refusal.Description == "") {
				t.Errorf("%d with %q, want an error that OAuth clients can read: %v", c.want, body, err)
			}
			if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("X-Frame-Options") != "DENY" {
				t.Errorf("headers %v", resp.Header)
			}
			cors := resp.Header.Get("Access-Control-Allow-Origin")
			if want := name == "allowed origin" || name == "preflight, allowed"; (cors == "https://inspector.example") != want || !want && cors != "" {
				t.Errorf("Access-Control-Allow-Origin %q", cors)
			}
		})
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	rt := run(t, guardedOptions)
	for name, c := range map[string]struct {
		path   string
		header []string
		want   string
	}{
		"no token":   {"/mcp", nil, "send this server's token as Authorization: Bearer TOKEN"},
		"sign up":    {"/register", nil, "this server has no OAuth: send this server's token as Authorization: Bearer TOKEN"},
		"discovery":  {"/mcp/.well-known/openid-configuration", nil, "this server has no OAuth"},
		"agent card": {"/.well-known/agent-card.json", nil, "set a2a.enabled to true"},
		"wrong host": {"/mcp", []string{"Host: docs.example"}, "--allow-host NAME"},
		"a page":     {"/mcp", []string{"Origin: https://pages.example"}, "--allow-origin ORIGIN"},
	} {
		if _, body := rt.ask(t, "POST", c.path, "{}", c.header...); !strings.Contains(body, c.want) {
			t.Errorf("%s: %s, want %q", name, body, c.want)
		}
	}
}

func TestHealthAndReadiness(t *testing.T) {
	opts := guardedOptions
	opts.Ready = func() error { return errors.New("the artifact is not open yet") }
	rt := run(t, opts)
	if _, body := rt.ask(t, "GET", "/healthz", ""); body != `{"status":"ok","build":{"name":"deskhand","version":"1"}}`+"\n" {
		t.Errorf("/healthz = %s", body)
	}
	resp, body := rt.ask(t, "GET", "/readyz", "")
	if resp.StatusCode != 503 || !strings.Contains(body, "the artifact is not open yet") {
		t.Errorf("/readyz = %d %s, want 503 and why", resp.StatusCode, body)
	}
}

func TestMetricsCountByRoute(t *testing.T) {
	rt := run(t, guardedOptions)
	rt.ask(t, "POST", "/mcp", "x", right)
	rt.ask(t, "POST", "/mcp", "x")
	rt.ask(t, "POST", "/panic", "", right)
	rt.ask(t, "GET", "/no/such/"+strings.Repeat("x", 100), "")
	_, body := rt.ask(t, "GET", "/metrics", "", right)
	for _, want := range []string{
		`deskhand_http_requests_total{route="/mcp",status="200"} 1`,
		`deskhand_http_requests_total{route="/mcp",status="401"} 1`,
		`deskhand_http_requests_total{route="/panic",status="500"} 1`,
		`deskhand_http_requests_total{route="/",status="404"} 1`,
		`deskhand_http_request_duration_seconds_count{route="/mcp"} 2`,
		`deskhand_http_requests_in_flight{route="/mcp"} 0`,
		`deskhand_http_requests_in_flight{route="/metrics"} 1`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if strings.Contains(body, "/no/such") {
		t.Error("/metrics has a path of the client's making")
	}
}

func TestPanicsAreAnsweredWithAnID(t *testing.T) {
	rt := run(t, guardedOptions)
	resp, body := rt.ask(t, "GET", "/panic", "", right)
	_, id, _ := strings.Cut(body, "internal error (id ")
	if resp.StatusCode != 500 || len(id) < 8 || strings.Contains(body, "secret") {
		t.Fatalf("/panic = %d %s", resp.StatusCode, body)
	}
	if resp, _ := rt.ask(t, "GET", "/healthz", ""); resp.StatusCode != 200 {
		t.Error("the server does not live on")
	}
	if err := rt.stop(); err != nil {
		t.Fatal(err)
	}
	if log := rt.log.String(); !strings.Contains(log, "error_id="+id[:8]) || !strings.Contains(log, "secret") {
		t.Errorf("log lacks the id %s or the reason: %s", id[:8], log)
	}
}

func TestSizesAreBounded(t *testing.T) {
	opts := guardedOptions
	opts.MaxBodyBytes, opts.MaxHeaderBytes = 1000, 8<<10
	rt := run(t, opts)
	if _, body := rt.ask(t, "POST", "/mcp", strings.Repeat("x", 1000), right); body != "read 1000" {
		t.Errorf("1000 bytes: %s", body)
	}
	if resp, _ := rt.ask(t, "POST", "/mcp", strings.Repeat("x", 1001), right); resp.StatusCode != 413 {
		t.Errorf("1001 bytes: %d, want 413", resp.StatusCode)
	}
	if resp, _ := rt.ask(t, "POST", "/mcp", "", right, "X-Long: "+strings.Repeat("x", 16<<10)); resp.StatusCode != 431 {
		t.Errorf("a header of 16 KiB: %d, want 431", resp.StatusCode)
	}
}

// dial opens a connection and sends text on it.
func (rt *running) dial(t *testing.T, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", rt.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// closed waits until the server closes a connection.
func closed(t *testing.T, what string, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, c); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: the connection is still open", what)
	}
}

func TestSlowClientsAreLetGo(t *testing.T) {
	opts := guardedOptions
	opts.HeaderTime, opts.BodyTime, opts.WriteTime, opts.IdleTime = 100*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
	rt := run(t, opts)
	request := "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + right + "\r\n"

	closed(t, "nothing sent", rt.dial(t, ""))
	closed(t, "half a header", rt.dial(t, "GET /healthz HTTP/1.1\r\nHost: loc"))
	drip := rt.dial(t, "GET /healthz HTTP/1.1\r\n")
	go func() {
		for {
			if _, err := io.WriteString(drip, "X-A: b\r\n"); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	closed(t, "a dripping header", drip)

	closed(t, "half a body", rt.dial(t, request+"Content-Length: 100\r\n\r\nabc"))
	if got := <-rt.calls; !strings.HasPrefix(got, "body: ") || !strings.Contains(got, "timeout") {
		t.Errorf("the handler says %q", got)
	}
	closed(t, "a chunk that does not end", rt.dial(t, request+"Transfer-Encoding: chunked\r\n\r\n5\r\nab"))
	<-rt.calls
	closed(t, "a body that nobody reads", rt.dial(t, "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc"))
	closed(t, "idle after a request", rt.dial(t, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"))

	rt.dial(t, "GET /flood HTTP/1.1\r\nHost: localhost\r\n"+right+"\r\n\r\n") // and reads nothing
	if got := <-rt.calls; got != "flood ended" {
		t.Errorf("a client that does not read: %q", got)
	}
}

func TestStreamsOutliveTheTimes(t *testing.T) {
	opts := guardedOptions
	opts.HeaderTime, opts.BodyTime, opts.WriteTime, opts.IdleTime = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	opts.Grace = 50 * time.Millisecond
	rt := run(t, opts)
	c := rt.dial(t, "POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"+right+"\r\n\r\n")
	io.WriteString(c, "{}")
	if got := <-rt.calls; got != "streaming" {
		t.Fatal(got)
	}
	waittest.Nothing(t, "the end of a silent stream after its times", rt.calls)
	if err := rt.stop(); err != nil {
		t.Error(err)
	}
	if got := <-rt.calls; got != "stream ended" {
		t.Errorf("at shutdown the stream says %q", got)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	opts := guardedOptions
	opts.MaxConns = 2
	rt := run(t, opts)
	const ask = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	stream := "POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n" + right + "\r\n\r\n{}"
	answered := func(c net.Conn, within time.Duration) bool {
		_ = c.SetReadDeadline(time.Now().Add(within))
		line, _ := bufio.NewReader(c).ReadString('\n')
		return strings.HasPrefix(line, "HTTP/1.1 200")
	}
	first, _ := rt.dial(t, stream), rt.dial(t, stream)
	<-rt.calls
	<-rt.calls
	third := rt.dial(t, ask)
	if answered(third, 200*time.Millisecond) {
		t.Error("a third connection is answered beside two with requests")
	}
	first.Close()
	if !answered(third, 5*time.Second) {
		t.Error("the third is not answered after the first has gone")
	}
}

func TestSilentConnectionsKeepNobodyOut(t *testing.T) {
	opts := guardedOptions
	opts.MaxConns, opts.HeaderTime = 4, time.Minute
	rt := run(t, opts)
	var silent []net.Conn
	for i := range 20 {
		silent = append(silent, rt.dial(t, []string{"", "GET /healthz HTTP/1.1\r\n"}[i%2]))
	}
	for range 3 {
		if r, _ := rt.ask(t, "GET", "/healthz", ""); r.StatusCode != http.StatusOK {
			t.Errorf("a request beside silent connections = %d, want 200", r.StatusCode)
		}
	}
	for _, c := range silent[:16] {
		closed(t, "a silent connection that others came after", c)
	}
}

func TestShutdownLetsRequestsFinish(t *testing.T) {
	rt := run(t, guardedOptions)
	got := make(chan string, 1)
	go func() {
		_, body := rt.ask(t, "GET", "/wait", "", right)
		got <- body
	}()
	<-rt.calls
	if err := rt.stop(); err != nil {
		t.Errorf("Serve = %v", err)
	}
	if body := <-got; body != "done" {
		t.Errorf("the request in flight was answered with %q, want done", body)
	}
	if _, err := net.Dial("tcp", rt.addr); err == nil {
		t.Error("the port still accepts")
	}
}

func TestShutdownCutsWhatDoesNotEnd(t *testing.T) {
	opts := guardedOptions
	opts.Grace = 30 * time.Millisecond
	told := make(chan struct{}, 2)
	opts.OnShutdown = func() { told <- struct{}{} }
	rt := run(t, opts)
	rt.dial(t, "GET /wait HTTP/1.1\r\nHost: localhost\r\n"+right+"\r\n\r\n")
	<-rt.calls
	if err := rt.stop(); err != nil {
		t.Errorf("Serve = %v", err)
	}
	if got := <-rt.calls; got != "cut" {
		t.Errorf("the handler says %q, want cut", got)
	}
	if <-told; len(told) != 0 {
		t.Error("OnShutdown was called twice")
	}
}

func TestNewNeverLeavesTheDoorOpen(t *testing.T) {
	for name, c := range map[string]struct {
		opts Options
		want string // the fault's code; empty if there is none
	}{
		"token on loopback":       {Options{Token: rightToken}, ""},
		"token anywhere":          {Options{Token: rightToken, Addr: ":0"}, ""},
		"no token on 127.0.0.1":   {Options{NoToken: true}, ""},
		"no token on localhost":   {Options{NoToken: true, Addr: "localhost:0"}, ""},
		"no token on ::1":         {Options{NoToken: true, Addr: "[::1]:0"}, ""},
		"no token on all":         {Options{NoToken: true, Addr: ":8080"}, "token_required"},
		"no token on 0.0.0.0":     {Options{NoToken: true, Addr: "0.0.0.0:8080"}, "token_required"},
		"no token on a name":      {Options{NoToken: true, Addr: "desk.example:80"}, "token_required"},
		"no token on an address":  {Options{NoToken: true, Addr: "192.0.2.7:80"}, "token_required"},
		"neither":                 {Options{}, "token_required"},
		"neither, on all":         {Options{Addr: ":80"}, "token_required"},
		"address without a port":  {Options{Token: rightToken, Addr: "127.0.0.1"}, "bad_address"},
		"address with empty port": {Options{Token: rightToken, Addr: "127.0.0.1:"}, "bad_address"},
	} {
		_, err := New(c.opts)
		code := ""
		if f := fault.Of(err); f != nil {
			code = f.Code
			if f.Hint == "" {
				t.Errorf("%s: no hint", name)
			}
		}
		if code != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: New = %v (%s), want %q", name, err, code, c.want)
		}
	}
}

func TestNoTokenLetsLocalProgramsIn(t *testing.T) {
	rt := run(t, Options{NoToken: true})
	if resp, _ := rt.ask(t, "POST", "/mcp", ""); resp.StatusCode != 200 {
		t.Errorf("without a token: %d, want 200", resp.StatusCode)
	}
	if resp, _ := rt.ask(t, "POST", "/mcp", "", "Origin: https://evil.example"); resp.StatusCode != 403 {
		t.Errorf("a foreign page: %d, want 403", resp.StatusCode)
	}
}

func TestATakenPortIsNamed(t *testing.T) {
	rt := run(t, guardedOptions)
	opts := guardedOptions
	opts.Addr = rt.addr
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(rt.addr)
	f := fault.Of(s.Serve(t.Context()))
	if f == nil || f.Code != "port_in_use" || !strings.Contains(f.Message, port) || !strings.Contains(f.Hint, "--http") {
		t.Errorf("Serve = %+v, want port_in_use naming %s and --http", f, port)
	}
}

func TestTokenIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "deskhand")
	const n = 32
	tokens := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var err error
			if tokens[i], err = Token(dir, slog.New(slog.DiscardHandler)); err != nil {
				t.Errorf("Token = %v", err)
			}
		})
	}
	wg.Wait()
	for _, token := range tokens {
		if token != tokens[0] || len(token) < minSecret {
			t.Fatalf("tokens differ or are short: %q", tokens)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the state folder has %v, %v; want the token alone", entries, err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "token"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
}

func TestTokenFileIsClosedToOthers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	if err := os.WriteFile(path, []byte("a-token-that-others-read\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	got, err := Token(dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil || got != "a-token-that-others-read" {
		t.Errorf("Token = %q, %v", got, err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, want 0600", info.Mode().Perm())
	}
	if !strings.Contains(log.String(), "level=WARN") || strings.Contains(log.String(), got) {
		t.Errorf("log: %s; want a warning without the token", log.String())
	}
}

func TestTokenRefusesWhatIsNone(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"empty":       func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"short":       func(p string) error { return os.WriteFile(p, []byte("abc\n"), 0o600) },
		"two lines":   func(p string) error { return os.WriteFile(p, []byte("abcdefghijklmnop\nq\n"), 0o600) },
		"binary":      func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte{0}, 64), 0o600) },
		"a folder":    func(p string) error { return os.Mkdir(p, 0o700) },
		"a soft link": func(p string) error { return os.Symlink("/etc/hostname", p) },
	} {
		dir := t.TempDir()
		if err := make(filepath.Join(dir, "token")); err != nil {
			t.Fatal(err)
		}
		got, err := Token(dir, slog.New(slog.DiscardHandler))
		if f := fault.Of(err); f == nil || f.Code != "bad_token" || f.Hint == "" {
			t.Errorf("%s: Token = %q, %v; want bad_token", name, got, err)
		}
	}
}
