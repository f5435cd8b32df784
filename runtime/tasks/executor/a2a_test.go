package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// peer is a remote agent that executes the first word of a message.
type peer struct {
	*httptest.Server
	mu       sync.Mutex
	got      []*a2a.Message
	ended    []a2a.TaskID  // cancelled tasks
	moved    chan struct{} // closed when the event that the peer waits for has happened elsewhere
	headers  http.Header   // headers of the last call
	stumbles int           // number of messages to a task that fail
}

// Execute implements [a2asrv.AgentExecutor].
func (p *peer) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	p.mu.Lock()
	p.got = append(p.got, ec.Message)
	p.mu.Unlock()
	said := partsText(ec.Message.Parts)
	verb, rest, _ := strings.Cut(said, " ")
	return func(yield func(a2a.Event, error) bool) {
		state := func(s a2a.TaskState, parts ...*a2a.Part) bool {
			var m *a2a.Message
			if len(parts) > 0 {
				m = a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, parts...)
			}
			return yield(a2a.NewStatusUpdateEvent(ec, s, m), nil)
		}
		if verb == "reply" {
			yield(a2a.NewMessageForTask(a2a.MessageRoleAgent, a2a.TaskInfo{ContextID: ec.ContextID}, a2a.NewTextPart(rest)), nil)
			return
		}
		if ec.StoredTask == nil {
			yield(a2a.NewSubmittedTask(ec, ec.Message), nil)
		} else {
			data := ""
			for _, part := range ec.Message.Parts {
				if part.Data() != nil {
					data = fmt.Sprint(" ", part.Data())
				}
			}
			state(a2a.TaskStateCompleted, a2a.NewTextPart("you said "+said+data))
			return
		}
		state(a2a.TaskStateWorking, a2a.NewTextPart("on it"))
		switch verb {
		case "ask":
			state(a2a.TaskStateInputRequired, a2a.NewTextPart(rest))
			return
		case "form":
			state(a2a.TaskStateInputRequired, a2a.NewTextPart("Two things"), a2a.NewDataPart(map[string]any{"elicitationId": "elc_theirs",
				"questions": []any{map[string]any{"id": "go", "kind": "boolean", "message": "Ship it?"}}}))
			return
		case "schema":
			state(a2a.TaskStateInputRequired, a2a.NewTextPart("A thing"), a2a.NewDataPart(map[string]any{
				"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"colour": map[string]any{"type": "string"}}}}))
			return
		case "auth":
			state(a2a.TaskStateAuthRequired, a2a.NewTextPart(rest))
			select {
			case <-p.moved:
			case <-ctx.Done():
				return
			}
		case "hang":
			<-ctx.Done()
			return
		case "fail":
			state(a2a.TaskStateFailed, a2a.NewTextPart(rest))
			return
		case "reject":
			state(a2a.TaskStateRejected, a2a.NewTextPart(rest))
			return
		case "file":
			name, content, _ := strings.Cut(rest, " ")
			e := a2a.NewArtifactEvent(ec, &a2a.Part{Content: a2a.Raw(content), Filename: name})
			yield(e, nil)
			more := a2a.NewArtifactUpdateEvent(ec, e.Artifact.ID, &a2a.Part{Content: a2a.Raw(" and more"), Filename: name})
			more.Append = true
			yield(more, nil)
		default:
			e := a2a.NewArtifactEvent(ec, a2a.NewTextPart("part one, "))
			yield(e, nil)
			more := a2a.NewArtifactUpdateEvent(ec, e.Artifact.ID, a2a.NewTextPart("part two"))
			more.Append, more.LastChunk = true, true
			yield(more, nil)
			yield(a2a.NewArtifactEvent(ec, a2a.NewDataPart(map[string]any{"answer": 42})), nil)
		}
		state(a2a.TaskStateCompleted, a2a.NewTextPart("done"))
	}
}

// Cancel implements [a2asrv.AgentExecutor].
func (p *peer) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	p.mu.Lock()
	p.ended = append(p.ended, ec.TaskID)
	p.mu.Unlock()
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

func (p *peer) cancelled() []a2a.TaskID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ended)
}

func (p *peer) messages() []*a2a.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*a2a.Message(nil), p.got...)
}

