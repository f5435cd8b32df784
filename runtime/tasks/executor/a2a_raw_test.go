package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// raw returns a table with a remote agent, whose answer to the n-th call of a method is
// the bytes that answer returns.
func raw(t testing.TB, version string, answer func(method, params string, n int) (contentType, body string)) *Table {
	var mu sync.Mutex
	calls := map[string]int{}
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"raw","supportedInterfaces":[{"url":"%s/rpc","protocolBinding":"JSONRPC","protocolVersion":%q}],"capabilities":{"streaming":true}}`, s.URL, version)
	})
	mux.HandleFunc("/rpc", func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Method string
			Params json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Errorf("a call cannot be read: %v", err)
		}
		mu.Lock()
		calls[call.Method]++
		n := calls[call.Method]
		mu.Unlock()
		kind, body := answer(call.Method, string(call.Params), n)
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, body)
	})
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return table(t, map[string]Config{"raw": {Kind: "a2a", URL: s.URL}})
}

const asJSON, asStream = "application/json", "text/event-stream"

func result(v string) string { return `{"jsonrpc":"2.0","id":"1","result":` + v + `}` }

func events(all ...string) string {
	var b strings.Builder
	for _, one := range all {
		fmt.Fprintf(&b, "data: %s\n\n", result(one))
	}
	return b.String()
}

// I-038: a sign-in has a page, and the agent is told that a person has signed in.
func TestAnAgentElsewhereIsToldOfASignIn(t *testing.T) {
	const status = `"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_AUTH_REQUIRED","message":{"messageId":"s1","role":"ROLE_AGENT","parts":[{"text":"Sign in at https://id.example.com/a?b=1."}]}}`
	var told string
	tb := raw(t, modern, func(method, params string, n int) (string, string) {
		switch {
		case method == "GetTask":
			return asJSON, result(`{` + status + `}`)
		case n == 1:
			return asStream, events(`{"task":{` + status + `}}`)
		}
		told = params
		return asStream, events(`{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}`)
	})
	ask, asked := answering(Answer{Outcome: "accept"})
	got, log := run(t, tb, "raw", Spec{Prompt: "work", Ask: ask})
	if got.Failure != "" || !strings.Contains(told, "The person has signed in.") || !strings.Contains(told, `"taskId":"t1"`) {
		t.Errorf("result %+v, told %s\n%s", got, told, log.text())
	}
	if len(*asked) != 1 || (*asked)[0].URL != "https://id.example.com/a?b=1" {
		t.Errorf("asked %+v, want the page", *asked)
	}
}

// I-046: an answer is sent again to an agent that could not be reached.
func TestAnAnswerIsNotLostOnTheWay(t *testing.T) {
	const status = `"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"s1","role":"ROLE_AGENT","parts":[{"text":"Which?"}]}}`
	tb := raw(t, modern, func(method, params string, n int) (string, string) {
		switch {
		case method == "GetTask":
			return asJSON, result(`{` + status + `}`)
		case n == 1:
			return asStream, events(`{"task":{` + status + `}}`)
		case n < 4:
			return asStream, "data: <html>bad gateway\n\n"
		}
		return asStream, events(`{"task":{`+status+`}}`, `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"s2","role":"ROLE_AGENT","parts":[{"text":"thanks"}]}}}}`)
	})
	ask, asked := answering(Answer{Outcome: "accept", Text: "that one"})
	got, log := run(t, tb, "raw", Spec{Prompt: "work", Ask: ask})
	if got.Failure != "" || got.Summary != "thanks" || len(*asked) != 1 {
		t.Errorf("result %+v after %d questions, want thanks after one\n%s", got, len(*asked), log.text())
	}
}

// After a stream breaks, it is resumed, and events from the meantime are shown once.
func TestABrokenStreamIsTakenUpAgain(t *testing.T) {
	tb := raw(t, modern, func(method, _ string, n int) (string, string) {
		const artifact = `"artifacts":[{"artifactId":"a","parts":[{"text":"one"},{"text":"two"}]}]`
		switch {
		case method == "SendStreamingMessage":
			return asStream, events(`{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}`,
				`{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a","parts":[{"text":"one"}]}}}`) + "data: {\n\n"
		case method == "GetTask" && n < 3:
			return asJSON, "<html>bad gateway"
		case method == "GetTask" && n < 5:
			return asJSON, result(`{"id":"t1","contextId":"c1",` + artifact + `,"status":{"state":"TASK_STATE_WORKING"}}`)
		case method == "GetTask":
			return asJSON, result(`{"id":"t1","contextId":"c1",` + artifact + `,"status":{"state":"TASK_STATE_COMPLETED"}}`)
		}
		return asJSON, `{"jsonrpc":"2.0","id":"1","error":{"code":-32004,"message":"no"}}`
	})
	got, log := run(t, tb, "raw", Spec{Prompt: "work"})
	if got.Failure != "" || strings.Count(log.text(), "one") != 1 || strings.Count(log.text(), "two") != 1 {
		t.Errorf("result %+v\n%s", got, log.text())
	}
}

// Whatever a remote agent sends, the run ends with a message and without a file outside
// its folder.
func FuzzAgentElsewhere(f *testing.F) {
	for _, seed := range []string{
		`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}},"artifacts":[{"artifactId":"a","parts":[{"raw":"eA==","filename":"../f"}]}]}}`,
		`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m","parts":[{"data":{"questions":[{}]}}]}}}}`,
		`{"artifactUpdate":{"taskId":"t"}}`, `{"artifactUpdate":{"taskId":"t","artifact":null}}`, `{"message":{"parts":[null]}}`, `{"task":null}`, `{"statusUpdate":null}`, `null`, `[]`, `{"task":{"artifacts":[null]}}`,
	} {
		f.Add(seed, false)
	}
	for _, seed := range []string{
		`{"kind":"task","id":"t","contextId":"c","status":{"state":"completed","message":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"x"}]}},"artifacts":[{"artifactId":"a","parts":[{"kind":"file","file":{"bytes":"eA==","name":"../f"}}]}]}`,
		`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"input-required"},"final":true}`, `{"kind":"artifact-update"}`, `{"kind":"message","parts":[null]}`, `{"kind":"task","artifacts":[null]}`, `{"kind":"task"}`,
	} {
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, event string, old bool) {
		version := modern
		if old {
			version = legacy
		}
		event = strings.NewReplacer("\n", " ", "\r", " ").Replace(event)
		tb := raw(t, version, func(method, _ string, _ int) (string, string) {
			if method == "SendStreamingMessage" {
				return asStream, events(event)
			}
			return asJSON, `{"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"there is no task"}}`
		})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		r, err := tb.Start(ctx, "raw", Spec{Prompt: "work", Dir: t.TempDir(), Log: &memory{}, Ask: func(context.Context, Question) (Answer, error) {
			return Answer{Outcome: "cancel", Pending: true}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-r.Done():
		case <-ctx.Done():
			r.Kill()
			t.Fatalf("%s: the run does not end", event)
		}
	})
}
