package gateway

//lint:file-ignore SA1019 2026-07-28 deprecates sampling and roots, and clients have them

import (
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// through returns a gateway with the MCP server that clients use.
func through(t *testing.T, upstreams ...Upstream) (*desk, *mcpserver.Server) {
	t.Helper()
	var server atomic.Pointer[mcpserver.Server]
	var d *desk
	var mu sync.Mutex
	catalog := func() contract.Catalog { return contract.Catalog{Tools: d.Tools(), Elsewhere: d.Elsewhere(none, none)} }
	d = at(t, t.TempDir(), func(o *Options) {
		o.Changed = func() {
			if s := server.Load(); s != nil {
				mu.Lock()
				defer mu.Unlock()
				if err := s.Replace(catalog()); err != nil {
					t.Error(err)
				}
			}
		}
	}, upstreams...)
	s, err := mcpserver.New(mcpserver.Options{Logs: true, Watches: true, Met: func(ctx context.Context, l contract.Lends) { d.Met(ctx, l, 5*time.Second) }}, catalog())
	if err != nil {
		t.Fatal(err)
	}
	server.Store(s)
	return d, s
}

// visit connects a client over stdio, or over HTTP without an additional stream.
func visit(t *testing.T, s *mcpserver.Server, way, version string, o *mcp.ClientOptions, roots ...*mcp.Root) *mcp.ClientSession {
	t.Helper()
	var transport mcp.Transport
	if way == "http" {
		front := httptest.NewServer(s.Handler())
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			_ = s.Close(ctx)
			front.CloseClientConnections()
			front.Close()
		})
		transport = &mcp.StreamableClientTransport{Endpoint: front.URL, DisableStandaloneSSE: true, MaxRetries: -1}
	} else {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.ServeStdio(context.Background(), inR, outW)
			outW.Close()
		}()
		t.Cleanup(func() { inW.Close(); <-ended })
		transport = &mcp.IOTransport{Reader: outR, Writer: inW}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "visitor", Version: "1"}, o)
	client.AddRoots(roots...)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// eachWay runs a test for clients and upstreams of both eras.
func eachWay(t *testing.T, test func(t *testing.T, double *upstreamServer, url, way, version string)) {
	for era, stateless := range map[string]bool{"legacy upstream": false, "modern upstream": true} {
		for _, way := range []string{"http", "stdio"} {
			for _, version := range []string{"2025-11-25", "2026-07-28"} {
				t.Run(era+" "+way+" "+version, func(t *testing.T) {
					double := newUpstreamServer()
					server := httptest.NewServer(double.handler(stateless))
					t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
					test(t, double, server.URL, way, version)
				})
			}
		}
	}
}

// says returns the text of a tool's answer, or its error.
func says(ctx context.Context, session *mcp.ClientSession, tool, args string) string {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		return "error: " + err.Error()
	}
	var all []string
	for _, c := range result.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	return strings.Join(all, "\n")
}

// A call's progress must be sent on the stream of the call's request, because HTTP
// clients need not have another stream.
func TestProgressReachesClientsOverEveryTransport(t *testing.T) {
	eachWay(t, func(t *testing.T, double *upstreamServer, url, way, version string) {
		_, s := through(t, Upstream{Name: "linear", URL: url})
		told := make(chan string, 10)
		session := visit(t, s, way, version, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			told <- r.Params.Message
		}})
		ctx, cancel := context.WithCancel(t.Context())
		params := &mcp.CallToolParams{Name: "linear_slow", Arguments: json.RawMessage(`{}`)}
		params.SetProgressToken("mine")
		ended := make(chan struct{})
		go func() { defer close(ended); _, _ = session.CallTool(ctx, params) }()
		select {
		case got := <-told:
			if got != "half" {
				t.Errorf("the client is told %q, want half", got)
			}
		case <-time.After(waittest.Patience):
			t.Error("the client is told of no progress")
		}
		cancel()
		<-ended
		double.hears(t, "slow cancelled")
	})
}