// Ways to communicate with a peer.
const (
	modern     = "1.0"
	rest       = "1.0 REST"
	legacy     = "0.3"
	unstreamed = "1.0 without streams"
)

// newPeer returns an agent that is reached in the given way, and a table with that
// agent.
func newPeer(t *testing.T, way string) (*peer, *Table) {
	t.Helper()
	p := &peer{moved: make(chan struct{})}
	handler := a2asrv.NewHandler(p)
	mux := http.NewServeMux()
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/old", a2av0.NewJSONRPCHandler(handler))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.mu.Lock()
		p.headers = r.Header
		stumbles := p.stumbles > 0 && bytes.Contains(body, []byte(`"taskId"`)) && bytes.Contains(body, []byte(`"message"`))
		if stumbles {
			p.stumbles--
		}
		p.mu.Unlock()
		if stumbles {
			before := ""
			if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
				w.Header().Set("Content-Type", "text/event-stream")
				before = "data: "
			}
			fmt.Fprintf(w, `%s{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"not ready yet"}}`+"\n\n", before, idOf(body))
			return
		}
		mux.ServeHTTP(w, r)
	}))
	card := fmt.Sprintf(map[string]string{
		modern:     `{"name":"peer","supportedInterfaces":[{"url":"%s/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true}}`,
		unstreamed: `{"name":"peer","supportedInterfaces":[{"url":"%s/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{}}`,
		rest:       `{"name":"peer","supportedInterfaces":[{"url":"%s/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],"capabilities":{"streaming":true}}`,
		legacy:     `{"name":"peer","protocolVersion":"0.3.0","url":"%s/old","preferredTransport":"JSONRPC","capabilities":{"streaming":true}}`,
	}[way], p.URL)
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, card) })
	t.Cleanup(func() { p.CloseClientConnections(); p.Close() })
	return p, table(t, map[string]Config{"peer": {Kind: "a2a", URL: p.URL}})
}

// answering returns a person who always gives the same answer, and the questions that
// were asked.
func answering(a Answer) (ask func(context.Context, Question) (Answer, error), asked *[]Question) {
	asked = new([]Question)
	return func(_ context.Context, q Question) (Answer, error) {
		*asked = append(*asked, q)
		return a, nil
	}, asked
}

func TestAnAgentElsewhereWorks(t *testing.T) {
	for _, way := range []string{modern, rest, legacy, unstreamed} {
		t.Run(way, func(t *testing.T) {
			p, tb := newPeer(t, way)
			result, log := run(t, tb, "peer", Spec{Prompt: "work"})
			if result.Failure != "" || result.Summary != "done" || !strings.Contains(result.AgentSession, `"contextId"`) {
				t.Errorf("result %+v, want done\n%s", result, log.text())
			}
			wants := []string{`assistant_message "part one, part two"`, `assistant_message "done"`, `{\"answer\":42}`}
			if way == unstreamed && strings.Contains(log.text(), `assistant_message "part one, "`) {
				wants[0] = `assistant_message "part two"` // a poll may see one part first
			}
			for _, want := range wants {
				if !strings.Contains(log.text(), want) {
					t.Errorf("the log lacks %s:\n%s", want, log.text())
				}
			}
			if n := strings.Count(log.text(), "part two"); n > 1 {
				t.Errorf("shown %d times:\n%s", n, log.text())
			}
			if got := p.messages(); len(got) != 1 || partsText(got[0].Parts) != "work" {
				t.Errorf("the agent got %v", got)
			}
		})
	}
}

// idOf returns the ID of a JSON-RPC request.
func idOf(body []byte) json.RawMessage {
	var request struct{ ID json.RawMessage }
	_ = json.Unmarshal(body, &request)
	return request.ID
}

// An agent that asks before it is ready for the answer gets the answer again.
func TestAnAgentElsewhereThatStumblesOverAnAnswerIsToldAgain(t *testing.T) {
	for _, way := range []string{modern, unstreamed} {
		t.Run(way, func(t *testing.T) {
			p, tb := newPeer(t, way)
			p.stumbles = 2
			ask, asked := answering(Answer{Outcome: "accept", Text: "blue"})
			result, log := run(t, tb, "peer", Spec{Prompt: "ask Which colour?", Ask: ask})
			if result.Failure != "" || result.Summary != "you said blue" || len(*asked) != 1 {
				t.Errorf("result %+v after %d questions, want what was answered to one\n%s", result, len(*asked), log.text())
			}
		})
	}
}

