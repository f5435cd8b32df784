//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"

	"github.com/deskhand/deskhand/runtime/waittest"
)

func TestWorkFollowUps(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		w.line("T-029 T-055 T-056 T-058 T-063 to T-065 send", func(t *testing.T, w *workDesk) {
			id := w.ran("completed", "say one")
			session, process := w.status(id)["latest_session_id"], w.status(id)["latest_execution_process_id"]
			for _, target := range []m{{"attempt_id": id}, {"session_id": session}} {
				target["action"], target["prompt"] = "send", "say more"
				out := w.call("follow_up", target)
				if out["session_id"] != session || out["status"] != "started" || out["execution_process_id"] == process || out["execution_process_id"] == nil || out["action"] != "send" {
					t.Errorf("follow_up %v = %v", target, out)
				}
				process = w.until(id, "completed")["latest_execution_process_id"]
			}
		})
		w.line("T-057 T-059 to T-061 T-071 T-072 what is refused", func(t *testing.T, w *workDesk) {
			id := w.ran("completed", "say one")
			session := w.status(id)["latest_session_id"]
			for _, c := range []struct {
				args m
				says string
			}{
				{m{"attempt_id": id, "action": "resume", "prompt": "x"}, "action"},
				{m{"attempt_id": id, "action": "send"}, "prompt"},
				{m{"attempt_id": id, "action": "queue"}, "prompt"},
				{m{"attempt_id": id, "action": "send", "prompt": ""}, "prompt"},
				{m{"attempt_id": id, "action": "queue", "prompt": "   "}, "prompt"},
				{m{"action": "send", "prompt": "x"}, "exactly one target identifier"},
				{m{"attempt_id": id, "session_id": session, "action": "send", "prompt": "x"}, "exactly one target identifier"},
			} {
				w.refuse("follow_up", c.args, "invalid_argument", c.says)
			}
		})
		w.line("T-062 variants", func(t *testing.T, w *workDesk) {
			start := m{"task_id": w.task("moods"), "executor": "moody", "prompt": "run echo mood=$MOOD", "repos": []any{m{"repo_id": w.repoID}}}
			id := dig[string](w, w.call("start_task_attempt", start), "attempt_id")
			mood := func(want string) {
				t.Helper()
				w.until(id, "completed")
				if log := w.log(id); !strings.Contains(log, "mood="+want) {
					t.Errorf("want mood=%s in %s", want, log)
				}
			}
			mood("calm") // the default variant
			for _, variant := range dig[[]any](w, w.executor("moody"), "variants") {
				w.call("follow_up", m{"attempt_id": id, "action": "send", "prompt": "run echo mood=$MOOD", "variant": variant})
				mood(variant.(string))
			}
			w.call("follow_up", m{"attempt_id": id, "action": "queue", "prompt": "run echo mood=$MOOD"})
			mood("loud") // that of the session
			w.refuse("follow_up", m{"attempt_id": id, "action": "send", "prompt": "x", "variant": "nope"}, "invalid_argument", "list_executors")
			start["variant"] = "nope"
			w.refuse("start_task_attempt", start, "invalid_argument", "list_executors")
		})
		w.line("T-066 T-067 queue", func(t *testing.T, w *workDesk) {
			id := w.starts(w.task("queue"), "sleep 1", "say one")
			session := w.talking(id)["latest_session_id"]
			w.refuse("follow_up", m{"attempt_id": id, "action": "send", "prompt": "x"}, "attempt_running", "queue")
			queue := func(target m, prompt string) {
				t.Helper()
				target["action"], target["prompt"] = "queue", prompt
				out := w.call("follow_up", target)
				if out["status"] != "queued" || dig[string](w, out, "queued_message", "message") != prompt || dig[string](w, out, "queued_message", "session_id") != session {
					t.Errorf("follow_up queue = %v", out)
				}
			}
			queue(m{"attempt_id": id}, "say a message that a later one takes the place of")
			queue(m{"session_id": session}, "sleep 1\nsay two by queue")
			w.untilSaid(id, "two by queue")
			w.until(id, "completed")
			w.call("follow_up", m{"session_id": session, "action": "send", "prompt": "sleep 1"})
			w.talking(id)
			queue(m{"attempt_id": id}, "say three by queue")
			w.untilSaid(id, "three by queue")
			w.until(id, "completed")
			all := w.transcript(id)
			for text, want := range map[string]int{"say two by queue": 1, "say three by queue": 1, "takes the place of": 0} {
				if n := strings.Count(all, text); n != want {
					t.Errorf("%q ran %d times, want %d:\n%s", text, n, want, all)
				}
			}
		})
		w.line("T-068 T-069 cancel", func(t *testing.T, w *workDesk) {
			id := w.starts(w.task("cancel"), "sleep 1", "say one")
			w.talking(id)
			w.call("follow_up", m{"attempt_id": id, "action": "queue", "prompt": "say never"})
			for range 2 {
				if out := w.call("follow_up", m{"attempt_id": id, "action": "cancel"}); out["status"] != "empty" || out["queued_message"] != nil {
					t.Errorf("follow_up cancel = %v", out)
				}
			}
			w.until(id, "completed")
			time.Sleep(200 * time.Millisecond)
			if s := w.status(id); s["state"] != "completed" || strings.Contains(w.transcript(id), "never") {
				t.Errorf("the cancelled message ran: %v", s)
			}
		})
	})
}