// A client of each era is asked an upstream's question directly: during the call,
// or between two calls.
func TestQuestionOfAnUpstreamIsShownByTheClient(t *testing.T) { // I-037 I-040 I-042 I-045
	eachWay(t, func(t *testing.T, double *upstreamServer, url, way, version string) {
		double.AddTool(&mcp.Tool{Name: "elicit", InputSchema: json.RawMessage(`{"type":"object"}`)}, double.ask)
		d, s := through(t, Upstream{Name: "linear", URL: url})
		var how atomic.Value
		how.Store("accept")
		session := visit(t, s, way, version, &mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
			ElicitationHandler: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				switch how := how.Load().(string); how {
				case "accept":
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"team": "a"}}, nil
				case "late": // the inbox is faster
					d.answerTeam("b")
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"team": "a"}}, nil
				default:
					return &mcp.ElicitResult{Action: how}, nil
				}
			}})
		for _, c := range []struct{ how, want string }{
			{"accept", `accept {"team":"a"}`}, {"decline", "decline "}, {"late", `accept {"team":"b"}`},
		} {
			how.Store(c.how)
			if got := says(t.Context(), session, "linear_ask", `{}`); !strings.HasPrefix(got, c.want) {
				t.Errorf("after %s the upstream was told %s, want %s", c.how, got, c.want)
			}
		}
		if n := double.called("ask"); n != 6 { // each client calls once before and once after its question
			t.Errorf("the upstream was called %d times, want 6", n)
		}
		if d.upstreams[0].parked.waiting() != 0 {
			t.Error("a call is still parked")
		}
	})
}

func (p *parked) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.calls)
}

// answerTeam answers the open question in the inbox.
func (d *desk) answerTeam(team string) {
	r := d.asked()
	_, err := d.hub.Dispatch(d.t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept,
		Answers: map[string]elicit.Answer{"team": {State: elicit.Submitted, Value: &elicit.Value{Kind: elicit.SelectedValue, Text: team}}}})
	if err != nil {
		d.t.Error(err)
	}
}

// If a call's server is gone when its client comes back, the call is not repeated.
func TestParkedCallThatIsGoneIsTold(t *testing.T) {
	double := newUpstreamServer()
	server := httptest.NewServer(double.handler(false))
	defer func() { server.CloseClientConnections(); server.Close() }()
	d, s := through(t, Upstream{Name: "linear", URL: server.URL})
	session := visit(t, s, "http", "2026-07-28", &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if gone := d.upstreams[0].parked.take(d.asked().ID); gone != nil {
				gone.cancel()
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"team": "a"}}, nil
		}})
	if got := says(t.Context(), session, "linear_ask", `{}`); !strings.Contains(got, "has ended") || !strings.Contains(got, "call again without requestState") {
		t.Errorf("the call = %s, want that the one that asked is gone", got)
	}
	if n := double.called("ask"); n != 1 {
		t.Errorf("the upstream was called %d times, want 1", n)
	}
	waittest.Until(t, "the question of a call that was given up is closed", func() (bool, any) {
		list, err := d.hub.List(t.Context(), elicit.Filter{Statuses: []elicit.Status{elicit.Open}})
		return err == nil && len(list.Requests) == 0, list.Requests
	})
}

// lendingTools adds a tool that exists only for clients that lend, and one tool for
// each thing that is lent.
func lendingTools(s *upstreamServer) {
	text := func(v any) *mcp.CallToolResult {
		raw, _ := json.Marshal(v)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}}
	}
	s.AddTool(&mcp.Tool{Name: "sample", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.count("sample")
		switch reply := r.Params.InputResponses["m"].(type) {
		case *mcp.CreateMessageWithToolsResult:
			return text(reply.Content[0]), nil
		case *mcp.CreateMessageResult:
			return text(reply.Content), nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"m": &mcp.CreateMessageParams{MaxTokens: 9, SystemPrompt: "short",
			Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi"}}}}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "roots", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if reply, ok := r.Params.InputResponses["r"].(*mcp.ListRootsResult); ok {
			return text(reply.Roots), nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"r": &mcp.ListRootsParams{}}}, nil
	})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			list, ok := result.(*mcp.ListToolsResult)
			if !ok {
				return result, err
			}
			can := req.(*mcp.ListToolsRequest).ClientCapabilities()
			list.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *mcp.Tool) bool {
				return t.Name == "sample" && can.Sampling == nil || t.Name == "roots" && can.RootsV2 == nil
			})
			return list, err
		}
	})
}

