//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// TestAttackApprovalsWaitingStopsTheClock: an agent asks, in each way that it can,
// and the answer comes after its limits. Meanwhile another attempt has its place.
func TestAttackApprovalsWaitingStopsTheClock(t *testing.T) {
	for name, c := range map[string]struct{ prompt, asked, answer string }{
		"permission":  {"permit deploy it", "Allow deploy it?", "#1=Allow"},
		"ask_user":    {`run mcpcall ask_user '{"questions":[{"question":"What is it called?"}]}'`, "What is it called?", "#1=Endurance"},
		"ask, by CLI": {"run deskhand ask 'Which one?' --timeout 5m", "Which one?", "#1=this"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DESKHAND_TASKS_TIME_LIMIT", "5s")
			t.Setenv("DESKHAND_TASKS_IDLE_LIMIT", "5s")
			t.Setenv("DESKHAND_TASKS_MAX_RUNNING", "1")
			if name == "ask, by CLI" {
				t.Setenv("DESKHAND_TASKS_SANDBOX", "none") // in one the command does not reach the store
			}
			repo, task := onTask(t)
			done(t, repo, "tasks", "start", task, "--executor", "fake", "--prompt", c.prompt)
			r := newest(t, inboxOf(t, os.Getenv("DESKHAND_STATE")), c.asked)
			eventually(t, "tasks ls to say that it asks", func() error {
				if out := done(t, repo, "tasks", "ls"); !strings.Contains(out, " asks ") {
					return fmt.Errorf("it says\n%s", out)
				}
				return nil
			})
			if out := done(t, repo, "tasks", "show", r.Context.AttemptID, "--json"); !strings.Contains(out, `"waits_for": "person"`) || !strings.Contains(out, `"waiting_for_slot": false`) {
				t.Errorf("show --json = %s", out)
			}
			for since := time.Now(); time.Since(since) < 7*time.Second; { // longer than the limits
				other := strings.TrimSpace(done(t, repo, "tasks", "add", "Another"))
				done(t, repo, "tasks", "start", other, "--executor", "fake", "--prompt", "sleep 0.3", "--follow")
			}
			done(t, repo, "ask", "answer", r.ID, c.answer)
			eventually(t, "the end", func() error {
				out := done(t, repo, "tasks", "show", r.Context.AttemptID, "--json")
				if !strings.Contains(out, `"state": "completed"`) || !strings.Contains(out, `"waits_for": null`) {
					return fmt.Errorf("it is %s", out)
				}
				return nil
			})
		})
	}
}

// TestAttackApprovalsAStaleQuestionStopsNoClock: what an earlier run asked does
// not keep a later one from its limit.
func TestAttackApprovalsAStaleQuestionStopsNoClock(t *testing.T) {
	t.Setenv("DESKHAND_TASKS_IDLE_LIMIT", "3s")
	repo, task := onTask(t)
	hub := inboxOf(t, os.Getenv("DESKHAND_STATE"))
	done(t, repo, "tasks", "start", task, "--executor", "fake", "--prompt", "say hello", "--follow")
	attempt := firstAttempt(t, repo, task)
	stale, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.AskUser, Message: "An old one", Context: elicit.Context{AttemptID: attempt}, WaitMS: -1,
		Questions: []elicit.Question{{ID: "q", Kind: elicit.Text, Message: "An old one"}}})
	if err != nil || stale.Status != elicit.Open {
		t.Fatalf("Open = %+v, %v", stale, err)
	}
	out := deskhand(t, repo, "tasks", "say", attempt, "hang", "--follow")
	if out.code != 1 || !strings.Contains(out.stderr, "produced no output for too long") {
		t.Errorf("say hang: exit %d, %s%s; want it ended by its idle limit", out.code, out.stdout, out.stderr)
	}
	if r, err := hub.Get(t.Context(), stale.ID); err != nil || r.Status != elicit.Open {
		t.Errorf("the question is %s, %v: the test shows nothing", r.Status, err)
	}
}

// firstAttempt is the id of the only attempt at a task.
func firstAttempt(t *testing.T, repo, task string) string {
	t.Helper()
	out := done(t, repo, "tasks", "ls", "--json")
	_, rest, ok := strings.Cut(out, `"latest_attempt_id": "`)
	id, _, _ := strings.Cut(rest, `"`)
	if !ok || id == "" {
		t.Fatalf("task %s has no attempt: %s", task, out)
	}
	return id
}
