package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// desk is a catalog in which every way for a tool to end has its tool.
type desk struct {
	entered chan string   // "wait" says that it runs
	release chan struct{} // lets "wait" go on
}

func newDesk() *desk {
	return &desk{entered: make(chan string, 64), release: make(chan struct{})}
}

type searchIn struct {
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

var searchSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` +
	`"query":{"type":"string","description":"words"},` +
	`"limit":{"type":"integer","minimum":1,"maximum":50,"default":10,"description":"how many"}},"required":["query"]}`)

var noInput = json.RawMessage(`{"type":"object","additionalProperties":false}`)

func (d *desk) catalog() contract.Catalog {
	tool := func(name string, readOnly bool, fn func(context.Context) (contract.Result, error)) contract.Tool {
		return contract.Define(contract.Spec{Name: name, Description: name + ".", Input: noInput, ReadOnly: readOnly},
			func(ctx context.Context, _ contract.Caller, _ struct{}) (contract.Result, error) { return fn(ctx) })
	}
	return contract.Catalog{
		Instructions: "Search first.",
		Tools: []contract.Tool{
			contract.Define(contract.Spec{
				Name: "search_docs", Title: "Search", Description: "Search the docs.", Input: searchSchema,
				Output: json.RawMessage(`{"type":"object"}`), NonBlank: []string{"query"}, ReadOnly: true,
			}, func(_ context.Context, caller contract.Caller, in searchIn) (contract.Result, error) {
				text := fmt.Sprintf("%s x%d for %s <&>\u2028", in.Query, in.Limit, caller.Name)
				return contract.Result{Text: []string{text}, Structured: map[string]any{"query": in.Query, "n": in.Limit}}, nil
			}),
			tool("refuse", false, func(context.Context) (contract.Result, error) {
				return contract.Result{}, &fault.Fault{Code: "no_session", Message: "There is none.", Hint: "Retry later."}
			}),
			tool("fail", true, func(context.Context) (contract.Result, error) {
				return contract.Result{}, errors.New("secret disk path")
			}),
			tool("panic", true, func(context.Context) (contract.Result, error) { panic("secret panic") }),
			tool("unencodable", true, func(context.Context) (contract.Result, error) {
				return contract.Result{Structured: func() {}}, nil
			}),
			tool("empty", true, func(context.Context) (contract.Result, error) { return contract.Result{}, nil }),
			tool("wait", true, d.wait),
			tool("wait_long_way", false, d.wait),
		},
		Prompts: []contract.Prompt{{
			Name: "guides/ask", Title: "Ask", Description: "Asks.",
			Arguments: []contract.PromptArgument{{Name: "topic", Title: "Topic", Description: "What about.", Required: true}, {Name: "tone"}},
			Render: func(args map[string]string) ([]contract.PromptMessage, error) {
				switch args["topic"] {
				case "panic":
					panic("secret")
				case "fault":
					return nil, fault.New("bad", "No such topic.", "Take another.")
				}
				return []contract.PromptMessage{{Text: "About " + args["topic"] + args["tone"]}, {Role: "assistant", Text: "Yes?"}}, nil
			},
		}},
		Resources: []contract.Resource{
			{URI: "docs:///a.md", Name: "a.md", Title: "A", Description: "a.md", MIMEType: "text/markdown",
				Read: func(context.Context) (string, error) { return "# A", nil }},
			{URI: "docs:///broken.md", Name: "broken.md",
				Read: func(context.Context) (string, error) { return "", errors.New("secret") }},
		},
	}
}

func (d *desk) wait(ctx context.Context) (contract.Result, error) {
	d.entered <- "entered"
	select {
	case <-d.release:
		return contract.Result{Text: []string{"released"}}, nil
	case <-ctx.Done():
		d.entered <- "cancelled"
		return contract.Result{}, ctx.Err()
	}
}

func newServer(t testing.TB, opts Options, c contract.Catalog) *Server {
	t.Helper()
	opts.Name, opts.Version = "testdesk", "1.2.3"
	s, err := New(opts, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// overPipes serves one session and gives the client's ends of its pipes.
func overPipes(t testing.TB, s *Server) (in io.WriteCloser, out io.ReadCloser, ended <-chan error) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- s.ServeStdio(context.Background(), inR, outW)
		outW.Close()
	}()
	t.Cleanup(func() { inW.Close() })
	return inW, outR, done
}

// bothEras runs a test with an SDK client over stdio in each era.
func bothEras(t *testing.T, s *Server, test func(*testing.T, *mcp.ClientSession)) {
	bothErasAs(t, s, "tester", test)
}

// bothErasAs does so with a client of that name.
func bothErasAs(t *testing.T, s *Server, name string, test func(*testing.T, *mcp.ClientSession)) {
	for _, version := range []string{"2026-07-28", "2025-11-25", "2024-11-05"} {
		t.Run("stdio "+version, func(t *testing.T) {
			in, out, ended := overPipes(t, s)
			session, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "7"}, nil).Connect(
				t.Context(), &mcp.IOTransport{Reader: out, Writer: in}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			test(t, session)
			if err := session.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
			if err := <-ended; err != nil {
				t.Errorf("ServeStdio = %v, want nil", err)
			}
		})
	}
}

// saysIt calls a tool and wants one text block.
func saysIt(t *testing.T, session *mcp.ClientSession, tool string, args any, want string, wantError bool) *mcp.CallToolResult {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Errorf("call %s(%v): %v", tool, args, err)
		return nil
	}
	if len(result.Content) != 1 || result.IsError != wantError {
		t.Errorf("call %s(%v): %d blocks, isError %v; want 1, %v", tool, args, len(result.Content), result.IsError, wantError)
		return result
	}
	if got := result.Content[0].(*mcp.TextContent).Text; got != want && !(strings.HasSuffix(want, "*") && strings.HasPrefix(got, want[:len(want)-1])) {
		t.Errorf("call %s(%v) = %q, want %q", tool, args, got, want)
	}
	return result
}

func TestClientsOfBothErasAreServed(t *testing.T) {
	var log waittest.Log
	s := newServer(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, newDesk().catalog())
	bothEras(t, s, func(t *testing.T, session *mcp.ClientSession) { converse(t, session) })
	for _, secret := range []string{"secret disk path", "secret panic"} {
		if !strings.Contains(log.String(), secret) {
			t.Errorf("the log does not have %q", secret)
		}
	}
}

// converse is what every client may expect, whatever the transport.
func converse(t *testing.T, session *mcp.ClientSession) {
	init := session.InitializeResult()
	if init.Instructions != "Search first." || init.ServerInfo == nil || init.ServerInfo.Name != "testdesk" || init.ServerInfo.Version != "1.2.3" {
		t.Errorf("initialize = %+v, server %+v", init, init.ServerInfo)
	}
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "search_docs refuse fail panic unencodable empty wait wait_long_way" {
		t.Errorf("tools are %s, want the catalog's order", got)
	}
	if a := tools.Tools[0].Annotations; a == nil || !a.ReadOnlyHint || *a.OpenWorldHint || *a.DestructiveHint {
		t.Errorf("annotations of search_docs: %+v", a)
	}
	if a := tools.Tools[1].Annotations; a.ReadOnlyHint || a.DestructiveHint != nil {
		t.Errorf("annotations of refuse: %+v", a)
	}

	r := saysIt(t, session, "search_docs", map[string]any{"query": "retry", "limit": 5.0}, "retry x5 for tester <&>\u2028", false)
	if got, _ := encode(r.StructuredContent); string(got) != `{"n":5,"query":"retry"}` {
		t.Errorf("structuredContent = %s", got)
	}
	saysIt(t, session, "search_docs", map[string]any{"query": "a", "limit": 51}, "limit must be between 1 and 50", true)
	saysIt(t, session, "search_docs", map[string]any{"query": "a", "foo": 1}, "Unexpected field 'foo': the fields are query (required), limit", true)
	saysIt(t, session, "search_docs", nil, "query must be a non-empty string", true)
	if r := saysIt(t, session, "refuse", nil, "There is none. Retry later.", true); r.StructuredContent != nil {
		t.Errorf("a refusal has structuredContent %v", r.StructuredContent)
	}
	for _, tool := range []string{"fail", "panic", "unencodable"} {
		saysIt(t, session, tool, nil, "internal error (id *", true)
	}
	if r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "empty"}); err != nil || r.Content == nil || len(r.Content) != 0 {
		t.Errorf("empty = %+v, %v; want an empty list", r, err)
	}
	wantRPC(t, "unknown tool", -32602, `unknown tool "nope"`, func() error {
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "nope"})
		return err
	})
	conversePrompts(t, session)
	converseResources(t, session)
}

func conversePrompts(t *testing.T, session *mcp.ClientSession) {
	prompts, err := session.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) != 1 || len(prompts.Prompts[0].Arguments) != 2 || prompts.Prompts[0].Arguments[0].Title != "Topic" {
		t.Fatalf("prompts/list = %+v, %v", prompts, err)
	}
	get := func(args map[string]string) (*mcp.GetPromptResult, error) {
		return session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "guides/ask", Arguments: args})
	}
	got, err := get(map[string]string{"topic": "<b>"})
	if err != nil || len(got.Messages) != 2 || got.Messages[0].Role != "user" || got.Messages[1].Role != "assistant" ||
		got.Messages[0].Content.(*mcp.TextContent).Text != "About <b>" {
		t.Errorf("prompts/get = %+v, %v", got, err)
	}
	for want, args := range map[string]map[string]string{
		"Missing required prompt argument 'topic'": {"tone": "dry"},
		"No such topic. Take another.":             {"topic": "fault"},
	} {
		wantRPC(t, "prompts/get", -32602, want, func() error { _, err := get(args); return err })
	}
	wantRPC(t, "prompts/get", -32603, "internal error (id ", func() error { _, err := get(map[string]string{"topic": "panic"}); return err })
	wantRPC(t, "prompts/get", -32602, "unknown prompt", func() error {
		_, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "nope"})
		return err
	})
}

func converseResources(t *testing.T, session *mcp.ClientSession) {
	resources, err := session.ListResources(t.Context(), nil)
	if err != nil || len(resources.Resources) != 2 || resources.Resources[0].Title != "A" {
		t.Errorf("resources/list = %+v, %v", resources, err)
	}
	templates, err := session.ListResourceTemplates(t.Context(), nil)
	if err != nil || templates.ResourceTemplates == nil || len(templates.ResourceTemplates) != 0 {
		t.Errorf("resources/templates/list = %+v, %v; want an empty list", templates, err)
	}
	read := func(uri string) (*mcp.ReadResourceResult, error) {
		return session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	}
	got, err := read("docs:///a.md")
	if err != nil || len(got.Contents) != 1 || got.Contents[0].Text != "# A" || got.Contents[0].MIMEType != "text/markdown" || got.Contents[0].URI != "docs:///a.md" {
		t.Errorf("resources/read = %+v, %v", got, err)
	}
	missing := int64(-32002)
	if session.InitializeResult().ProtocolVersion >= modernVersion {
		missing = -32602
	}
	wantRPC(t, "resources/read", missing, "Resource not found: docs:///zzz.md", func() error { _, err := read("docs:///zzz.md"); return err })
	wantRPC(t, "resources/read", -32603, "internal error (id ", func() error { _, err := read("docs:///broken.md"); return err })
}

func wantRPC(t *testing.T, what string, code int64, text string, do func() error) {
	t.Helper()
	err := do()
	if err == nil {
		t.Errorf("%s: no error, want %d %q", what, code, text)
		return
	}
	if got := codeOf(err); got != code || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %d %v, want %d %q", what, got, err, code, text)
	}
}

func codeOf(err error) int64 {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestPublishRefusesNamesThatClientsCannotUse(t *testing.T) {
	tool := newDesk().catalog().Tools[0]
	named := func(name string) contract.Tool { t := tool; t.Name = name; return t }
	for want, c := range map[string]contract.Catalog{
		`publish tool "a.b": a name must have`:        {Tools: []contract.Tool{named("a.b")}},
		`publish tool "": a name must have`:           {Tools: []contract.Tool{named("")}},
		`publish tool "a": the name is used twice`:    {Tools: []contract.Tool{named("a"), named("a")}},
		`publish tool "a": the input schema`:          {Tools: []contract.Tool{{Name: "a", Input: json.RawMessage(`{"type":"array"}`)}}},
		`publish tool "b": the input schema`:          {Tools: []contract.Tool{{Name: "b"}}},
		`publish prompt "p": the name is empty or`:    {Prompts: []contract.Prompt{{Name: "p"}, {Name: "p"}}},
		`publish resource "a.md": not an absolute`:    {Resources: []contract.Resource{{URI: "a.md"}}},
		`publish resource "docs:///%zz": not an abso`: {Resources: []contract.Resource{{URI: "docs:///%zz"}}},
		`publish resource "d:///a": the URI is used`:  {Resources: []contract.Resource{{URI: "d:///a"}, {URI: "d:///a"}}},
	} {
		if _, err := New(Options{}, c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("New = %v, want %s", err, want)
		}
	}
}

func TestReplaceReachesRunningSessions(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			d := newDesk()
			s := newServer(t, Options{}, d.catalog())
			in, out, _ := overPipes(t, s)
			changed, listening := make(chan string, 8), make(chan struct{}, 8)
			client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
				PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { changed <- "prompts" },
				ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { changed <- "resources" },
			})
			client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == "notifications/subscriptions/acknowledged" {
						listening <- struct{}{}
					}
					return next(ctx, method, req)
				}
			})
			session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: out, Writer: in}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if version == "2026-07-28" { // an older client is told without asking
				<-listening
			}

			told := 0
			inFlight := make(chan *mcp.CallToolResult, 1)
			go func() {
				r, _ := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "wait"})
				inFlight <- r
			}()
			<-d.entered

			next := d.catalog()
			next.Tools = next.Tools[:1]
			next.Tools[0].Description = "Search the new docs."
			next.Tools[0].Call = func(context.Context, contract.Caller, json.RawMessage) (contract.Result, error) {
				return contract.Result{Text: []string{"new"}}, nil
			}
			if err := s.Replace(next); err != nil {
				t.Fatal(err)
			}
			if got := <-changed; got != "tools" {
				t.Errorf("told of %s, want tools", got)
			}
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Description != "Search the new docs." {
				t.Errorf("tools after Replace: %+v, %v", tools, err)
			}
			saysIt(t, session, "search_docs", map[string]any{"query": "a"}, "new", false)
			d.release <- struct{}{}
			if r := <-inFlight; r == nil || r.Content[0].(*mcp.TextContent).Text != "released" {
				t.Errorf("the call in flight ended with %+v", r)
			}

			// On a busy machine, one change can be told in several messages.
			waittest.Settled(t, "the news of the first change", func() int {
				for len(changed) > 0 {
					if got := <-changed; got != "tools" {
						t.Errorf("told of %s, want tools", got)
					}
					told++
				}
				return told
			})

			// The same lists with other functions behind them are no change to tell.
			next.Tools = append([]contract.Tool(nil), next.Tools...)
			next.Tools[0].Call = func(context.Context, contract.Caller, json.RawMessage) (contract.Result, error) {
				return contract.Result{Text: []string{"newer"}}, nil
			}
			if err := s.Replace(next); err != nil {
				t.Fatal(err)
			}
			saysIt(t, session, "search_docs", nil, "newer", false)
			waittest.Nothing(t, "news although nothing shown has changed", changed)
		})
	}
}

func TestReplaceIsAtomicUnderLoad(t *testing.T) {
	s := newServer(t, Options{}, contract.Catalog{})
	catalog := func(suffix string) (c contract.Catalog) {
		for i := range 20 {
			c.Tools = append(c.Tools, contract.Tool{
				Name: fmt.Sprintf("t%d_%s", i, suffix), Input: noInput,
				Call: func(context.Context, contract.Caller, json.RawMessage) (contract.Result, error) {
					return contract.Result{}, nil
				},
			})
		}
		return c
	}
	if err := s.Replace(catalog("a")); err != nil {
		t.Fatal(err)
	}
	in, out, _ := overPipes(t, s)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: out, Writer: in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := make(chan struct{})
	defer close(stop)
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = s.Replace(catalog(string("ab"[i%2])))
			}
		}
	})
	for range 200 {
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		last := tools.Tools[0].Name[len(tools.Tools[0].Name)-1]
		for _, tool := range tools.Tools {
			if len(tools.Tools) != 20 || tool.Name[len(tool.Name)-1] != last {
				t.Fatalf("half a catalog: %d tools, %s among those of %c", len(tools.Tools), tool.Name, last)
			}
		}
	}
}