func TestUpstreamUsesWhatItsCallerLends(t *testing.T) {
	eachWay(t, func(t *testing.T, double *upstreamServer, url, way, version string) {
		lendingTools(double)
		d, s := through(t, Upstream{Name: "linear", URL: url})
		if all := names(d.Tools()); slices.Contains(all, "linear_sample") || slices.Contains(all, "linear_roots") {
			t.Errorf("tools without such a client = %v", all)
		}
		plain := visit(t, s, way, version, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
		asked := make(chan string, 10)
		o := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}}, CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			asked <- r.Params.SystemPrompt + " " + r.Params.Messages[0].Content.(*mcp.TextContent).Text
			return &mcp.CreateMessageResult{Role: "assistant", Model: "stub", Content: &mcp.TextContent{Text: "hello"}}, nil
		}}
		session := visit(t, s, way, version, o, &mcp.Root{URI: "file:///srv/shop", Name: "shop"})
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil || !slices.ContainsFunc(tools.Tools, func(t *mcp.Tool) bool { return t.Name == "linear_sample" }) || !slices.ContainsFunc(tools.Tools, func(t *mcp.Tool) bool { return t.Name == "linear_roots" }) {
			t.Fatalf("the first list of a client that lends has %v, %v; want linear_sample and linear_roots", tools, err)
		}
		if got := says(t.Context(), session, "linear_sample", `{}`); !strings.Contains(got, `"text":"hello"`) {
			t.Errorf("linear_sample = %s, want what the client's model said", got)
		}
		if got := <-asked; got != "short hi" {
			t.Errorf("the client was asked %q", got)
		}
		if got := says(t.Context(), session, "linear_roots", `{}`); !strings.Contains(got, "file:///srv/shop") {
			t.Errorf("linear_roots = %s, want the client's", got)
		}
		if got := says(t.Context(), plain, "linear_sample", `{}`); !strings.Contains(got, "visitor, does not support sampling/createMessage") {
			t.Errorf("linear_sample of a client that lends nothing = %s, want that it does not", got)
		}
		if len(asked) != 0 {
			t.Error("another client's model was used")
		}
	})
}

// A server that sends a request outside of a call gets an error, and no client's
// model.
func TestNothingIsLentOutsideOfACall(t *testing.T) {
	double := newUpstreamServer()
	server := httptest.NewServer(double.handler(false))
	defer func() { server.CloseClientConnections(); server.Close() }()
	_, s := through(t, Upstream{Name: "linear", URL: server.URL})
	var used atomic.Int32
	session := visit(t, s, "stdio", "2025-11-25", &mcp.ClientOptions{CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		used.Add(1)
		return &mcp.CreateMessageResult{Role: "assistant", Model: "stub", Content: &mcp.TextContent{Text: "hello"}}, nil
	}})
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	sampled := 0
	for one := range double.Sessions() {
		if p := one.InitializeParams(); p == nil || p.Capabilities.Sampling == nil {
			continue
		}
		sampled++
		_, err := one.CreateMessage(t.Context(), &mcp.CreateMessageParams{MaxTokens: 9})
		if err == nil || !strings.Contains(err.Error(), "no running call") {
			t.Errorf("sampling outside of a call = %v, want a refusal that says why", err)
		}
	}
	if sampled == 0 || used.Load() != 0 {
		t.Errorf("%d sessions were told of sampling, the model was used %d times; want some and none", sampled, used.Load())
	}
}

