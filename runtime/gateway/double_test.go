package gateway

//lint:file-ignore SA1019 2026-07-28 deprecates logging, and servers of before do it

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// echoSchema is in an order that sorting would change, and has a keyword that no Go
// type contains.
const echoSchema = `{"type":"object","properties":{"zeta":{"type":"string","description":"last letter first"},"alpha":{"type":"integer"}},"required":["zeta"],"x-order":["zeta","alpha"]}`

// upstreamServer is a real MCP server with the tools that tests call.
type upstreamServer struct {
	*mcp.Server
	mu    sync.Mutex
	calls map[string]int
}

func (s *upstreamServer) count(tool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[tool]++
}

func (s *upstreamServer) called(tool string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[tool]
}

func newUpstreamServer() *upstreamServer {
	return newDouble(&mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}, Logging: &mcp.LoggingCapabilities{}},
	})
}

func newDouble(o *mcp.ServerOptions) *upstreamServer {
	s := &upstreamServer{Server: mcp.NewServer(&mcp.Implementation{Name: "double", Version: "1"}, o), calls: map[string]int{}}
	s.AddTool(&mcp.Tool{Name: "echo", Title: "Echo", Description: "says it again", InputSchema: json.RawMessage(echoSchema),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.count("echo")
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}},
				StructuredContent: json.RawMessage(`{"zeta":"z","alpha":1}`)}, nil
		})
	s.AddTool(&mcp.Tool{Name: "refuse", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such issue"}, &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}}, nil
		})
	s.AddTool(&mcp.Tool{Name: "slow", InputSchema: json.RawMessage(`{"type":"object"}`)}, s.slow)
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, s.ask)
	s.AddTool(&mcp.Tool{Name: "open", InputSchema: json.RawMessage(`{"type":"object"}`)}, s.open)
	return s
}

// slow reports progress and logs, and then waits to be cancelled.
func (s *upstreamServer) slow(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.count("slow")
	if token := r.Params.GetProgressToken(); token != nil {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Total: 2, Message: "half"})
	}
	_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "disk", Data: "nearly full"})
	<-ctx.Done()
	s.count("slow cancelled")
	return nil, ctx.Err()
}

const askSchema = `{"type":"object","properties":{"team":{"type":"string","title":"Team","oneOf":[{"const":"b","title":"Blue"},{"const":"a","title":"Amber"}]},"age":{"type":"integer","minimum":1}},"required":["team"]}`

// ask asks the person before it answers, as its era does.
func (s *upstreamServer) ask(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.count("ask")
	if reply, ok := r.Params.InputResponses["q"].(*mcp.ElicitResult); ok {
		content, _ := json.Marshal(reply.Content)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: reply.Action + " " + string(content)}}}, nil
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{
		"q": &mcp.ElicitParams{Mode: "form", Message: "Which team?", RequestedSchema: json.RawMessage(askSchema)}}}, nil
}

// open refuses its first call until its own page was opened.
func (s *upstreamServer) open(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.count("open")
	if s.called("paid") == 0 {
		return nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{{Mode: "url", Message: "Pay first", URL: "https://pay.example/1", ElicitationID: "theirs-1"}})
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid"}}}, nil
}

// handler serves one of HTTP's two eras, without authorization.
func (s *upstreamServer) handler(stateless bool) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server },
		&mcp.StreamableHTTPOptions{Stateless: stateless, PropagateRequestCancellation: true})
}

// guard is an MCP server that requires a token, and the OAuth server that issues
// it, at one address.
type guard struct {
	*httptest.Server
	upstream  *upstreamServer
	onlyCalls bool     // initialize and lists need no token
	guards    []string // methods that need a token even so

	mu       sync.Mutex
	codes    map[string]url.Values // authorization requests by code
	valid    map[string]bool       // valid access tokens
	refresh  string
	issued   int
	log      []string // requests in words, for example "anonymous tools/call" or "refresh"
	requests []url.Values
	lifetime int // in seconds; 0 if it is not sent
	noDCR    bool
	issParam string // overrides the issuer in the answer
	deny     bool   // the person refuses on its page
	reject   bool   // refuses every token
	slow     time.Duration
	wants    string // a scope that calls need in addition to those granted
	issuer   string // another authorization server; if empty, this one
	newEra   bool   // refuses versions with initialize
}