// I-002, I-004, I-041, I-046: an agent's input request becomes a question to a person,
// and the answer goes to the agent's task.
func TestWhatAnAgentElsewhereWantsIsAsked(t *testing.T) {
	for _, way := range []string{modern, rest, legacy, unstreamed} {
		t.Run(way, func(t *testing.T) {
			p, tb := newPeer(t, way)
			ask, asked := answering(Answer{Outcome: "accept", Text: "blue"})
			result, log := run(t, tb, "peer", Spec{Prompt: "ask Which colour?", Ask: ask})
			if result.Failure != "" || result.Summary != "you said blue" {
				t.Errorf("result %+v, want what was answered\n%s", result, log.text())
			}
			if len(*asked) != 1 || (*asked)[0].Message != "Which colour?" || (*asked)[0].Trigger != "a2a_input_required" {
				t.Errorf("asked %+v", *asked)
			}
			if got := p.messages(); len(got) != 2 || got[1].TaskID == "" {
				t.Errorf("the agent got %+v, want an answer to its task", got)
			}
		})
	}
}

func TestAnswersToAnAgentElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		prompt, want, failure string
		answer                Answer
	}{
		"a form":              {"form", "you said go: true map[action:accept content:map[go:true] elicitationId:elc_theirs]", "", Answer{Outcome: "accept", Values: map[string]any{"go": true}}},
		"a schema":            {"schema", "you said colour: blue map[action:accept content:map[colour:blue]]", "", Answer{Outcome: "accept", Values: map[string]any{"colour": "blue"}}},
		"no":                  {"form", "you said The person declined to answer. map[action:decline elicitationId:elc_theirs]", "", Answer{Outcome: "decline"}},
		"words instead":       {"form", "you said later", "", Answer{Outcome: "accept", Text: "later"}},
		"nothing at all":      {"schema", "you said The person has nothing to add. map[action:accept content:map[]]", "", Answer{Outcome: "accept", Values: map[string]any{}}},
		"the question closed": {"ask Why?", "on it", "cancelled", Answer{Outcome: "cancel"}},
		"nobody yet":          {"ask Why?", "on it", "no answer in time", Answer{Outcome: "cancel", Pending: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, tb := newPeer(t, modern)
			ask, asked := answering(c.answer)
			result, log := run(t, tb, "peer", Spec{Prompt: c.prompt, Ask: ask})
			if result.Summary != c.want || !strings.Contains(result.Failure, c.failure) || c.failure == "" && result.Failure != "" {
				t.Errorf("result %+v, want %q and failure %q\n%s", result, c.want, c.failure, log.text())
			}
			if name == "a form" && !strings.Contains(string((*asked)[0].Fields), `"Ship it?"`) {
				t.Errorf("asked %+v, want the questions", (*asked)[0])
			}
		})
	}
}

// I-038: a sign-in is a page to open, or something to confirm, but never a field to
// type in. If the agent notices the sign-in on its own, the question ends.
func TestASignInIsNoticed(t *testing.T) {
	p, tb := newPeer(t, modern)
	withdrawn := make(chan error, 1)
	result, log := run(t, tb, "peer", Spec{Prompt: "auth Sign in with your account.", Ask: func(ctx context.Context, q Question) (Answer, error) {
		if q.URL != "" || len(q.Options) != 1 || q.Trigger != "a2a_auth_required" {
			t.Errorf("asked %+v, want one thing to choose", q)
		}
		close(p.moved)
		<-ctx.Done()
		withdrawn <- context.Cause(ctx)
		return Answer{}, ctx.Err()
	}})
	if result.Failure != "" || result.Summary != "done" || len(p.messages()) != 1 {
		t.Errorf("result %+v after %d messages, want done after one\n%s", result, len(p.messages()), log.text())
	}
	if got := <-withdrawn; got != ErrSettled {
		t.Errorf("the question ended with %v, want %v", got, ErrSettled)
	}
}

