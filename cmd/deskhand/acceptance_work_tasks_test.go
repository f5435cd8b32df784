//go:build unix

package main

import (
	"strings"
	"testing"
)

func (w *workDesk) summary(task string) m {
	w.t.Helper()
	out := w.call("list_tasks", m{"project_id": w.project, "limit": 500})
	for i := range dig[[]any](w, out, "tasks") {
		if one := dig[m](w, out, "tasks", i); one["task_id"] == task {
			return one
		}
	}
	w.t.Fatalf("list_tasks lacks %s", task)
	return nil
}

func TestWorkTaskLists(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		w.line("T-031 project_id is required", func(t *testing.T, w *workDesk) {
			w.refuse("list_tasks", nil, "invalid_argument", "project_id")
			w.call("list_tasks", m{"project_id": w.project})
		})
		w.line("T-032 T-033 filter and limit", func(t *testing.T, w *workDesk) {
			w.task("one")
			w.task("two")
			w.call("update_task", m{"task_id": w.task("three"), "status": "cancelled"})
			if got := w.call("list_tasks", m{"project_id": w.project, "status": "cancelled"}); got["count"] != 1.0 || dig[string](w, got, "tasks", 0, "title") != "three" {
				t.Errorf("cancelled tasks: %v", got)
			}
			w.refuse("list_tasks", m{"project_id": w.project, "status": "open"}, "invalid_argument", "status")
			seen, cursor := "", any("")
			for cursor != nil {
				args := m{"project_id": w.project, "limit": 1}
				if cursor != "" {
					args["cursor"] = cursor
				}
				page := w.call("list_tasks", args)
				if page["count"] != 1.0 {
					t.Fatalf("a page of 1: %v", page)
				}
				seen += dig[string](w, page, "tasks", 0, "title") + " "
				cursor = page["next_cursor"]
			}
			if seen != "three two one " {
				t.Errorf("by pages: %s", seen)
			}
			for _, n := range []int{0, -1} {
				w.refuse("list_tasks", m{"project_id": w.project, "limit": n}, "invalid_argument", "limit")
			}
			w.call("list_tasks", m{"project_id": w.project, "limit": 1_000_000_000})
		})
		w.line("T-034 to T-042 T-023 T-025 T-149 the newest attempt", func(t *testing.T, w *workDesk) {
			task := w.task("Round prices")
			fields := []string{"latest_attempt_id", "latest_workspace_branch", "latest_session_id", "latest_session_executor"}
			before := w.summary(task)
			for _, name := range fields {
				if v, there := before[name]; !there || v != nil {
					t.Errorf("%s without an attempt: %v", name, v)
				}
			}
			first := w.starts(task, "fail on purpose")
			failed := w.until(first, "failed")
			if s := w.summary(task); s["latest_attempt_id"] != first || s["latest_workspace_branch"] != failed["workspace_branch"] || s["latest_session_id"] != failed["latest_session_id"] ||
				s["latest_session_id"] == nil || s["latest_session_executor"] != "fake" || s["has_in_progress_attempt"] != false || s["last_attempt_failed"] != true {
				t.Errorf("after a failure: %v, status %v", s, failed)
			}
			second := w.starts(task, "sleep 60")
			w.talking(second)
			if s := w.summary(task); s["latest_attempt_id"] != second || s["has_in_progress_attempt"] != true {
				t.Errorf("T-038 T-040 while it runs: %v", s)
			}
			w.call("stop_attempt", m{"attempt_id": second, "force": true})
			third := w.starts(task, "say done")
			w.until(third, "completed")
			if s := w.summary(task); s["latest_attempt_id"] != third || s["has_in_progress_attempt"] != false || s["last_attempt_failed"] != false {
				t.Errorf("T-039 after success: %v", s)
			}
			list := w.call("list_task_attempts", m{"task_id": task})
			order := ""
			for i := range dig[[]any](w, list, "attempts") {
				order += dig[string](w, list, "attempts", i, "attempt_id") + " "
			}
			if order != third+" "+second+" "+first+" " {
				t.Errorf("T-044 order %s, want the newest first", order)
			}
			if w.status(third)["attempt_id"] != third || list["latest_attempt_id"] != third {
				t.Errorf("T-025 %v", list)
			}
		})
	})
}

