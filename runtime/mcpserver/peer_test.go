package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// asking is a server with one tool that asks for what a test says, through the
// client alone, and the hub behind it.
func asking(t *testing.T, r elicit.Request) (*Server, *elicit.Hub) {
	t.Helper()
	r, err := elicit.Prepare(r)
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), t.TempDir(), elicit.Room())
	if err != nil {
		t.Fatal(err)
	}
	hub := elicit.New(db, elicit.Options{})
	t.Cleanup(func() { hub.Close(); db.Close() })
	call := func(ctx context.Context, caller contract.Caller, _ struct{}) (contract.Result, error) {
		p := caller.Client.(*peer)
		if !p.CanShow(&r) {
			return contract.Result{Text: []string{"cannot"}}, nil
		}
		ended, err := hub.Ask(ctx, r, p)
		if err != nil {
			return contract.Result{}, err
		}
		return contract.Result{Text: []string{string(ended.Completion.Outcome)}}, nil
	}
	tool := contract.Define(contract.Spec{Name: "ask", Description: "Asks.", Input: noInput}, call)
	return newServer(t, Options{}, contract.Catalog{Tools: []contract.Tool{tool}}), hub
}

// dials is a client of 2025-11-25.
func dials(t *testing.T, s *Server, o mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return dialsAs(t, s, "tester", o)
}

func dialsAs(t *testing.T, s *Server, name string, o mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	in, out, ended := overPipes(t, s)
	session, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "7"}, &o).Connect(
		t.Context(), &mcp.IOTransport{Reader: out, Writer: in}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		if err := <-ended; err != nil {
			t.Errorf("ServeStdio = %v", err)
		}
	})
	return session
}

// The lines I-nnn are those of the contract of elicitation.
func TestALinkIsShownByAClientThatShowsLinks(t *testing.T) {
	s, hub := asking(t, elicit.Request{Trigger: elicit.CredentialRequired, Message: "Sign in", URL: "https://example.org/connect"})
	shown, told := make(chan mcp.ElicitParams, 1), make(chan string, 1)
	session := dials(t, s, mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			shown <- *r.Params
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
		ElicitationCompleteHandler: func(_ context.Context, r *mcp.ElicitationCompleteNotificationRequest) { told <- r.Params.ElicitationID },
	})
	results := make(chan *mcp.CallToolResult, 1)
	go func() { results <- saysIt(t, session, "ask", map[string]any{}, "accept", false) }()
	var id string
	t.Run("I-036 a link", func(t *testing.T) {
		var p mcp.ElicitParams
		select {
		case p = <-shown:
		case r := <-results:
			t.Fatalf("the call came to %+v, and nothing was shown", r)
		}
		if id = p.ElicitationID; p.Mode != "url" || p.URL != "https://example.org/connect" || p.Message != "Sign in" || p.RequestedSchema != nil {
			t.Errorf("shown was %+v, want the link", p)
		}
		select {
		case <-results:
			t.Error("the call ended when the link was opened, and not when its page was done")
		case <-time.After(50 * time.Millisecond):
		}
	})
	t.Run("the client is told when the page is done", func(t *testing.T) {
		if _, err := hub.Dispatch(t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: id, Response: elicit.Accept}); err != nil {
			t.Fatal(err)
		}
		<-results
		select {
		case got := <-told:
			if got != id {
				t.Errorf("told of %s, want %s", got, id)
			}
		case <-time.After(10 * time.Second):
			t.Error("it was not told")
		}
	})
}

func TestAFormIsShownByAClientThatShowsForms(t *testing.T) {
	r := elicit.Request{Trigger: elicit.MCPElicitation, Questions: []elicit.Question{{ID: "port", Kind: elicit.Integer, Message: "Which port?", Required: true}}}
	for name, c := range map[string]struct {
		reply *mcp.ElicitResult
		want  string
	}{
		"I-040 accept":      {&mcp.ElicitResult{Action: "accept", Content: map[string]any{"port": 80}}, "accept"},
		"I-042 decline":     {&mcp.ElicitResult{Action: "decline"}, "decline"},
		"I-014 I-015 other": {&mcp.ElicitResult{Action: "completed"}, string(elicit.Abandoned)},
	} {
		t.Run("I-037 "+name, func(t *testing.T) {
			s, _ := asking(t, r)
			session := dials(t, s, mcp.ClientOptions{
				Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if r.Params.Mode != "form" || r.Params.URL != "" {
						t.Errorf("shown was %+v, want a form", r.Params)
					}
					return c.reply, nil
				},
			})
			saysIt(t, session, "ask", map[string]any{}, c.want, false)
		})
	}
}