// If an agent accepts no messages while it waits, deskhand polls it.
func TestAnAgentElsewhereMayTakeNoWordForASignIn(t *testing.T) {
	p, tb := newPeer(t, modern)
	time.AfterFunc(signInTime+time.Second, func() { close(p.moved) })
	ask, asked := answering(Answer{Outcome: "accept", Option: signedIn})
	if result, log := run(t, tb, "peer", Spec{Prompt: "auth Sign in", Ask: ask}); result.Summary != "done" || result.Failure != "" || len(*asked) != 1 {
		t.Errorf("result %+v after %d questions, want done after one\n%s", result, len(*asked), log.text())
	}
}

func TestAFollowUpGoesOnElsewhere(t *testing.T) {
	p, tb := newPeer(t, modern)
	first, _ := run(t, tb, "peer", Spec{Prompt: "work"})
	second, log := run(t, tb, "peer", Spec{Prompt: "ask Which?", Resume: first.AgentSession, Ask: func(context.Context, Question) (Answer, error) {
		return Answer{Outcome: "cancel", Pending: true}, nil
	}})
	if strings.Contains(log.text(), "part two") {
		t.Errorf("the log repeats what was said before:\n%s", log.text())
	}
	third, log := run(t, tb, "peer", Spec{Prompt: "that one", Resume: second.AgentSession})
	got := p.messages()
	if len(got) != 3 || !strings.Contains(first.AgentSession, got[1].ContextID) || len(got[1].ReferenceTasks) != 1 || got[1].TaskID != "" {
		t.Fatalf("the agent got %+v and %+v, want a task in the same context", got[0], got[1])
	}
	if !strings.Contains(second.AgentSession, string(got[2].TaskID)) || third.Summary != "you said that one" {
		t.Errorf("the late answer went to task %q, want that of %s; %+v\n%s", got[2].TaskID, second.AgentSession, third, log.text())
	}
	p, other := newPeer(t, modern)
	forgotten, log := run(t, other, "peer", Spec{Prompt: "work", Before: "You said: done. ", Resume: third.AgentSession})
	if got := p.messages(); forgotten.Failure != "" || forgotten.Summary != "done" || partsText(got[0].Parts) != "You said: done. work" || got[0].ContextID == "" {
		t.Errorf("an agent that has forgotten was told %+v: %+v, want done\n%s", got[0], forgotten, log.text())
	}
}

