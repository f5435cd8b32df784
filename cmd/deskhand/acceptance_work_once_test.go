//go:build unix

package main

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
)

func TestWorkRequestIDs(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		w.line("T-183 to T-185 in the schemas, optional", func(t *testing.T, w *workDesk) {
			for _, tool := range []string{"create_task", "start_task_attempt", "follow_up"} {
				s := w.listed[tool].InputSchema
				if s.Properties["request_id"] == nil || strings.Contains(strings.Join(s.Required, " "), "request_id") {
					t.Errorf("%s: %v", tool, s.Properties["request_id"])
				}
			}
		})
		w.line("T-186 T-187 T-191 T-194 T-195 create_task", func(t *testing.T, w *workDesk) {
			made := func(args m) any {
				args["project_id"] = w.project
				return w.call("create_task", args)["task_id"]
			}
			first := made(m{"title": "Once", "request_id": "a"})
			if again := made(m{"title": "Once", "request_id": "a"}); again != first {
				t.Errorf("T-187 %v, then %v", first, again)
			}
			if again := made(m{"title": "Once", "request_id": "a", "description": ""}); again != first {
				t.Errorf("T-194 with the default given: %v, want %v", again, first)
			}
			w.refuse("create_task", m{"project_id": w.project, "title": "Other", "request_id": "a"}, "idempotency_conflict", "generate a new request_id")
			if made(m{"title": "Twice"}) == made(m{"title": "Twice"}) {
				t.Error("T-195 without request_id there is one task")
			}
			text := encoded(t, w.call("list_tasks", m{"project_id": w.project}))
			if once, twice := strings.Count(text, `"Once"`), strings.Count(text, `"Twice"`); once != 1 || twice != 2 {
				t.Errorf("T-186 %d tasks Once, %d Twice", once, twice)
			}
		})
		w.line("T-188 T-194 start_task_attempt", func(t *testing.T, w *workDesk) {
			task := w.task("Start once")
			start := func(branch string) m {
				repo := m{"repo_id": w.repoID}
				if branch != "" {
					repo["target_branch"] = branch
				}
				return w.call("start_task_attempt", m{"task_id": task, "executor": "fake", "prompt": "say one", "request_id": "s", "repos": []any{repo}})
			}
			first := start("")
			w.until(first["attempt_id"].(string), "completed")
			for _, branch := range []string{"", "main"} {
				if again := start(branch); again["attempt_id"] != first["attempt_id"] || again["execution_process_id"] != first["execution_process_id"] {
					t.Errorf("%v, then %v", first, again)
				}
			}
			w.call("update_task", m{"task_id": task, "title": "Start once more", "status": "done"})
			for _, door := range []*workDesk{w, w.restarted(t)} {
				again := door.call("start_task_attempt", m{"task_id": task, "executor": "fake", "prompt": "say one", "request_id": "s", "repos": []any{m{"repo_id": w.repoID}}})
				if encoded(t, again) != encoded(t, first) {
					t.Errorf("T-193 T-186 %v, then %v", first, again)
				}
			}
			w.refuse("start_task_attempt", m{"task_id": task, "executor": "fake", "prompt": "say two", "request_id": "s", "repos": []any{m{"repo_id": w.repoID}}},
				"idempotency_conflict", "generate a new request_id")
			if n := w.call("list_task_attempts", m{"task_id": task})["count"]; n != 1.0 {
				t.Errorf("%v attempts", n)
			}
			if n := strings.Count(git(t, w.repo, "worktree", "list"), "\n"); n != 2 {
				t.Errorf("%d worktrees with the repository's own", n)
			}
		})
		w.line("T-186 T-188 the prompt is the task's, and the task has changed since", func(t *testing.T, w *workDesk) {
			args := m{"task_id": w.task("say hello"), "executor": "fake", "request_id": "d", "repos": []any{m{"repo_id": w.repoID}}}
			first := w.call("start_task_attempt", args)
			w.until(first["attempt_id"].(string), "completed")
			w.call("update_task", m{"task_id": args["task_id"], "title": "say goodbye"})
			if again := w.call("start_task_attempt", args); encoded(t, again) != encoded(t, first) {
				t.Errorf("%v, then %v", first, again)
			}
		})
		w.line("T-189 T-190 follow_up", func(t *testing.T, w *workDesk) {
			id := w.ran("completed", "say one")
			args := m{"attempt_id": id, "action": "send", "prompt": "say two", "request_id": "f"}
			first := w.call("follow_up", args)
			w.until(id, "completed")
			if again := w.call("follow_up", args); encoded(t, again) != encoded(t, first) {
				t.Errorf("T-189 %v, then %v", first, again)
			}
			w.call("follow_up", m{"attempt_id": id, "action": "send", "prompt": "sleep 1"})
			w.talking(id)
			queue := m{"attempt_id": id, "action": "queue", "prompt": "say three by queue", "request_id": "q"}
			w.call("follow_up", queue)
			w.call("follow_up", queue)
			w.untilSaid(id, "three by queue")
			w.until(id, "completed")
			w.call("follow_up", queue) // also when it has run
			w.until(id, "completed")
			queue["prompt"] = "say something else"
			w.refuse("follow_up", queue, "idempotency_conflict", "generate a new request_id")
			for text, want := range map[string]int{`"say two"`: 1, `"say three by queue"`: 1} {
				if n := strings.Count(w.transcript(id), text); n != want {
					t.Errorf("T-190 %s ran %d times", text, n)
				}
			}
		})
		w.line("T-194 follow_up with its defaults spelled out", func(t *testing.T, w *workDesk) {
			start := m{"task_id": w.task("moods"), "executor": "moody", "prompt": "say one", "repos": []any{m{"repo_id": w.repoID}}}
			id := dig[string](w, w.call("start_task_attempt", start), "attempt_id")
			session := w.until(id, "completed")["latest_session_id"]
			args := m{"attempt_id": id, "action": "send", "prompt": "say two", "request_id": "v"}
			first := w.call("follow_up", args)
			w.until(id, "completed")
			for _, again := range []m{
				{"attempt_id": id, "variant": "calm"}, {"session_id": session}, {"session_id": session, "variant": "calm"}, {"attempt_id": id},
			} {
				again["action"], again["prompt"], again["request_id"] = "send", "say two", "v"
				if got := w.call("follow_up", again); encoded(t, got) != encoded(t, first) {
					t.Errorf("follow_up %v = %v, want %v", again, got, first)
				}
			}
			args["variant"] = "loud"
			w.refuse("follow_up", args, "idempotency_conflict", "generate a new request_id")
		})
		w.line("T-192 two at the same moment", func(t *testing.T, w *workDesk) {
			var both sync.WaitGroup
			got := make([]any, 8)
			for i := range got {
				both.Go(func() {
					out, _ := w.result("create_task", m{"project_id": w.project, "title": "Race", "request_id": "r"})
					got[i] = out["task_id"]
				})
			}
			both.Wait()
			for _, id := range got {
				if id != got[0] || id == nil {
					t.Errorf("ids %v", got)
				}
			}
			other := w.restarted(t)
			for _, c := range []struct {
				tool, id string
				args     m
			}{
				{"start_task_attempt", "attempt_id", m{"task_id": got[0], "executor": "fake", "prompt": "say once", "request_id": "r", "repos": []any{m{"repo_id": w.repoID}}}},
				{"follow_up", "execution_process_id", m{"action": "send", "prompt": "say twice", "request_id": "r"}},
			} {
				if c.tool == "follow_up" {
					c.args["attempt_id"] = w.summary(got[0].(string))["latest_attempt_id"]
				}
				answers := make([]m, 8)
				for i := range answers {
					both.Go(func() { answers[i], _ = []*workDesk{w, other}[i%2].result(c.tool, c.args) })
				}
				both.Wait()
				for _, a := range answers {
					if a[c.id] == nil || a[c.id] != answers[0][c.id] {
						t.Errorf("%s at one moment in two processes: %v", c.tool, answers)
					}
				}
				w.until(w.summary(got[0].(string))["latest_attempt_id"].(string), "completed")
			}
			if n := w.call("list_task_attempts", m{"task_id": got[0]})["count"]; n != 1.0 {
				t.Errorf("%v attempts", n)
			}
		})
		w.line("T-193 after a restart", func(t *testing.T, w *workDesk) {
			args := m{"project_id": w.project, "title": "Restart", "request_id": "z"}
			first := w.call("create_task", args)
			if again := w.restarted(t).call("create_task", args); again["task_id"] != first["task_id"] {
				t.Errorf("%v, then %v", first, again)
			}
		})
	})
}