// Not every client checks what its person typed before it sends the form. What
// does not fit is asked for again, and what does is not typed twice.
func TestAReplyThatDoesNotFitTheFormIsAskedForAgain(t *testing.T) {
	s, hub := asking(t, elicit.Request{Trigger: elicit.MCPElicitation, Questions: []elicit.Question{
		{ID: "port", Kind: elicit.Integer, Message: "Which port?", Required: true}, {ID: "why", Message: "Why?", Required: true}}})
	c := newByHand(t, s)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"byhand","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{}}}` + "\n")
	contents := []string{`{"port":"eighty","why":"it is free"}`, `{"port":80.5,"why":"it is free"}`, `{"port":80,"why":"it is free"}`}
	asked, drafts := 0, map[string]elicit.Answer(nil)
	for {
		w, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		if string(w.ID) == "2" && w.Method == "" {
			if asked != len(contents) || !strings.Contains(string(w.Result), `"accept"`) {
				t.Errorf("tools/call after %d forms = %s, want accept after %d", asked, w.Result, len(contents))
			}
			break
		}
		if w.Method != "elicitation/create" {
			continue
		}
		list, err := hub.List(t.Context(), elicit.Filter{})
		if err != nil || len(list.Requests) != 1 || asked == len(contents) {
			t.Fatalf("form %d with %+v, %v in the inbox", asked+1, list.Requests, err)
		}
		drafts = list.Requests[0].Answers
		c.send(`{"jsonrpc":"2.0","id":` + string(w.ID) + `,"result":{"action":"accept","content":` + contents[asked] + "}}\n")
		asked++
	}
	if got := drafts["why"]; got.State != elicit.Draft || got.Value.Text != "it is free" {
		t.Errorf("drafts in the inbox after two refusals = %+v, want what was typed", drafts)
	}
}

// A client that runs without a person declines at once, which is no answer of
// anybody: whoever is at the inbox is asked all the same.
func TestAClientThatDeclinesForNobodyLeavesItToTheInbox(t *testing.T) {
	declines := func(after time.Duration) mcp.ClientOptions {
		return mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				time.Sleep(after)
				return &mcp.ElicitResult{Action: "decline"}, nil
			},
		}
	}
	form := elicit.Request{Trigger: elicit.MCPElicitation, Message: "Go?"}
	for _, c := range []struct {
		name, client   string
		reading, after time.Duration
		want           string
	}{
		{"at once", "codex-mcp-client", time.Minute, 0, "accept"},
		{"after reading", "codex-mcp-client", time.Millisecond, 50 * time.Millisecond, "decline"},
		{"another client at once", "tester", time.Minute, 0, "decline"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reads(t, c.reading)
			s, hub := asking(t, form)
			_, _, leave, err := hub.Attach(t.Context(), elicit.Station{Kind: "terminal"})
			if err != nil {
				t.Fatal(err)
			}
			defer leave()
			if c.want == "accept" {
				go func() {
					for {
						list, err := hub.List(context.Background(), elicit.Filter{})
						if err != nil {
							return
						}
						if len(list.Requests) == 1 {
							time.Sleep(100 * time.Millisecond)
							_, err := hub.Dispatch(context.Background(), elicit.Action{Type: elicit.CompletedBy, RequestID: list.Requests[0].ID, Response: elicit.Accept})
							if err != nil {
								t.Error(err)
							}
							return
						}
						time.Sleep(5 * time.Millisecond)
					}
				}()
			}
			saysIt(t, dialsAs(t, s, c.client, declines(c.after)), "ask", map[string]any{}, c.want, false)
		})
	}
	t.Run("and nobody is there", func(t *testing.T) {
		reads(t, time.Minute)
		s, _ := asking(t, form)
		saysIt(t, dialsAs(t, s, "codex-mcp-client", declines(0)), "ask", map[string]any{}, string(elicit.Abandoned), false)
	})
}

// reads says how long a person takes to read, on a machine of any speed.
func reads(t *testing.T, d time.Duration) {
	before := readingTime
	readingTime = d
	t.Cleanup(func() { readingTime = before })
}

func TestAClientThatDeclaredNothingIsSentNothing(t *testing.T) {
	for name, r := range map[string]elicit.Request{
		"form": {Trigger: elicit.MCPElicitation, Message: "Go?"},
		"link": {Trigger: elicit.CredentialRequired, Message: "Sign in", URL: "https://example.org/"},
	} {
		t.Run("I-035 "+name, func(t *testing.T) {
			s, _ := asking(t, r)
			for _, can := range []*mcp.ElicitationCapabilities{nil, {Form: &mcp.FormElicitationCapabilities{}}} {
				if name == "form" && can != nil {
					continue
				}
				o := mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Elicitation: can}}
				if can != nil {
					o.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						t.Error("the client was asked")
						return nil, errors.New("asked")
					}
				}
				saysIt(t, dials(t, s, o), "ask", map[string]any{}, "cannot", false)
			}
		})
	}
}

func TestFormsAreFlat(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	t.Run("I-049 I-010 properties are texts, numbers, yes or no, and lists of choices", func(t *testing.T) {
		for range 1000 {
			r, err := elicit.Prepare(anyRequest(random))
			if err != nil {
				continue
			}
			raw := formSchema(&r, pick(random, revisions...))
			var schema struct {
				Type       string
				Properties map[string]struct {
					Type       string
					Properties any
					Items      map[string]any
				}
			}
			if err := json.Unmarshal(raw, &schema); err != nil || schema.Type != "object" {
				t.Fatalf("schema %s, %v", raw, err)
			}
			for name, p := range schema.Properties {
				switch {
				case p.Properties != nil, p.Type == "object", p.Type == "":
					t.Fatalf("%s is nested in %s", name, raw)
				case p.Type == "array" && p.Items["anyOf"] == nil:
					t.Fatalf("%s is a list of anything in %s", name, raw)
				}
			}
		}
	})
}
