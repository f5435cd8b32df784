//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// agentDoor is a way in which an agent reaches a server over one store. asks
// begins a call and returns how its client gives up; again is a new connection
// to a new process.
type agentDoor struct {
	asks  func(t *testing.T, arguments string) (leave func())
	again func(t *testing.T) func(method, params string) (message, error)
}

// agentDoors are stdio and both eras of HTTP.
func agentDoors(state string) map[string]agentDoor {
	socketAt := func(t *testing.T, token string) *socket {
		cmd := exec.Command("deskhand", "serve", "--http", "127.0.0.1:0", "--tools", "ask", "--state", state)
		cmd.Env = append(cmd.Environ(), "DESKHAND_TOKEN="+token, "CI=")
		s := socketOf(t, cmd)
		s.token = token
		return s
	}
	overHTTP := func(open func(*socket) *era) agentDoor {
		return agentDoor{
			asks: func(t *testing.T, arguments string) func() {
				e := open(socketAt(t, bearer))
				ctx, leave := context.WithCancel(t.Context())
				go func() {
					if response, err := e.postIn(ctx, 7, "ask_user", arguments); err == nil {
						response.Body.Close()
					}
				}()
				return leave
			},
			again: func(t *testing.T) func(string, string) (message, error) { return open(socketAt(t, bearer)).ask },
		}
	}
	pipeAt := func(t *testing.T) *pipe {
		return met(unmetIn(t, filepath.Dir(state), "--tools", "ask", "--state", state))
	}
	return map[string]agentDoor{
		"stdio": {
			asks: func(t *testing.T, arguments string) func() {
				p := pipeAt(t)
				p.line(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"ask_user","arguments":` + arguments + `}}`)
				return func() {
					p.line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`)
				}
			},
			again: func(t *testing.T) func(string, string) (message, error) { return pipeAt(t).ask },
		},
		"HTTP with a session":    overHTTP((*socket).withSession),
		"HTTP without a session": overHTTP((*socket).withoutSession),
	}
}

// The client gives up and the person answers in time: a new connection to
// another process lists the answer, and asking the same again returns it without
// asking the person.
func TestAnAnswerGivenAfterTheClientGaveUpIsNotLost(t *testing.T) {
	t.Setenv("CI", "")
	for _, name := range []string{"stdio", "HTTP with a session", "HTTP without a session"} {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			door := agentDoors(state)[name]
			const same = `{"questions":[{"question":"Deploy now?","type":"confirm"}]}`
			leave := door.asks(t, same)
			hub := inboxOf(t, state)
			r := oneOpen(t, hub)
			leave()
			eventually(t, "the server to notice that the client gave up", func() error {
				if now, err := hub.Get(t.Context(), r.ID); err != nil || !now.AskerGone {
					return fmt.Errorf("the request is %+v, %v", now, err)
				}
				return nil
			})
			ask := door.again(t)
			listing := toolText(t, ask, "list_questions", `{}`)
			if !strings.Contains(listing, r.ID+" open") {
				t.Fatalf("list_questions of another process says %s, want %s open", listing, r.ID)
			}
			answerWith(t, hub, r, "yes")
			if listing = toolText(t, ask, "list_questions", `{}`); !strings.Contains(listing, r.ID+" answered") {
				t.Fatalf("list_questions says %s, want %s answered", listing, r.ID)
			}
			again := toolText(t, ask, "ask_user", same)
			if !strings.Contains(again, `"values":["yes"]`) || !strings.Contains(again, r.ID) || !strings.Contains(again, "was not asked again") {
				t.Errorf("asking the same again gives %s, want the answer to %s and that it is", again, r.ID)
			}
			if all, err := hub.List(t.Context(), elicit.Filter{Statuses: []elicit.Status{elicit.Open, elicit.ExpiredOpen, elicit.Completed}}); err != nil || len(all.Requests) != 1 {
				t.Errorf("the person was asked %d times, %v; want once", len(all.Requests), err)
			}
			if listing = toolText(t, ask, "list_questions", `{}`); strings.Contains(listing, r.ID) {
				t.Errorf("list_questions behind that says %s, want nothing: it was delivered", listing)
			}
		})
	}
}

