package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// I-002, I-038, I-039, I-041, I-046: an agent has another one work; what that
// one asks is a question to people and input that the task wants; whoever
// answers, it goes on.
func TestAnAgentHasWorkDoneOverA2A(t *testing.T) {
	t.Setenv("CI", "")
	state := lingering(t)
	repo := gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	done(t, t.TempDir(), "tasks", "project", "add", repo, "--name", "shop", "--repo", "shop", "--state", state)
	s := forAgents(t, state, "DESKHAND_A2A_PROJECT=shop", "DESKHAND_A2A_EXECUTOR=fake")
	if _, body := s.get("/.well-known/agent-card.json"); !strings.Contains(body, `"run-task"`) {
		t.Errorf("the card has no run-task: %s", body)
	}
	_, body := s.agentCall("SendMessage", `{"message":{"messageId":"m1","role":"ROLE_USER","metadata":{"skill":"run-task"},"parts":[{"text":"ask Which colour?\nsay done"}]}}`)
	task := agentTask(t, body)
	if !strings.Contains(body, "TASK_STATE_INPUT_REQUIRED") || !strings.Contains(body, "Which colour?") {
		t.Errorf("SendMessage = %s, want what the agent asks", body)
	}
	if r := oneOpen(t, inboxOf(t, state)); r.Context.AttemptID == "" {
		t.Errorf("asked in %+v, want the attempt", r.Context)
	}
	s.token = personKey
	_, body = s.agentCall("SendMessage", `{"message":{"messageId":"m2","taskId":"`+task+`","role":"ROLE_USER","parts":[{"text":"blue"}]}}`)
	s.token = bearer
	if !strings.Contains(body, "TASK_STATE_COMPLETED") || !strings.Contains(body, "attemptId") {
		t.Errorf("the answer: %s, want the work", body)
	}

	_, body = s.agentCall("SendMessage", `{"configuration":{"returnImmediately":true},"message":{"messageId":"m3","role":"ROLE_USER","metadata":{"skill":"run-task"},"parts":[{"text":"sleep 60"}]}}`)
	second := agentTask(t, body)
	if !strings.Contains(body, "TASK_STATE_WORKING") {
		t.Errorf("SendMessage = %s, want a task that works", body)
	}
	if _, body := s.agentCall("CancelTask", `{"id":"`+second+`"}`); !strings.Contains(body, "TASK_STATE_CANCELED") {
		t.Errorf("CancelTask = %s, want canceled", body)
	}
}

// comesTo waits until a task is in a state, and its answer has words in it.
func (s *socket) comesTo(task, state, words string) {
	s.t.Helper()
	eventually(s.t, "task", func() error {
		if _, body := s.agentCall("GetTask", `{"id":"`+task+`"}`); !strings.Contains(body, state) || !strings.Contains(body, words) {
			return fmt.Errorf("GetTask = %s, want %s with %q", body, state, words)
		}
		return nil
	})
}

func TestRunTaskNeedsAProjectAndAnExecutor(t *testing.T) {
	for _, variable := range []string{"DESKHAND_A2A_PROJECT=shop", "DESKHAND_A2A_EXECUTOR=fake", "DESKHAND_A2A_DEFAULT_SKILL=run-task", "DESKHAND_A2A_DEFAULT_SKILL=dance"} {
		name, value, _ := strings.Cut(variable, "=")
		t.Run(variable, func(t *testing.T) {
			t.Setenv(name, value)
			if got := deskhand(t, t.TempDir(), "config"); got.code != 2 || !strings.Contains(got.stderr, "hint: ") {
				t.Errorf("config: %d %s, want a misuse", got.code, got.stderr)
			}
		})
	}
}

// I-001, I-038, I-047: an agent that works for another one lacks a credential:
// the task of that one wants a sign-in, with the page, and goes on when somebody
// has connected there. A word does not do.
func TestAMissingCredentialIsASignInOverA2A(t *testing.T) {
	const key = "sk-test-0123456789"
	k := newKeyed(t, key)
	file, _ := configured(t, "upstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
	state := lingering(t)
	done(t, t.TempDir(), "tasks", "project", "add", gitRepo(t, map[string]string{"README.md": "# Shop\n"}), "--name", "shop", "--state", state)
	s := forAgents(t, state, "DESKHAND_A2A_PROJECT=shop", "DESKHAND_A2A_EXECUTOR=fake", "DESKHAND_CONFIG="+file,
		"DESKHAND_TASKS_SANDBOX=none") // its agent runs deskhand over the state folder
	_, body := s.agentCall("SendMessage", `{"message":{"messageId":"m1","role":"ROLE_USER","metadata":{"skill":"run-task"},"parts":[{"text":"run MCP_COMMAND='deskhand serve --tools ask' mcpcall linear_issues\nsay counted"}]}}`)
	task := agentTask(t, body)
	if !strings.Contains(body, "TASK_STATE_AUTH_REQUIRED") || !strings.Contains(body, "/connect/") {
		t.Errorf("SendMessage = %s, want the page to connect on", body)
	}
	r := oneOpen(t, inboxOf(t, state))
	if r.Trigger != elicit.CredentialRequired || r.Context.AttemptID == "" {
		t.Errorf("asked %s in %+v, want the credential in the attempt", r.Trigger, r.Context)
	}
	s.comesTo(task, "TASK_STATE_AUTH_REQUIRED", r.URL)
	s.token = personKey
	_, body = s.agentCall("SendMessage", `{"message":{"messageId":"m2","taskId":"`+task+`","role":"ROLE_USER","parts":[{"text":"done"}]}}`)
	s.token = bearer
	if !strings.Contains(body, "Rejected") || !strings.Contains(body, "TASK_STATE_AUTH_REQUIRED") {
		t.Errorf("a word: %s, want that the page is what counts", body)
	}
	if page := paste(t, state, r, key); !strings.Contains(page, "Linear is connected") {
		t.Errorf("the page says %s", page)
	}
	s.comesTo(task, "TASK_STATE_COMPLETED", "counted")
	if k.seen() != "1 calls, 0 refused" {
		t.Errorf("the upstream saw %s, want one call", k.seen())
	}
	if _, body := s.agentCall("GetTask", `{"id":"`+task+`"}`); strings.Contains(body, key) {
		t.Errorf("the task has the key: %s", body)
	}
}
