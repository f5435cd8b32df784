//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// mcpTask is a task of the extension io.modelcontextprotocol/tasks.
type mcpTask struct {
	ResultType, TaskID, Status, StatusMessage string
	InputRequests                             map[string]json.RawMessage
	Result                                    struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
}

const declaringTasks = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"byhand","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// task makes a request whose result is a task.
func (p *pipe) task(method, members string) (task mcpTask) {
	p.t.Helper()
	if err := json.Unmarshal(p.rpc(method, "{"+members+","+declaringTasks+"}"), &task); err != nil {
		p.t.Fatal(err)
	}
	return task
}

// becomes looks at a task until it has a status.
func (p *pipe) becomes(id, status string) (task mcpTask) {
	p.t.Helper()
	waittest.Until(p.t, "the task is "+status, func() (bool, any) {
		task = p.task("tasks/get", fmt.Sprintf(`"taskId":%q`, id))
		return task.Status == status, task
	})
	return task
}

// accepts answers all that a task waits for with the content that answer makes
// of its one field.
func (p *pipe) accepts(task mcpTask, value string) {
	p.t.Helper()
	for key, raw := range task.InputRequests {
		var asked struct {
			Params struct {
				RequestedSchema struct{ Properties map[string]any }
			}
		}
		if err := json.Unmarshal(raw, &asked); err != nil {
			p.t.Fatal(err)
		}
		for field := range asked.Params.RequestedSchema.Properties {
			p.task("tasks/update", fmt.Sprintf(`"taskId":%q,"inputResponses":{%q:{"action":"accept","content":{%q:%q}}}`, task.TaskID, key, field, value))
		}
	}
}

// Whatever the client's clock does and whoever dies, the answer is there.
func TestAQuestionIsATaskThatSurvivesItsServer(t *testing.T) {
	t.Setenv("CI", "")
	state := filepath.Join(t.TempDir(), "state")
	first := byHand(t, state)
	since := time.Now()
	created := first.task("tools/call", `"name":"ask_user","arguments":{"questions":[{"id":"name","question":"What is it called?"}]}`)
	if created.ResultType != "task" || created.Status != "working" {
		t.Fatalf("ask_user = %+v after %v, want a task", created, time.Since(since))
	}
	first.kill()
	second := byHand(t, state)
	waits := second.becomes(created.TaskID, "input_required") // the first thing that this server is asked
	r := oneOpen(t, inboxOf(t, state))
	if waits.InputRequests[r.ID] == nil || len(waits.InputRequests) != 1 {
		t.Errorf("the task waits for %v, want %s", waits.InputRequests, r.ID)
	}
	second.accepts(waits, "Ann")
	if got := second.becomes(created.TaskID, "completed"); !strings.Contains(string(got.Result.StructuredContent), `"Ann"`) {
		t.Errorf("the task came to %s, want Ann", got.Result.StructuredContent)
	}
}

// An answer from anywhere else ends the task too, and one that is taken back is
// no question any more.
func TestAQuestionOfATaskIsInTheInbox(t *testing.T) {
	t.Setenv("CI", "")
	state := filepath.Join(t.TempDir(), "state")
	p, hub := byHand(t, state), inboxOf(t, state)
	ask := func() mcpTask {
		return p.task("tools/call", `"name":"ask_user","arguments":{"questions":[{"id":"name","question":"What is it called?"}]}`)
	}
	created := ask()
	answerWith(t, hub, oneOpen(t, hub), "Ann")
	if got := p.becomes(created.TaskID, "completed"); !strings.Contains(string(got.Result.StructuredContent), `"Ann"`) {
		t.Errorf("the task came to %s, want Ann", got.Result.StructuredContent)
	}
	created = ask()
	r := oneOpen(t, hub)
	p.task("tasks/cancel", fmt.Sprintf(`"taskId":%q`, created.TaskID))
	p.becomes(created.TaskID, "cancelled")
	if r, err := hub.Get(t.Context(), r.ID); err != nil || r.Status != elicit.Completed || r.Completion.Outcome != elicit.Abandoned {
		t.Errorf("the question is %+v, %v; want it withdrawn", r, err)
	}
}

func TestAnAttemptIsATask(t *testing.T) {
	repo, task := onTask(t)
	state := os.Getenv("DESKHAND_STATE")
	p := unmetIn(t, repo, "--tools", "work", "--state", state)
	var repos struct {
		Repos []struct {
			ID string `json:"repo_id"`
		}
		Projects []struct {
			ID string `json:"project_id"`
		}
	}
	read := func(tool, args string) {
		t.Helper()
		if err := json.Unmarshal(p.rpcResult(tool, args), &repos); err != nil {
			t.Fatal(err)
		}
	}
	read("list_projects", "{}")
	read("list_repos", `{"project_id":"`+repos.Projects[0].ID+`"}`)
	start := func(prompt string) mcpTask {
		return p.task("tools/call", fmt.Sprintf(`"name":"start_task_attempt","arguments":{"task_id":%q,"executor":"fake","repos":[{"repo_id":%q}],"prompt":%q}`, task, repos.Repos[0].ID, prompt))
	}
	created := start("ask What is it called?\nwrite a.txt x")
	if created.ResultType != "task" || created.Status != "working" {
		t.Fatalf("start_task_attempt = %+v, want a task", created)
	}
	p.accepts(p.becomes(created.TaskID, "input_required"), "Endurance")
	done := p.becomes(created.TaskID, "completed")
	var out struct {
		AttemptID string `json:"attempt_id"`
		SessionID string `json:"session_id"`
	}
	if err := json.Unmarshal(done.Result.StructuredContent, &out); err != nil || out.AttemptID == "" || out.SessionID == "" || done.Result.IsError {
		t.Fatalf("the attempt came to %+v, %v; want the tool's result with the session", done, err)
	}
	follow := p.task("tools/call", fmt.Sprintf(`"name":"follow_up","arguments":{"action":"send","attempt_id":%q,"prompt":"fail no such thing"}`, out.AttemptID))
	failed := p.becomes(follow.TaskID, "completed")
	if !failed.Result.IsError || !strings.Contains(string(failed.Result.StructuredContent), `"attempt_failed"`) || !strings.Contains(string(failed.Result.StructuredContent), "no such thing") {
		t.Errorf("a follow-up that fails came to %+v, want a failure in the form of the tools", failed)
	}
	if again := p.becomes(created.TaskID, "completed"); string(again.Result.StructuredContent) != string(done.Result.StructuredContent) {
		t.Errorf("then the first task says %s, want what it said: %s", again.Result.StructuredContent, done.Result.StructuredContent)
	}
	long := start("sleep 60")
	p.task("tasks/cancel", fmt.Sprintf(`"taskId":%q`, long.TaskID))
	p.becomes(long.TaskID, "cancelled")
}

// rpcResult is the structured answer of a tool.
func (p *pipe) rpcResult(tool, args string) json.RawMessage {
	p.t.Helper()
	var r struct{ StructuredContent json.RawMessage }
	if err := json.Unmarshal(p.rpc("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,%s}`, tool, args, declaringTasks)), &r); err != nil {
		p.t.Fatal(err)
	}
	return r.StructuredContent
}