func TestWorkEnvelope(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		w.line("T-176 to T-180 T-182 failures are structured", func(t *testing.T, w *workDesk) {
			a, b := w.refuse("get_task", m{"task_id": noID}, "not_found"), w.refuse("get_task", m{"task_id": noID}, "not_found")
			if encoded(t, a) != encoded(t, b) {
				t.Errorf("%v, then %v", a, b)
			}
			if got := w.refuse("get_task", m{"task_id": "x"}, "invalid_argument"); dig[string](w, got, "details", "field") != "task_id" {
				t.Errorf("details %v", got)
			}
			if got, err := w.ask("tools/call", `{"name":"no_such_tool","arguments":{}}`); err != nil || got.Error == nil || got.Error.Code != -32602 {
				t.Errorf("an unknown tool: %+v, %v; want the protocol's own error", got.Error, err)
			}
		})
		w.line("T-182 nor in what a broken repository says", func(t *testing.T, w *workDesk) {
			task := w.task("broken")
			if out, err := exec.Command("rm", "-rf", w.repo+"/.git").CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			out, failed := w.result("start_task_attempt", m{"task_id": task, "executor": "fake", "repos": []any{m{"repo_id": w.repoID}}})
			if !failed || out["code"] == "internal" || out["hint"] == "" {
				t.Errorf("start_task_attempt = %v", out)
			}
		})
	})
}