// A person who opened an upstream's page has accepted its request. The upstream is
// told so, and need not report that the page is done.
func TestLinkOfAnUpstreamThatTheClientOpensIsAcceptedAtOnce(t *testing.T) { // I-036 I-040
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for era, stateless := range map[string]bool{"legacy": false, "modern": true} {
			t.Run(version+" "+era, func(t *testing.T) {
				double := newUpstreamServer()
				double.AddTool(&mcp.Tool{Name: "pay", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					if reply, ok := r.Params.InputResponses["q"].(*mcp.ElicitResult); ok {
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: reply.Action}}}, nil
					}
					return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{
						"q": &mcp.ElicitParams{Mode: "url", Message: "Pay", URL: "https://pay.example/1", ElicitationID: "theirs-2"}}}, nil
				})
				server := httptest.NewServer(double.handler(stateless))
				defer func() { server.CloseClientConnections(); server.Close() }()
				d, s := through(t, Upstream{Name: "linear", URL: server.URL})
				done := make(chan string, 10)
				session := visit(t, s, "stdio", version, &mcp.ClientOptions{
					Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}},
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						if r.Params.Mode != "url" || r.Params.URL != "https://pay.example/1" {
							t.Errorf("the client is shown %+v", r.Params)
						}
						return &mcp.ElicitResult{Action: "accept"}, nil
					},
					ElicitationCompleteHandler: func(_ context.Context, r *mcp.ElicitationCompleteNotificationRequest) { done <- r.Params.ElicitationID },
				})
				since := time.Now()
				if got := says(t.Context(), session, "linear_pay", `{}`); got != "accept" || time.Since(since) > 8*time.Second {
					t.Errorf("linear_pay = %s after %v, want that the upstream is told at once", got, time.Since(since))
				}
				if stateless {
					t.Skip("NOT TESTED: over HTTP without sessions an upstream cannot say that its page is done")
				}
				if version != "2025-11-25" {
					t.Skipf("NOT TESTED: clients of %s have no notice that a page is done", version)
				}
				list, err := d.hub.List(t.Context(), elicit.Filter{Statuses: []elicit.Status{elicit.Completed}})
				if err != nil || len(list.Requests) != 1 {
					t.Fatalf("requests = %+v, %v; want the one", list.Requests, err)
				}
				for one := range double.Sessions() {
					_ = one.NotifyElicitationComplete(t.Context(), &mcp.ElicitationCompleteParams{ElicitationID: "theirs-2"})
				}
				select {
				case id := <-done:
					if id != list.Requests[0].ID {
						t.Errorf("the client is told that %s is done, want %s", id, list.Requests[0].ID)
					}
				case <-time.After(waittest.Patience):
					t.Error("the client is not told that the page is done")
				}
			})
		}
	}
}

// A call that is refused until a page is done is repeated when the upstream reports
// this, or a little later. If it is refused again, the agent is told what to do.
func TestCallThatNeedsAPageIsMadeAgainOnceItIsOpened(t *testing.T) { // I-036
	defer func(before time.Duration) { doneTime = before }(doneTime)
	doneTime = 200 * time.Millisecond
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			double := newUpstreamServer()
			server := httptest.NewServer(double.handler(false))
			defer func() { server.CloseClientConnections(); server.Close() }()
			_, s := through(t, Upstream{Name: "linear", URL: server.URL})
			pays := false
			session := visit(t, s, "stdio", version, &mcp.ClientOptions{
				Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}},
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if pays {
						double.count("paid")
					}
					return &mcp.ElicitResult{Action: "accept"}, nil
				}})
			if got := says(t.Context(), session, "linear_open", `{}`); !strings.Contains(got, "is still waiting for the page") || !strings.Contains(got, "call again when the user says") {
				t.Errorf("linear_open that is not paid for = %s", got)
			}
			pays = true
			if got := says(t.Context(), session, "linear_open", `{}`); got != "paid" {
				t.Errorf("linear_open = %s, want paid", got)
			}
		})
	}
}