// An agent that answers without a task or a context has no session to continue with,
// and one that rejects its context has lost it.
func TestAnAgentElsewhereWithoutAContextIsToldWhatWasSaid(t *testing.T) {
	tb := raw(t, modern, func(_, params string, n int) (string, string) {
		if strings.Contains(params, "contextId") {
			return asStream, `data: {"jsonrpc":"2.0","id":"1","error":{"code":-32602,"message":"no such context"}}` + "\n\n"
		}
		var p struct {
			Message struct{ Parts []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(params), &p); err != nil || len(p.Message.Parts) != 1 {
			return asJSON, "no message"
		}
		return asStream, events(fmt.Sprintf(`{"message":{"messageId":"m%d","role":"ROLE_AGENT","parts":[{"text":%q}]}}`, n, "heard "+p.Message.Parts[0].Text))
	})
	first, log := run(t, tb, "raw", Spec{Prompt: "one"})
	if first.AgentSession != "" || first.Summary != "heard one" {
		t.Errorf("result %+v, want no session\n%s", first, log.text())
	}
	for _, session := range []string{"", `{"contextId":"c1"}`} {
		if r, log := run(t, tb, "raw", Spec{Prompt: "two", Before: "You said: one. ", Resume: session}); r.Summary != "heard You said: one. two" {
			t.Errorf("with session %q: %+v, want what was said before told\n%s", session, r, log.text())
		}
	}
}

func TestAnAgentElsewhereIsKilled(t *testing.T) {
	p, tb := newPeer(t, modern)
	r, log := start(t, tb, "peer", Spec{Prompt: "hang"})
	until(t, "work", func() bool { return strings.Contains(log.text(), "on it") })
	r.Kill()
	if result := r.Wait(); result.Failure != "cancelled" || len(p.cancelled()) != 1 {
		t.Errorf("Kill = %+v, the tasks %v were cancelled, want one", result, p.cancelled())
	}
}

// A task that a killed run has left is cancelled, unless it is waiting for an answer,
// which may still arrive.
func TestAbandonCancelsWhatIsAtWork(t *testing.T) {
	for name, c := range map[string]struct {
		prompt        string
		stopped, want bool
	}{
		"at work":              {"hang", false, true},
		"waiting":              {"ask Which?", false, false},
		"waiting, and stopped": {"ask Which?", true, true},
		"over":                 {"work", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, tb := newPeer(t, modern)
			session := make(chan string, 10)
			r, log := start(t, tb, "peer", Spec{Prompt: c.prompt, Session: func(id string) { session <- id }, Ask: func(context.Context, Question) (Answer, error) {
				return Answer{Outcome: "cancel", Pending: true}, nil
			}})
			if c.prompt == "hang" {
				until(t, "work", func() bool { return strings.Contains(log.text(), "on it") })
			} else {
				r.Wait()
			}
			if err := tb.Abandon(t.Context(), "peer", <-session, c.stopped); err != nil {
				t.Fatalf("Abandon = %v", err)
			}
			if got := p.cancelled(); len(got) > 0 != c.want {
				t.Errorf("the tasks %v were cancelled, want one: %v", got, c.want)
			}
		})
	}
	_, tb := newPeer(t, modern)
	for id, session := range map[string]string{"peer": `{"contextId":"c","taskId":"no such task"}`, "fake": "s1", "unknown": "s2"} {
		if err := tb.Abandon(t.Context(), id, session, false); err != nil {
			t.Errorf("Abandon(%s, %s) = %v, want nil", id, session, err)
		}
	}
}

func TestAnAgentElsewhereIsStopped(t *testing.T) {
	for _, way := range []string{modern, rest, legacy, unstreamed} {
		t.Run(way, func(t *testing.T) {
			_, tb := newPeer(t, way)
			r, log := start(t, tb, "peer", Spec{Prompt: "hang"})
			until(t, "work", func() bool { return strings.Contains(log.text(), "on it") })
			began := time.Now()
			if result := r.Stop(waittest.Patience, time.Second); result.Failure != "cancelled" || time.Since(began) > waittest.Soon {
				t.Errorf("Stop = %+v after %v\n%s", result, time.Since(began), log.text())
			}
			again, log := run(t, tb, "peer", Spec{Prompt: "work", Resume: r.Wait().AgentSession})
			if again.Summary != "done" {
				t.Errorf("after it: %+v\n%s", again, log.text())
			}
		})
	}
}

func TestAnAgentElsewhereThatDoesNotEndIsLeft(t *testing.T) {
	_, tb := newPeer(t, modern)
	r, log := start(t, tb, "peer", Spec{Prompt: "hang"})
	until(t, "work", func() bool { return strings.Contains(log.text(), "on it") })
	r.Kill()
	if result := r.Wait(); result.Failure != "cancelled" {
		t.Errorf("result %+v", result)
	}
	// The remaining task is cancelled before the next one begins.
	again, log := run(t, tb, "peer", Spec{Prompt: "work", Resume: r.Wait().AgentSession})
	if again.Summary != "done" {
		t.Errorf("after it: %+v\n%s", again, log.text())
	}
}

func TestWhatAnAgentElsewhereSaysOfItsEnd(t *testing.T) {
	for prompt, want := range map[string]string{
		"fail the disk is full": "the agent failed: the disk is full", "reject not for me": "the agent rejected the task: not for me", "reply hello": "",
	} {
		_, tb := newPeer(t, modern)
		if result, log := run(t, tb, "peer", Spec{Prompt: prompt}); result.Failure != want {
			t.Errorf("%s: failure %q, want %q\n%s", prompt, result.Failure, want, log.text())
		}
	}
}

