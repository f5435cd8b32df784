package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// workElsewhere is a desk whose agents are those of a configuration, and a task
// there.
func workElsewhere(t *testing.T, executors string) (state, task string) {
	t.Helper()
	state = lingering(t)
	t.Setenv("DESKHAND_TASKS_EXECUTORS", executors)
	repo := gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	done(t, repo, "tasks", "project", "add", ".", "--name", "shop", "--state", state)
	return state, strings.TrimSpace(done(t, repo, "tasks", "add", "Elsewhere", "--state", state))
}

// saysAtLast waits until the messages of a task have words in them.
func saysAtLast(t *testing.T, state, task, words string) {
	t.Helper()
	eventually(t, words, func() error {
		if got := deskhand(t, t.TempDir(), "tasks", "messages", task, "--state", state); !strings.Contains(got.stdout, words) {
			return fmt.Errorf("the messages are %s %s", got.stdout, got.stderr)
		}
		return nil
	})
}

// I-002, I-004, I-041, I-046: an attempt is the work of an agent elsewhere, here
// that of another desk. What that one asks is a question here, with an id of its
// own; whoever answers, here or there, the work goes on.
func TestAnAttemptIsTheWorkOfAnAgentElsewhere(t *testing.T) {
	theirs := lingering(t)
	done(t, t.TempDir(), "tasks", "project", "add", gitRepo(t, map[string]string{"README.md": "# Theirs\n"}), "--name", "theirs", "--state", theirs)
	peer := forAgents(t, theirs, "DESKHAND_A2A_PROJECT=theirs", "DESKHAND_A2A_EXECUTOR=fake")
	t.Setenv("PEER_TOKEN", personKey) // what the person here answers is sent there
	state, task := workElsewhere(t, `{"peer":{"kind":"a2a","mode":"run-task","url":"`+strings.TrimSuffix(peer.url, "/mcp")+`","headers":{"Authorization":"Bearer ${PEER_TOKEN}"}}}`)
	done(t, t.TempDir(), "tasks", "start", task, "--executor", "peer", "--prompt", "ask Which colour?\nask Which size?\nsay all done", "--state", state)

	ours, there := inboxOf(t, state), inboxOf(t, theirs)
	r := oneOpen(t, ours)
	other := oneOpen(t, there)
	if r.Trigger != elicit.A2AInputRequired || r.Context.AttemptID == "" || r.Questions[0].Message != "Which colour?" {
		t.Errorf("asked %+v, want the question in the attempt", r)
	}
	if r.ID == other.ID || r.Context.AttemptID == other.Context.AttemptID {
		t.Errorf("the question is %s here and %s there, want two", r.ID, other.ID)
	}
	answerWith(t, ours, r, "blue")
	eventually(t, "next question there", func() error {
		if next := oneOpen(t, there); next.ID == other.ID {
			return fmt.Errorf("still open: %s", next.ID)
		}
		return nil
	})
	second := oneOpen(t, ours)
	if second.Questions[0].Message != "Which size?" {
		t.Errorf("then asked %+v", second)
	}
	answerWith(t, there, oneOpen(t, there), "large")
	eventually(t, "what was answered there is withdrawn here", func() error {
		got, err := ours.Get(t.Context(), second.ID)
		if err == nil && (got.Completion == nil || got.Completion.Outcome != elicit.Abandoned) {
			err = fmt.Errorf("it is %s, %+v", got.Status, got.Completion)
		}
		return err
	})
	eventually(t, "the work goes on", func() error {
		if got := done(t, t.TempDir(), "tasks", "show", task, "--state", state); !strings.Contains(got, "succeeded") && !strings.Contains(got, "completed") {
			return fmt.Errorf("the task is %s", got)
		}
		return nil
	})
	log := done(t, t.TempDir(), "tasks", "logs", task, "--state", state) + done(t, t.TempDir(), "tasks", "logs", task, "--raw", "--state", state)
	if !strings.Contains(log, "Which colour?") || strings.Contains(log, personKey) {
		t.Errorf("the log is %s, want the question and no token", log)
	}
}

// The files of an agent elsewhere are changes of the attempt, and a late answer
// goes to the task that waits for it.
func TestAnAgentElsewhereSendsFilesAndWaits(t *testing.T) {
	got := make(chan string, 10)
	asking := true
	mux := http.NewServeMux()
	peer := httptest.NewServer(mux)
	defer peer.Close()
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"scribe","protocolVersion":"0.3.0","url":"%s/a2a","preferredTransport":"JSONRPC","capabilities":{"streaming":true}}`, peer.URL)
	})
	mux.HandleFunc("/a2a", func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Method string
			Params json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Error(err)
		}
		status := `{"state":"input-required","message":{"kind":"message","messageId":"q","role":"agent","parts":[{"kind":"text","text":"Which colour?"}]}}`
		if call.Method == "tasks/get" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"task","id":"t","contextId":"c","status":%s}}`, status)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(event string) {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":%s}\n\n", event)
		}
		if got <- string(call.Params); asking {
			asking = false
			say(`{"kind":"task","id":"t","contextId":"c","status":` + status + `}`)
			return
		}
		say(`{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"file","file":{"name":"docs/colour.md","bytes":"Ymx1ZQo="}}]}}`)
		say(`{"kind":"status-update","taskId":"t","contextId":"c","final":true,"status":{"state":"completed","message":{"kind":"message","messageId":"d","role":"agent","parts":[{"kind":"text","text":"painted"}]}}}`)
	})
	t.Setenv("DESKHAND_ELICITATION_TIMEOUT", "1s")
	state, task := workElsewhere(t, `{"scribe":{"kind":"a2a","url":"`+peer.URL+`"}}`)
	if listed := done(t, t.TempDir(), "tasks", "executors", "--state", state); !strings.Contains(listed, "scribe") {
		t.Errorf("the executors are %s", listed)
	}
	started := deskhand(t, t.TempDir(), "tasks", "start", task, "--executor", "scribe", "--prompt", "paint it", "--follow", "--state", state)
	if all := started.stdout + started.stderr; !strings.Contains(all, "no answer in time") {
		t.Errorf("the attempt: %d %s", started.code, all)
	}
	come(t, got)
	hub := inboxOf(t, state)
	list, err := hub.List(t.Context(), elicit.Filter{Statuses: []elicit.Status{elicit.ExpiredOpen}})
	if err != nil || len(list.Requests) != 1 {
		t.Fatalf("List = %+v, %v; want the question that waits", list.Requests, err)
	}
	done(t, t.TempDir(), "ask", "answer", list.Requests[0].ID, "answer=blue", "--state", state)
	if late := come(t, got); !strings.Contains(late, `"taskId":"t"`) || !strings.Contains(late, "Answer: blue") {
		t.Errorf("the agent got %s, want the answer to its task", late)
	}
	saysAtLast(t, state, task, "painted")
	if diff := done(t, t.TempDir(), "tasks", "diff", task, "--state", state); !strings.Contains(diff, "docs/colour.md") {
		t.Errorf("the changes are %s, want the file", diff)
	}
}