// executor is one of list_executors.
func (w *workDesk) executor(id string) m {
	w.t.Helper()
	list := w.call("list_executors", nil)
	for i := range dig[[]any](w, list, "executors") {
		if e := dig[m](w, list, "executors", i); e["executor"] == id {
			return e
		}
	}
	w.t.Fatalf("no executor %s in %v", id, list)
	return nil
}

// transcript is all that was told and said in the newest session.
func (w *workDesk) transcript(attempt string) string {
	w.t.Helper()
	return encoded(w.t, dig[[]any](w, w.call("tail_session_messages", m{"attempt_id": attempt, "limit": 200}), "page", "entries"))
}

func (w *workDesk) untilSaid(attempt, text string) {
	w.t.Helper()
	waittest.Until(w.t, fmt.Sprintf("%q is said", text), func() (bool, any) {
		return strings.Contains(encoded(w.t, w.call("tail_attempt_logs", m{"attempt_id": attempt})), text), lazily(func() string { return w.log(attempt) })
	})
}

func TestWorkStatus(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		w.line("T-078 to T-087 T-089 T-090 fields and states", func(t *testing.T, w *workDesk) {
			w.refuse("get_attempt_status", nil, "invalid_argument", "attempt_id")
			task := w.task("Round prices")
			id := w.starts(task, "say one", "sleep 1", "say two")
			running := w.talking(id)
			if running["state"] != "running" || running["latest_execution_process_id"] == nil || running["failure_summary"] != nil || running["task_id"] != task || running["attempt_id"] != id {
				t.Errorf("T-089 %v", running)
			}
			completed := w.until(id, "completed")
			if completed["failure_summary"] != nil || completed["workspace_branch"] != running["workspace_branch"] {
				t.Errorf("T-090 %v", completed)
			}
			list := w.call("list_task_attempts", m{"task_id": task})
			if dig[string](w, list, "attempts", 0, "workspace_branch") != completed["workspace_branch"] {
				t.Errorf("T-081 %v", list)
			}
			if a, b := dig[string](w, running, "last_activity_at"), dig[string](w, completed, "last_activity_at"); b <= a {
				t.Errorf("T-086 last activity %s, then %s", a, b)
			}
			if enum := fmt.Sprint(w.listed["get_attempt_status"].OutputSchema.Properties["state"].Enum); enum != "[idle running completed failed]" {
				t.Errorf("T-085 states %s", enum)
			}
		})
		w.line("T-091 T-092 failures", func(t *testing.T, w *workDesk) {
			for script, says := range map[string]string{"fail no disk left": "", "crash": "", "run exit 3\nfail because": "because", "run kill -9 $PPID": "kill"} {
				if s := w.status(w.ran("failed", script)); s["failure_summary"] == nil || s["failure_summary"] == "" || !strings.Contains(s["failure_summary"].(string), says) {
					t.Errorf("after %s: %v", script, s)
				}
			}
		})
		w.line("T-086 T-088 T-105 an attempt without a process or session", func(t *testing.T, w *workDesk) {
			id := w.idle(t)
			s := w.status(id)
			for _, name := range []string{"latest_session_id", "latest_execution_process_id", "last_activity_at", "failure_summary"} {
				if v, there := s[name]; !there || v != nil {
					t.Errorf("%s = %v, want null", name, v)
				}
			}
			if s["state"] != "idle" {
				t.Errorf("T-088 %v", s)
			}
			for _, channel := range []string{"normalized", "raw"} {
				out := w.call("tail_attempt_logs", m{"attempt_id": id, "channel": channel})
				if p := dig[m](w, out, "page"); len(dig[[]any](w, p, "entries")) != 0 || p["has_more"] != false || p["next_cursor"] != nil || out["execution_process_id"] != nil {
					t.Errorf("T-105 %s: %v", channel, out)
				}
			}
			if out := w.call("stop_attempt", m{"attempt_id": id}); out["stopped"] != false || out["state"] != "idle" {
				t.Errorf("T-157 stop_attempt = %v", out)
			}
			for _, action := range []string{"send", "queue", "cancel"} {
				args := m{"attempt_id": id, "action": action}
				if action != "cancel" {
					args["prompt"] = "x"
				}
				w.refuse("follow_up", args, "no_session_yet", "get_attempt_status", "latest_session_id")
			}
			w.refuse("tail_session_messages", m{"attempt_id": id}, "no_session_yet", "get_attempt_status")
		})
		w.line("T-152 T-154 T-157 stop", func(t *testing.T, w *workDesk) {
			w.refuse("stop_attempt", nil, "invalid_argument", "attempt_id")
			id := w.starts(w.task("stop"), "sleep 60")
			w.talking(id)
			if out := w.call("stop_attempt", m{"attempt_id": id}); out["stopped"] != true || out["force"] != false || out["state"] != "failed" {
				t.Errorf("stop_attempt = %v", out)
			}
			if s := w.status(id); s["state"] != "failed" || s["failure_summary"] != "killed" {
				t.Errorf("after a stop: %v", s)
			}
			if out := w.call("stop_attempt", m{"attempt_id": id}); out["stopped"] != false {
				t.Errorf("T-157 stopped again: %v", out)
			}
		})
		w.line("T-153 T-156 a hard stop takes the tree", func(t *testing.T, w *workDesk) {
			id := w.starts(w.task("force"), `run trap '' TERM INT; (trap '' TERM INT; echo $$ > pid; sleep 300) & wait`)
			w.talking(id)
			file := filepath.Join(w.dir(id), "pid")
			var pid int
			eventually(t, "pid of the child", func() error {
				b, err := os.ReadFile(file)
				if err == nil {
					pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
				}
				return err
			})
			began := time.Now()
			w.call("stop_attempt", m{"attempt_id": id, "force": true})
			if took := time.Since(began); took > waittest.Soon {
				t.Errorf("a hard stop took %v", took)
			}
			eventually(t, "end of the child", func() error {
				if err := syscall.Kill(pid, 0); err == nil && !zombie(pid) {
					return fmt.Errorf("process %d is alive", pid)
				}
				return nil
			})
		})
	})
}