// What a killed server did not deliver is offered by the next, and what was
// delivered is not.
func TestOnlyWhatReachedTheClientIsDelivered(t *testing.T) {
	t.Setenv("CI", "")
	state := filepath.Join(t.TempDir(), "state")
	serve := func() *pipe { return met(unmetIn(t, filepath.Dir(state), "--tools", "ask", "--state", state)) }
	hub := inboxOf(t, state)
	first := serve()
	first.line(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"ask_user","arguments":{"questions":[{"question":"Lost?"}]}}}`)
	lost := oneOpen(t, hub)
	got := make(chan string, 1)
	go func() { got <- toolText(t, first.ask, "ask_user", `{"questions":[{"question":"Taken?"}]}`) }()
	taken := newest(t, hub, "Taken?")
	answerWith(t, hub, taken, "Ann")
	if text := come(t, got); !strings.Contains(text, "Ann") {
		t.Fatalf("ask_user = %s, want Ann", text)
	}
	eventually(t, "the answer to count as delivered", func() error {
		if now, err := hub.Get(t.Context(), taken.ID); err != nil || now.Undelivered() {
			return fmt.Errorf("the request is %+v, %v", now, err)
		}
		return nil
	})
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	answerWith(t, hub, lost, "Bob")
	listing := toolText(t, serve().ask, "list_questions", `{}`)
	if !strings.Contains(listing, lost.ID+" answered") || strings.Contains(listing, taken.ID) {
		t.Errorf("list_questions = %s, want %s and not %s", listing, lost.ID, taken.ID)
	}
	<-first.ended
	_ = first.cmd.Wait() // says that it was killed
	t.Cleanup(func() { first.cmd = exec.Command("true"); _ = first.cmd.Start() })
}

// Questions belong to a client and its token: another token, another name and
// another attempt see nothing of them.
func TestQuestionsOfAnotherTokenAreNotSeen(t *testing.T) {
	t.Setenv("CI", "")
	state := filepath.Join(t.TempDir(), "state")
	at := func(token string) *era {
		cmd := exec.Command("deskhand", "serve", "--http", "127.0.0.1:0", "--tools", "ask", "--state", state)
		cmd.Env = append(cmd.Environ(), "DESKHAND_TOKEN="+token, "CI=")
		s := socketOf(t, cmd)
		s.token = token
		return s.withSession()
	}
	mine, same, other := at("a-token-of-alice-alone"), at("a-token-of-alice-alone"), at("a-token-of-bob-alone")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go func() {
		if response, err := mine.postIn(ctx, 7, "ask_user", `{"questions":[{"question":"Deploy now?"}]}`); err == nil {
			response.Body.Close()
		}
	}()
	hub := inboxOf(t, state)
	r := oneOpen(t, hub)
	for who, c := range map[string]struct {
		e    *era
		sees bool
	}{"the same token on another server": {same, true}, "another token": {other, false}} {
		if listing := toolText(t, c.e.ask, "list_questions", `{"anywhere":true}`); strings.Contains(listing, r.ID) != c.sees {
			t.Errorf("with %s: list_questions = %s, want it there: %v", who, listing, c.sees)
		}
		got := toolText(t, c.e.ask, "await_answer", `{"request_id":"`+r.ID+`","timeout":0}`)
		if strings.Contains(got, "stays open") != c.sees {
			t.Errorf("with %s: await_answer = %s, want it known: %v", who, got, c.sees)
		}
	}
}

// "Yes" with a note reaches the agent as both, from the command line too.
func TestANoteReachesTheAgentBesideTheAnswer(t *testing.T) {
	t.Setenv("CI", "")
	const note = "but only after 18:00"
	for how, ends := range map[string][]string{"answer": {"yes"}, "decline": nil, "cancel": nil} {
		t.Run(how, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			t.Setenv("DESKHAND_STATE", state)
			p := overPipe(t, "--tools", "ask")
			got := make(chan message, 1)
			go func() {
				m, err := p.ask("tools/call", `{"name":"ask_user","arguments":{"questions":[{"question":"Deploy now?","type":"confirm"}]}}`)
				if err != nil {
					t.Error(err)
				}
				got <- m
			}()
			r := oneOpen(t, inboxOf(t, state))
			done(t, t.TempDir(), append(append([]string{"ask", how, r.ID}, ends...), "--note", note)...)
			var result struct {
				Meta struct {
					Completion elicit.Completion `json:"deskhand/completion"`
				} `json:"_meta"`
			}
			select {
			case m := <-got:
				if err := json.Unmarshal(m.Result, &result); err != nil {
					t.Fatal(err)
				}
			case <-time.After(patience):
				t.Fatal("no result")
			}
			if result.Meta.Completion.Note != note {
				t.Errorf("the completion is %+v, want the note", result.Meta.Completion)
			}
			if shown := done(t, t.TempDir(), "ask", "show", r.ID); !strings.Contains(shown, note) {
				t.Errorf("ask show = %s, want the note", shown)
			}
			if list := done(t, t.TempDir(), "ask", "list", "--all"); !strings.Contains(list, note) {
				t.Errorf("ask list --all = %s, want the note", list)
			}
		})
	}
}

// toolText calls a tool and joins what it says.
func toolText(t *testing.T, ask func(method, params string) (message, error), tool, arguments string) string {
	t.Helper()
	m, err := ask("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
	if err != nil || m.Error != nil {
		t.Fatalf("%s(%s): %v, %+v", tool, arguments, err, m.Error)
	}
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(m.Result, &result); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, c := range result.Content {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n")
}

// postIn calls a tool with a context of the caller's, and returns when the
// answer begins.
func (e *era) postIn(ctx context.Context, id int, tool, arguments string, meta ...string) (*http.Response, error) {
	body, header := e.toolCall(id, tool, arguments, meta...)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.socket.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Authorization", "Bearer "+e.socket.token)
	for k, v := range header {
		request.Header.Set(k, v)
	}
	return http.DefaultClient.Do(request)
}

// toolCall is the body and the headers of a call, with more members of _meta.
func (e *era) toolCall(id int, tool, arguments string, meta ...string) (string, map[string]string) {
	header := map[string]string{"Mcp-Session-Id": e.session, "Mcp-Protocol-Version": "2025-11-25"}
	if e.session == "" {
		header = map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
		meta = append(meta, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientInfo":{"name":"byhand","version":"1"}`, `"io.modelcontextprotocol/clientCapabilities":{}`)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{%s}}}`, id, tool, arguments, strings.Join(meta, ",")), header
}