func TestFilesOfAnAgentElsewhere(t *testing.T) {
	_, tb := newPeer(t, modern)
	dir := t.TempDir()
	write := func(name, content string) *memory {
		_, log := run(t, tb, "peer", Spec{Dir: dir, Prompt: "file " + name + " " + content})
		return log
	}
	log := write("docs/notes.md", "some")
	if got, err := os.ReadFile(filepath.Join(dir, "docs", "notes.md")); string(got) != "some and more" {
		t.Errorf("the file has %q, %v\n%s", got, err, log.text())
	}
	if !strings.Contains(log.text(), `"docs/notes.md" write success`) {
		t.Errorf("the log does not have the file:\n%s", log.text())
	}
	outside := filepath.Join(t.TempDir(), "outside")
	for link, to := range map[string]string{"away": filepath.Dir(outside), "git": ".git", "file": outside} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: elsewhere"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../up", "/etc/passwd", `..\up`, `C:\up`, ".git", ".GIT/hooks/pre-commit", "sub/.git/config", ".git./x", "g\u200cit~1/x", ".g\u200cit", "away/outside", "git", "file", "docs", "a\x00b", ".", strings.Repeat("x", 2000)} {
		if log := write(name, "evil"); !strings.Contains(log.text(), "write failed") {
			t.Errorf("%q is written:\n%s", name, log.text())
		}
	}
	if got, _ := os.ReadFile(filepath.Join(dir, ".git")); string(got) != "gitdir: elsewhere" {
		t.Errorf(".git has %q", got)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a file outside was written")
	}
}

func TestCredentialsOfAnAgentElsewhere(t *testing.T) {
	p, _ := newPeer(t, modern)
	agents := map[string]Config{"peer": {Kind: "a2a", URL: p.URL + "/.well-known/agent-card.json", Headers: map[string]string{"Authorization": "Bearer ${PEER_TOKEN}", "X-Tenant": "engineering"}}}
	tb := table(t, agents)
	if info := tb.info("peer"); !strings.Contains(info.Missing, "PEER_TOKEN is not set") || !info.FollowUp || info.MCP {
		t.Errorf("info = %+v, want that the variable is missing", info)
	}
	t.Setenv("PEER_TOKEN", "secret-0123456789")
	if result, log := run(t, tb, "peer", Spec{Prompt: "work"}); result.Summary != "done" || p.headers.Get("Authorization") != "Bearer secret-0123456789" {
		t.Errorf("%+v with %v\n%s", result, p.headers, log.text())
	}
	if got := fmt.Sprint(tb.Secrets("peer")); got != "[Bearer secret-0123456789 secret-0123456789]" {
		t.Errorf("Secrets = %s, want the token and no tenant", got)
	}

	// A card that points to another host gets no credential, and redirects are not
	// followed.
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("somebody else was called") }))
	defer thief.Close()
	lures := http.NewServeMux()
	lures.HandleFunc("/card/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"x","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true}}`, thief.URL)
	})
	lures.Handle("/away/.well-known/agent-card.json", http.RedirectHandler(thief.URL, http.StatusFound))
	lures.HandleFunc("/closed/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	lure := httptest.NewServer(lures)
	defer lure.Close()
	for path, want := range map[string]string{"/card": "its card points to", "/away": "302", "/closed": "the agent requires a credential", "/none": "404"} {
		tb := table(t, map[string]Config{"peer": {Kind: "a2a", URL: lure.URL + path, Headers: agents["peer"].Headers}})
		r, err := tb.Start(t.Context(), "peer", Spec{Prompt: "work", Log: &memory{}, Dir: t.TempDir()})
		if err == nil {
			err = fmt.Errorf("%s", r.Wait().Failure)
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestAnAgentElsewhereNeedsAnAddress(t *testing.T) {
	for _, url := range []string{"", "agent.example.com", "ftp://agent.example.com", "https://user:word@agent.example.com"} {
		if _, err := New(map[string]Config{"peer": {Kind: "a2a", URL: url}}); err == nil {
			t.Errorf("New with url %q works", url)
		}
	}
	tb := table(t, map[string]Config{"peer": {Kind: "a2a", URL: "http://127.0.0.1:1"}})
	_, err := tb.Start(t.Context(), "peer", Spec{Prompt: "work", Log: &memory{}, Dir: t.TempDir()})
	wantFault(t, "Start", err, "executor_unavailable", "cannot connect to the agent")
}
