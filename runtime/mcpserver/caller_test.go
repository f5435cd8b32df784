package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// asking is a server with one tool that asks for what a test says, through the
// client alone, and the hub behind it.
func asking(t *testing.T, r elicit.Request) (*Server, *elicit.Hub) {
	t.Helper()
	r, err := elicit.Prepare(r)
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), t.TempDir(), elicit.Schema())
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
		waittest.Nothing(t, "the end of the call when the link was opened, before its page is done", results)
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
		case <-time.After(waittest.Patience):
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

// What a client may say by itself ends nothing while a person can be reached in
// another way, however long it took; what only a person says does.
func TestWhatAClientMaySayByItselfLeavesTheQuestionToTheInbox(t *testing.T) {
	says := func(action string) mcp.ClientOptions {
		return mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: action}, nil
			},
		}
	}
	headless := map[string]any{"x-codex-turn-metadata": map[string]any{"turn_trigger": "exec"}}
	attended := map[string]any{"x-codex-turn-metadata": map[string]any{"turn_trigger": "user"}}
	form := elicit.Request{Trigger: elicit.MCPElicitation, Message: "Go?"}
	for _, c := range []struct {
		client, action string
		meta           map[string]any
		inbox, noInbox string
	}{
		{"claude-code", "cancel", nil, "accept", "abandoned"},
		{"tester", "cancel", nil, "accept", "cancel"},
		{"claude-code", "decline", nil, "decline", "decline"},
		{"tester", "decline", nil, "decline", "decline"},
		{"codex-mcp-client", "decline", headless, "accept", "abandoned"},
		{"codex-mcp-client", "decline", nil, "accept", "abandoned"},
		{"codex-mcp-client", "decline", attended, "decline", "decline"},
		{"codex-mcp-client", "cancel", attended, "accept", "cancel"},
	} {
		for _, inbox := range []bool{true, false} {
			name, want := "and there is an inbox", c.inbox
			if !inbox {
				name, want = "and there is none", c.noInbox
			}
			t.Run(fmt.Sprintf("%s says %s, %v, %s", c.client, c.action, c.meta, name), func(t *testing.T) {
				s, hub := asking(t, form)
				if inbox {
					_, _, leave, err := hub.Attach(t.Context(), elicit.Station{Kind: "terminal"})
					if err != nil {
						t.Fatal(err)
					}
					defer leave()
				}
				session := dialsAs(t, s, c.client, says(c.action))
				replies := make(chan *mcp.CallToolResult, 1)
				go func() {
					reply, err := session.CallTool(t.Context(), &mcp.CallToolParams{Meta: c.meta, Name: "ask", Arguments: map[string]any{}})
					if err != nil {
						t.Error(err)
					}
					replies <- reply
				}()
				if inbox && want == "accept" {
					answersWhenDismissed(t, hub)
				}
				select {
				case reply := <-replies:
					if text := reply.Content[0].(*mcp.TextContent).Text; text != want {
						t.Errorf("the tool says %q, want %q", text, want)
					}
				case <-time.After(waittest.Patience):
					t.Fatal("the call has not ended")
				}
			})
		}
	}
}

// answersWhenDismissed agrees to the one open request once the client has had
// time to spoil it.
func answersWhenDismissed(t *testing.T, hub *elicit.Hub) {
	t.Helper()
	var id string
	waittest.Until(t, "the question stays open", func() (bool, any) {
		list, err := hub.List(t.Context(), elicit.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Requests) != 1 || time.Since(list.Requests[0].CreatedAt.Time) < 200*time.Millisecond {
			return false, list.Requests
		}
		id = list.Requests[0].ID
		return true, nil
	})
	if _, err := hub.Dispatch(t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: id, Response: elicit.Accept}); err != nil {
		t.Fatal(err)
	}
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