func TestWorkAttemptLists(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		w.line("T-043 task_id is required", func(t *testing.T, w *workDesk) { w.refuse("list_task_attempts", nil, "invalid_argument", "task_id") })
		w.line("T-045 to T-053 fields of attempts", func(t *testing.T, w *workDesk) {
			task := w.task("Round prices")
			none := w.call("list_task_attempts", m{"task_id": task})
			for _, name := range []string{"latest_attempt_id", "latest_session_id"} {
				if v, there := none[name]; !there || v != nil {
					t.Errorf("%s without an attempt: %v", name, none)
				}
			}
			id := w.starts(task, "say done")
			w.until(id, "completed")
			before := w.call("list_task_attempts", m{"task_id": task})
			one := dig[m](w, before, "attempts", 0)
			branch := dig[string](w, one, "workspace_branch")
			if one["attempt_id"] != id || !strings.Contains(git(t, w.repo, "branch", "--list", branch), branch) {
				t.Errorf("attempt %v; the repository has %s", one, git(t, w.repo, "branch"))
			}
			created, updated := dig[string](w, one, "created_at"), dig[string](w, one, "updated_at")
			if updated < created || one["latest_session_executor"] != "fake" || one["latest_session_id"] == nil ||
				before["latest_session_id"] != one["latest_session_id"] || before["latest_attempt_id"] != id {
				t.Errorf("attempts %v", before)
			}
			w.call("follow_up", m{"attempt_id": id, "action": "send", "prompt": "say more"})
			if after := dig[string](w, w.call("list_task_attempts", m{"task_id": task}), "attempts", 0, "updated_at"); after <= updated {
				t.Errorf("T-048 updated_at %s after a follow-up, %s before", after, updated)
			}
			w.until(id, "completed")
		})
		w.line("T-054 T-052 T-070 T-088 T-105 T-181 before there is a session", func(t *testing.T, w *workDesk) {
			task := w.task("Round prices")
			w.until(w.starts(task, "say done"), "completed")
			id := w.startsSlowly(task)
			list := w.call("list_task_attempts", m{"task_id": task})
			if list["latest_attempt_id"] != id || list["latest_session_id"] != nil || dig[m](w, list, "attempts", 0)["latest_session_id"] != nil ||
				dig[m](w, list, "attempts", 0)["latest_session_executor"] != nil || dig[m](w, list, "attempts", 1)["latest_session_id"] == nil {
				t.Errorf("attempts %v, want a session of the older one alone", list)
			}
			out := w.refuse("follow_up", m{"attempt_id": id, "action": "send", "prompt": "x"}, "no_session_yet", "get_attempt_status", "latest_session_id", "session")
			if out["retryable"] != true {
				t.Errorf("T-181 retryable %v", out["retryable"])
			}
			if s := w.status(id); s["latest_session_id"] != nil || s["state"] != "running" {
				t.Errorf("status %v", s)
			}
			w.call("stop_attempt", m{"attempt_id": id, "force": true})
		})
	})
}

// startsSlowly starts an attempt whose setup script takes long.
func (w *workDesk) startsSlowly(task string) string {
	w.t.Helper()
	repos := w.call("list_repos", m{"project_id": w.project})
	if repos["count"] == 1.0 {
		slow := gitRepo(w.t, map[string]string{"a.txt": "a\n"})
		done(w.t, w.t.TempDir(), "tasks", "project", "add", slow, "--name", "shop", "--repo", "slow", "--setup", "sleep 60", "--state", w.state)
		repos = w.call("list_repos", m{"project_id": w.project})
	}
	return dig[string](w, w.call("start_task_attempt", m{"task_id": task, "executor": "fake", "prompt": "say done",
		"repos": []any{m{"repo_id": dig[string](w, repos, "repos", 1, "repo_id"), "target_branch": "main"}}}), "attempt_id")
}