func newGuard(t testing.TB) *guard {
	g := &guard{upstream: newUpstreamServer(), codes: map[string]url.Values{}, valid: map[string]bool{}}
	mux := http.NewServeMux()
	older, newer := g.upstream.handler(false), g.upstream.handler(true)
	mux.Handle("/mcp", g.protected(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.newEra {
			newer.ServeHTTP(w, r)
		} else {
			older.ServeHTTP(w, r)
		}
	})))
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{cmp.Or(g.issuer, g.URL)}, "scopes_supported": []string{"read", "write"}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
		meta := map[string]any{"issuer": g.URL, "authorization_endpoint": g.URL + "/authorize", "token_endpoint": g.URL + "/token",
			"revocation_endpoint": g.URL + "/revoke", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"}, "authorization_response_iss_parameter_supported": true}
		if !g.noDCR {
			meta["registration_endpoint"] = g.URL + "/register"
		}
		writeJSON(w, meta)
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		g.note("register")
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		g.note(fmt.Sprint("register ", in["application_type"]))
		in["client_id"] = "client-1"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		writeJSON(w, in)
	})
	mux.HandleFunc("/authorize", g.authorize)
	mux.HandleFunc("/token", g.token)
	mux.HandleFunc("/revoke", func(w http.ResponseWriter, r *http.Request) { g.note("revoke") })
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (g *guard) note(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.log = append(g.log, what)
}

func (g *guard) noted(what string) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.log {
		if one == what {
			n++
		}
	}
	return n
}

