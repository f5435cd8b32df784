package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// forAgents is a server that other agents may ask, over a state folder.
func forAgents(t *testing.T, state string, variables ...string) *socket {
	t.Helper()
	cmd := exec.Command("deskhand", "serve", "--tools", "ask", "--http", "127.0.0.1:0", "--state", state)
	cmd.Env = append(cmd.Environ(), append([]string{"DESKHAND_TOKEN=" + bearer, "DESKHAND_PERSON_KEY=" + personKey, "DESKHAND_A2A_ENABLED=true", "CI="}, variables...)...)
	s := socketOf(t, cmd)
	s.token = bearer
	return s
}

// agentCall calls a method of A2A and returns the body of the answer.
func (s *socket) agentCall(method, params string) (status int, body string) {
	s.t.Helper()
	url := strings.TrimSuffix(s.url, "/mcp") + "/a2a"
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// agentTask is the id of the task in an answer.
func agentTask(t *testing.T, body string) string {
	t.Helper()
	var answer struct {
		Result struct{ Task struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Result.Task.ID == "" {
		t.Fatalf("no task in %s", body)
	}
	return answer.Result.Task.ID
}

// I-003, I-039, I-048: another agent asks, a person answers on the command line,
// and another server has the task too.
func TestAnAgentAsksOverA2A(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	first := forAgents(t, state)
	if status, body := first.get("/.well-known/agent-card.json"); status != 200 || !strings.Contains(body, `"ask-a-person"`) || !strings.Contains(body, "/a2a") {
		t.Errorf("the card: %d %s", status, body)
	}
	token := first.token
	first.token = ""
	if status, _ := first.agentCall("ListTasks", "{}"); status != 401 {
		t.Errorf("without the token: %d, want 401", status)
	}
	first.token = token
	_, body := first.agentCall("SendMessage", `{"message":{"messageId":"m1","role":"ROLE_USER","metadata":{"agent":"planner"},"parts":[{"text":"Which colour?"}]}}`)
	task := agentTask(t, body)
	if !strings.Contains(body, "TASK_STATE_INPUT_REQUIRED") || !strings.Contains(body, "Which colour?") {
		t.Errorf("SendMessage = %s, want input-required with the question", body)
	}
	r := oneOpen(t, inboxOf(t, state))
	if r.Source.Name != "planner" || r.Trigger != elicit.A2AInputRequired {
		t.Errorf("asked by %+v, %s", r.Source, r.Trigger)
	}
	done(t, t.TempDir(), "ask", "answer", r.ID, "answer=blue", "--state", state)
	_, body = forAgents(t, state).agentCall("GetTask", `{"id":"`+task+`"}`)
	if !strings.Contains(body, "TASK_STATE_COMPLETED") || !strings.Contains(body, "blue") {
		t.Errorf("GetTask = %s, want blue", body)
	}
}

func TestOtherAgentsAreNotLetInUnasked(t *testing.T) {
	s := overSocket(t, "--tools", "ask", "--state", filepath.Join(t.TempDir(), "state"))
	if status, _ := s.agentCall("ListTasks", "{}"); status != 404 {
		t.Errorf("without a2a.enabled: %d, want 404", status)
	}
	if got := deskhand(t, t.TempDir(), "config"); got.code != 0 || !strings.Contains(got.stdout, "a2a.enabled") {
		t.Errorf("config: %d %s", got.code, got.stdout)
	}
	t.Setenv("DESKHAND_A2A_ENABLED", "maybe")
	if got := deskhand(t, t.TempDir(), "serve", "--tools", "ask", "--http", "127.0.0.1:0"); got.code != 2 || !strings.Contains(got.stderr, "a2a.enabled") {
		t.Errorf("serve: %d %s, want a misuse", got.code, got.stderr)
	}
}

// What other agents ask is told to the collector as what clients ask.
func TestQuestionsOfOtherAgentsReachTheCollector(t *testing.T) {
	spans := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		spans <- string(body)
	}))
	defer collector.Close()
	s := forAgents(t, filepath.Join(t.TempDir(), "state"), "DESKHAND_OTLP_ENDPOINT="+collector.URL)
	s.agentCall("SendMessage", `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Which colour?"}]}}`)
	s.end() // the last spans are sent then
	s.killed = true
	if got := come(t, spans); !strings.Contains(got, `"elicitation.requested"`) || !strings.Contains(got, `"a2a_input_required"`) {
		t.Errorf("the collector got %s, want the span of the question", got)
	}
}

func TestAStreamOfAnAgentDoesNotHoldUpTheEnd(t *testing.T) {
	s := forAgents(t, filepath.Join(t.TempDir(), "state"))
	_, body := s.agentCall("SendMessage", `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Which colour?"}]}}`)
	stream := make(chan string, 1)
	go func() {
		_, body := s.agentCall("SubscribeToTask", `{"id":"`+agentTask(t, body)+`"}`)
		stream <- body
	}()
	time.Sleep(200 * time.Millisecond) // for it to be open
	s.endsSoon()
	if got := come(t, stream); !strings.Contains(got, "TASK_STATE_INPUT_REQUIRED") {
		t.Errorf("the stream had %s, want the task", got)
	}
}

// endsSoon ends the server, which waits 10 seconds for what lasts.
func (s *socket) endsSoon() {
	s.t.Helper()
	began := time.Now()
	s.end()
	s.killed = true
	if took := time.Since(began); took > 10*time.Second {
		s.t.Errorf("the end of the server took %v, as if a stream went on", took)
	}
}