// idle is an attempt of which nothing has run: no tool makes one, so its
// processes are removed from the store.
func (w *workDesk) idle(t *testing.T) string {
	t.Helper()
	id := w.ran("completed", "say one")
	db, err := store.Open(t.Context(), w.state)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(t.Context(), func(tx *store.Tx) error {
		for _, table := range []string{"processes", "sessions"} {
			if _, err := tx.Exec(context.Background(), "DELETE FROM "+table+" WHERE attempt_id = ?", id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// zombie says that a process has ended and waits for its parent.
func zombie(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// indexes are the entry_index of a page.
func (w *workDesk) indexes(out m) (list []int) {
	w.t.Helper()
	for i := range dig[[]any](w, out, "page", "entries") {
		list = append(list, int(dig[float64](w, out, "page", "entries", i, "entry_index")))
	}
	return list
}

// rising says that a page has these entries, one after the other.
func (w *workDesk) rising(out m, first, n int) {
	w.t.Helper()
	got := w.indexes(out)
	for i, index := range got {
		if index != first+i {
			w.t.Errorf("entries %v, want %d from %d", got, n, first)
			return
		}
	}
	if len(got) != n {
		w.t.Errorf("entries %v, want %d from %d", got, n, first)
	}
}

func TestWorkLogs(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		id := w.ran("completed", "spam 100")
		all := w.call("tail_attempt_logs", m{"attempt_id": id, "channel": "raw", "limit": 1000})
		total := len(w.indexes(all))
		if total < 100 {
			t.Fatalf("the log has %d entries: %v", total, all)
		}
		page := func(args m) m {
			w.t.Helper()
			args["attempt_id"] = id
			if args["channel"] == nil {
				args["channel"] = "raw"
			}
			return w.call("tail_attempt_logs", args)
		}
		w.line("T-094 T-095 T-098 arguments", func(t *testing.T, w *workDesk) {
			w.refuse("tail_attempt_logs", nil, "invalid_argument", "attempt_id")
			w.refuse("tail_attempt_logs", m{"attempt_id": id, "channel": "x"}, "invalid_argument", "channel")
			w.refuse("tail_attempt_logs", m{"attempt_id": id, "cursor": "5"}, "invalid_argument", "cursor")
			if a, b := w.call("tail_attempt_logs", m{"attempt_id": id}), w.call("tail_attempt_logs", m{"attempt_id": id, "channel": "normalized"}); encoded(t, a) != encoded(t, b) {
				t.Errorf("T-095 %v and %v", a, b)
			}
		})
		w.line("T-096 T-097 limits", func(t *testing.T, w *workDesk) {
			if n := len(w.indexes(page(m{"limit": 1_000_000_000}))); n > 1000 || n < 100 {
				t.Errorf("T-096 %d entries", n)
			}
			if text := w.listed["tail_attempt_logs"].InputSchema.Properties["limit"].Description; !strings.Contains(text, "1000") || !strings.Contains(text, "1 or more") {
				t.Errorf("the schema says %q of the limit", text)
			}
			for _, n := range []int{0, -5} {
				w.refuse("tail_attempt_logs", m{"attempt_id": id, "limit": n}, "invalid_argument", "limit")
			}
		})
		w.line("T-099 T-100 T-102 to T-104 paging to older entries", func(t *testing.T, w *workDesk) {
			out := page(m{"limit": 10})
			w.rising(out, total-10, 10)
			if dig[bool](w, out, "page", "has_more") != true {
				t.Errorf("T-102 %v", out)
			}
			for left := total - 10; left > 0; {
				cursor := dig[m](w, out, "page")["next_cursor"]
				if cursor == nil {
					t.Fatalf("no cursor with %d entries left: %v", left, out)
				}
				n := min(7, left)
				out = page(m{"limit": 7, "cursor": cursor})
				w.rising(out, left-n, n)
				left -= n
			}
			if last := dig[m](w, out, "page"); last["has_more"] != false || last["next_cursor"] != nil {
				t.Errorf("T-104 the last page %v", last)
			}
		})
		w.line("T-100 every page of the normalized channel", func(t *testing.T, w *workDesk) {
			args := m{"channel": "normalized", "limit": 7}
			out := page(args)
			left := w.indexes(out)[0]
			for left > 0 {
				args["cursor"] = dig[float64](w, out, "page", "next_cursor")
				out = page(args)
				w.rising(out, max(left-7, 0), min(left, 7))
				left -= 7
			}
			if p := dig[m](w, out, "page"); p["has_more"] != false || p["next_cursor"] != nil {
				t.Errorf("T-104 the last page %v", p)
			}
		})
		w.line("T-106 newer entries, the oldest first", func(t *testing.T, w *workDesk) {
			out := page(m{"after_entry_index": 9, "limit": 20})
			w.rising(out, 10, 20)
			if p := dig[m](w, out, "page"); p["has_more"] != true || p["next_after_entry_index"] != 29.0 {
				t.Errorf("page %v", p)
			}
			w.rising(page(m{"after_entry_index": total - 1}), total, 0)
			w.rising(page(m{"after_entry_index": -1, "limit": 5}), 0, 5)
		})
		w.line("T-107 mixed modes", func(t *testing.T, w *workDesk) {
			w.refuse("tail_attempt_logs", m{"attempt_id": id, "cursor": 5, "after_entry_index": 1}, "invalid_argument", "only one pagination mode")
		})
		w.line("T-101 paging while the agent writes", func(t *testing.T, w *workDesk) {
			busy := w.starts(w.task("busy"), "spam 200", "sleep 1", "spam 200", "sleep 1", "spam 200")
			w.talking(busy)
			var out m
			eventually(t, "first entries", func() error {
				if out = w.call("tail_attempt_logs", m{"attempt_id": busy, "channel": "raw", "limit": 50}); len(w.indexes(out)) < 50 {
					return fmt.Errorf("%d entries", len(w.indexes(out)))
				}
				return nil
			})
			left := w.indexes(out)[0]
			for left > 0 {
				n := min(20, left)
				out = w.call("tail_attempt_logs", m{"attempt_id": busy, "channel": "raw", "limit": 20, "cursor": dig[float64](w, out, "page", "next_cursor")})
				w.rising(out, left-n, n)
				left -= n
			}
			w.until(busy, "completed")
		})
		w.line("T-109 the raw channel is faithful", func(t *testing.T, w *workDesk) {
			raw := w.ran("completed", `run printf '\033[31mr\303\251d\033[0m \377\376 end\n'`)
			if text := encoded(t, w.call("tail_attempt_logs", m{"attempt_id": raw, "channel": "raw"})); !strings.Contains(text, `\u001b[31mréd`) || !strings.Contains(text, "end") {
				t.Errorf("raw entries %s", text)
			}
		})
	})
}

func TestWorkTranscripts(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		id := w.ran("completed", "say reply 0")
		for i := 1; i < 5; i++ {
			w.call("follow_up", m{"attempt_id": id, "action": "send", "prompt": fmt.Sprintf("say reply %d", i)})
			w.until(id, "completed")
		}
		session := w.status(id)["latest_session_id"]
		w.line("T-159 T-163 T-164 by attempt and by session", func(t *testing.T, w *workDesk) {
			a, b := w.call("tail_session_messages", m{"attempt_id": id}), w.call("tail_session_messages", m{"session_id": session})
			if encoded(t, a) != encoded(t, b) {
				t.Errorf("%v and %v", a, b)
			}
			w.rising(a, 0, 5)
			for i := range 5 {
				if dig[string](w, a, "page", "entries", i, "prompt") != fmt.Sprintf("say reply %d", i) || !strings.Contains(dig[string](w, a, "page", "entries", i, "summary"), fmt.Sprintf("reply %d", i)) {
					t.Errorf("T-164 turn %d: %v", i, dig[m](w, a, "page", "entries", i))
				}
			}
		})
		w.line("T-160 T-108 what is refused", func(t *testing.T, w *workDesk) {
			w.refuse("tail_session_messages", nil, "invalid_argument", "exactly one target identifier")
			w.refuse("tail_session_messages", m{"attempt_id": id, "session_id": session}, "invalid_argument", "exactly one target identifier")
			w.refuse("tail_session_messages", m{"attempt_id": id, "cursor": 3, "after_entry_index": 1}, "invalid_argument", "only one pagination mode")
		})
		w.line("T-161 T-162 paging", func(t *testing.T, w *workDesk) {
			newest := w.call("tail_session_messages", m{"attempt_id": id, "limit": 2})
			w.rising(newest, 3, 2)
			older := w.call("tail_session_messages", m{"attempt_id": id, "limit": 2, "cursor": dig[float64](w, newest, "page", "next_cursor")})
			w.rising(older, 1, 2)
			oldest := w.call("tail_session_messages", m{"attempt_id": id, "limit": 2, "cursor": dig[float64](w, older, "page", "next_cursor")})
			w.rising(oldest, 0, 1)
			if p := dig[m](w, oldest, "page"); p["next_cursor"] != nil || p["has_more"] != false {
				t.Errorf("the oldest page %v", p)
			}
			w.rising(w.call("tail_session_messages", m{"attempt_id": id, "after_entry_index": 2}), 3, 2)
			w.rising(w.call("tail_session_messages", m{"attempt_id": id, "limit": 1_000_000_000}), 0, 5)
		})
	})
}