func (g *guard) protected(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct{ Method string }
		if r.Method == http.MethodPost {
			raw := new(strings.Builder)
			body := http.MaxBytesReader(w, r.Body, 1<<20)
			buf := make([]byte, 1<<16)
			for {
				n, err := body.Read(buf)
				raw.Write(buf[:n])
				if err != nil {
					break
				}
			}
			_ = json.Unmarshal([]byte(raw.String()), &message)
			r.Body = http.NoBody
			r = r.Clone(r.Context())
			r.Body = readCloser{strings.NewReader(raw.String())}
			r.ContentLength = int64(raw.Len())
		}
		if g.newEra && message.Method == "initialize" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		g.mu.Lock()
		good, wants := g.valid[token] && !g.reject, g.wants
		g.mu.Unlock()
		if good && wants != "" && message.Method == "tools/call" {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+wants+`"`)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if good || g.onlyCalls && message.Method != "tools/call" && !slices.Contains(g.guards, message.Method) {
			next.ServeHTTP(w, r)
			return
		}
		who := "anonymous "
		if token != "" {
			who = "stale "
		}
		g.note(who + message.Method)
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.URL+`/.well-known/oauth-protected-resource/mcp", scope="read"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func (g *guard) authorize(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := r.URL.Query()
	g.requests = append(g.requests, q)
	code := fmt.Sprintf("code-%d", len(g.requests))
	g.codes[code] = q
	back := url.Values{"state": {q.Get("state")}, "code": {code}, "iss": {g.URL}}
	if g.issParam != "" {
		back.Set("iss", g.issParam)
	}
	if g.deny {
		back = url.Values{"state": {q.Get("state")}, "error": {"access_denied"}}
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (g *guard) token(w http.ResponseWriter, r *http.Request) {
	time.Sleep(g.slow)
	_ = r.ParseForm()
	g.mu.Lock()
	defer g.mu.Unlock()
	refused := func(why string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		writeJSON(w, map[string]string{"error": why})
	}
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		asked, ok := g.codes[r.Form.Get("code")]
		delete(g.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if !ok || asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) ||
			asked.Get("redirect_uri") != r.Form.Get("redirect_uri") || r.Form.Get("resource") != g.URL+"/mcp" {
			refused("invalid_grant")
			return
		}
	case "refresh_token":
		g.log = append(g.log, "refresh")
		if g.refresh == "" || r.Form.Get("refresh_token") != g.refresh || r.Form.Get("resource") != g.URL+"/mcp" {
			refused("invalid_grant")
			return
		}
	}
	g.issued++
	token := fmt.Sprintf("access-secret-%d", g.issued)
	g.valid[token] = true
	g.refresh = fmt.Sprintf("refresh-secret-%d", g.issued)
	answer := map[string]any{"access_token": token, "token_type": "Bearer", "refresh_token": g.refresh, "scope": "read"}
	if g.lifetime > 0 {
		answer["expires_in"] = g.lifetime
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, answer)
}

// desk is a gateway with its store, its pages and its log.
type desk struct {
	*Gateway
	t     *testing.T
	hub   *elicit.Hub
	db    *store.DB
	front *httptest.Server
	log   *syncText
	dir   string
}

// syncText is a log that can be used concurrently.
type syncText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// at starts a gateway over a folder, which others may have used before.
func at(t *testing.T, dir string, change func(*Options), upstreams ...Upstream) *desk {
	t.Helper()
	d := opened(t, dir, change, upstreams...)
	d.Start(5 * time.Second)
	return d
}

// opened returns a gateway that is not started.
func opened(t *testing.T, dir string, change func(*Options), upstreams ...Upstream) *desk {
	t.Helper()
	d := &desk{t: t, log: &syncText{}, dir: dir}
	log := slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if d.db, err = store.Open(t.Context(), dir, elicit.Schema(), Schema()); err != nil {
		t.Fatal(err)
	}
	d.hub = elicit.New(d.db, elicit.Options{Attended: true, Log: log})
	o := Options{Upstreams: upstreams, StateDir: dir, Log: log, Wait: 20 * time.Second,
		Open: func(context.Context) (*elicit.Hub, *store.DB, error) { return d.hub, d.db, nil },
		Base: func(context.Context) (string, error) { return d.front.URL, nil }}
	if change != nil {
		change(&o)
	}
	if d.Gateway, err = New(o); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for path, h := range d.Mounts(page.New([]byte("key")), func(r *http.Request) string {
		if who := r.Header.Get("X-Who"); who != "" {
			return who
		}
		return "local"
	}) {
		mux.Handle(path, h)
	}
	d.front = httptest.NewServer(mux)
	t.Cleanup(d.end)
	return d
}

func (d *desk) end() {
	if d.Gateway == nil {
		return
	}
	d.Gateway.Close()
	d.hub.Close()
	d.db.Close()
	d.front.Close()
	d.Gateway = nil
}

// tool returns a tool. The test fails if the tool does not appear.
func (d *desk) tool(name string) contract.Tool {
	d.t.Helper()
	var found contract.Tool
	waittest.Until(d.t, "there is a tool "+name, func() (bool, any) {
		all := d.Tools()
		for _, one := range all {
			if one.Name == name {
				found = one
				return true, nil
			}
		}
		return false, fmt.Sprintf("%v\n%s", names(all), d.log)
	})
	return found
}

func names(tools []contract.Tool) (all []string) {
	for _, one := range tools {
		all = append(all, one.Name)
	}
	return all
}

// outcome is a call's result.
type outcome struct {
	result contract.Result
	err    error
}

func (o outcome) text() string {
	if o.err != nil {
		return "error: " + o.err.Error()
	}
	if o.result.Content != nil {
		var blocks []struct{ Text string }
		_ = json.Unmarshal(o.result.Content, &blocks)
		var all []string
		for _, b := range blocks {
			all = append(all, b.Text)
		}
		return strings.Join(all, "\n")
	}
	return strings.Join(o.result.Text, "\n")
}

// call calls a tool in the background.
func (d *desk) call(name string, caller contract.Caller, args string) <-chan outcome {
	d.t.Helper()
	tool := d.tool(name)
	ended := make(chan outcome, 1)
	go func() {
		result, err := tool.Call(d.t.Context(), caller, json.RawMessage(args))
		ended <- outcome{result, err}
	}()
	return ended
}

// now calls a tool and waits.
func (d *desk) now(name, args string) outcome {
	d.t.Helper()
	return d.wait(d.call(name, contract.Caller{Name: "agent"}, args))
}

func (d *desk) wait(ended <-chan outcome) outcome {
	d.t.Helper()
	select {
	case o := <-ended:
		return o
	case <-time.After(3 * time.Minute): // longer than any upstream's time
		d.t.Fatalf("the call does not end\n%s", d.log)
		return outcome{}
	}
}

// asked returns the open request. The test fails if there is none.
func (d *desk) asked() elicit.Request {
	d.t.Helper()
	var open elicit.Request
	waittest.Until(d.t, "somebody is asked", func() (bool, any) {
		list, err := d.hub.List(d.t.Context(), elicit.Filter{})
		if err != nil {
			d.t.Fatal(err)
		}
		if len(list.Requests) == 0 || list.Requests[0].Status != elicit.Open {
			return false, fmt.Sprintf("%+v\n%s", list.Requests, d.log)
		}
		open = list.Requests[0]
		return true, nil
	})
	return open
}

func (d *desk) answer(id string, how elicit.Outcome) {
	d.t.Helper()
	if _, err := d.hub.Dispatch(d.t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: id, Response: how}); err != nil {
		d.t.Fatal(err)
	}
}

// folder returns the content of all files in a folder except the key.
func folder(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		if f.IsDir() || f.Name() == keyFile {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}
