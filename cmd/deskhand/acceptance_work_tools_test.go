//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

const noID = "0197f3a4-5b6c-7d8e-9f00-112233445566"

func TestWorkTools(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		w.line("T-001 to T-016 T-144 T-151 T-158 T-165 T-166 tools are discoverable", func(t *testing.T, w *workDesk) {
			got := slices.Sorted(maps.Keys(w.listed))
			if want := slices.Sorted(slices.Values(workNames())); !slices.Equal(got, want) {
				t.Errorf("tools %q, want %q", got, want)
			}
			for _, name := range got {
				if !regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`).MatchString(name) {
					t.Errorf("T-016: %s", name)
				}
			}
			if text := encoded(t, w.listed); strings.Contains(text, "workspace_id") {
				t.Errorf("T-016 T-030: the schemas speak of workspace_id: %s", text)
			}
		})
		w.line("T-017 T-018 projects and repositories", func(t *testing.T, w *workDesk) {
			if p := w.call("list_projects", nil); dig[string](w, p, "projects", 0, "name") != "shop" || p["count"] != 1.0 {
				t.Errorf("list_projects = %v", p)
			}
			if r := w.call("list_repos", m{"project_id": w.project}); dig[string](w, r, "repos", 0, "repo_name") != "shop" ||
				dig[string](w, r, "repos", 0, "default_target_branch") != "main" {
				t.Errorf("list_repos = %v", r)
			}
		})
		w.line("T-019 to T-022 a task's life", func(t *testing.T, w *workDesk) {
			id := w.task("Round prices")
			if got := w.call("get_task", m{"task_id": id}); dig[string](w, got, "task", "task_id") != id || dig[string](w, got, "task", "title") != "Round prices" || dig[string](w, got, "task", "status") != "todo" {
				t.Errorf("get_task = %v", got)
			}
			if n := strings.Count(encoded(t, w.call("list_tasks", m{"project_id": w.project})), id); n != 1 {
				t.Errorf("list_tasks has it %d times", n)
			}
			task := dig[m](w, w.call("get_task", m{"task_id": id}), "task")
			for _, change := range []m{{"status": "done"}, {"title": "Round prices up"}, {"description": "to cents"}} {
				for name, v := range change {
					task[name] = v
				}
				change["task_id"] = id
				w.call("update_task", change)
				got := dig[m](w, w.call("get_task", m{"task_id": id}), "task")
				task["updated_at"] = got["updated_at"]
				if encoded(t, got) != encoded(t, task) {
					t.Errorf("T-021 update_task %v: %v, want %v", change, got, task)
				}
			}
			if got := w.call("delete_task", m{"task_id": id}); got["deleted_task_id"] != id {
				t.Errorf("delete_task = %v", got)
			}
			w.refuse("get_task", m{"task_id": id}, "not_found", "list_tasks")
			if strings.Contains(encoded(t, w.call("list_tasks", m{"project_id": w.project})), id) {
				t.Error("list_tasks has it still")
			}
		})
		w.line("T-024 T-028 T-176 T-177 T-178 T-180 unknown and misshapen ids", func(t *testing.T, w *workDesk) {
			for tool, args := range map[string]m{
				"list_repos": {"project_id": noID}, "list_tasks": {"project_id": noID}, "get_task": {"task_id": noID}, "create_task": {"project_id": noID, "title": "x"},
				"update_task": {"task_id": noID, "status": "done"}, "delete_task": {"task_id": noID}, "list_task_attempts": {"task_id": noID},
				"start_task_attempt": {"task_id": noID, "executor": "fake", "repos": []any{m{"repo_id": w.repoID}}},
				"follow_up":          {"attempt_id": noID, "action": "send", "prompt": "x"}, "stop_attempt": {"attempt_id": noID},
				"get_attempt_status": {"attempt_id": noID}, "tail_attempt_logs": {"attempt_id": noID}, "tail_session_messages": {"session_id": noID},
				"get_attempt_changes": {"attempt_id": noID}, "get_attempt_file": {"attempt_id": noID, "path": "shop/a"}, "get_attempt_patch": {"attempt_id": noID, "paths": []any{"shop/a"}},
			} {
				for range 2 {
					w.refuse(tool, args, "not_found")
				}
				for name, v := range args {
					if v == noID {
						bad := maps.Clone(args)
						bad[name] = "abc"
						w.refuse(tool, bad, "invalid_argument", name)
						delete(bad, name)
						w.refuse(tool, bad, "invalid_argument", name)
					}
				}
			}
		})
		w.line("T-126 to T-129 fields are described", func(t *testing.T, w *workDesk) {
			for name, one := range w.listed {
				for place, s := range map[string]*jsonschema.Schema{"request": one.InputSchema, "response": one.OutputSchema} {
					described(t, name+" "+place, s)
				}
			}
		})
		w.line("T-136 to T-143 descriptions", func(t *testing.T, w *workDesk) {
			for name, one := range w.listed {
				parts := regexp.MustCompile(`^Use when: .+\nRequired: (.+)\nOptional: (.+)\nNext: (.+)\nAvoid: .+$`).FindStringSubmatch(one.Description)
				if parts == nil || len(one.Description) > 1200 {
					t.Errorf("%s: %q", name, one.Description)
					continue
				}
				for _, word := range regexp.MustCompile(`[a-z]+(_[a-z]+)*`).FindAllString(parts[1]+parts[2], -1) {
					if word != "none" && one.InputSchema.Properties[word] == nil {
						t.Errorf("%s: %s is no argument", name, word)
					}
				}
				if !slices.ContainsFunc(workNames(), func(tool string) bool { return strings.Contains(parts[3], tool) }) {
					t.Errorf("%s: Next names no tool: %s", name, parts[3])
				}
			}
		})
		w.line("T-073 T-074 T-075 T-076 T-057 schemas carry the rules of modes", func(t *testing.T, w *workDesk) {
			for tool, cases := range map[string]map[string]bool{
				"follow_up": {
					`{"attempt_id":"%s","action":"send"}`: false, `{"attempt_id":"%s","action":"send","prompt":"x"}`: true,
					`{"attempt_id":"%s","action":"queue"}`: false, `{"attempt_id":"%s","action":"queue","prompt":"x"}`: true,
					`{"attempt_id":"%s","action":"cancel"}`: true, `{"attempt_id":"%s","action":"go","prompt":"x"}`: false,
					`{"attempt_id":"%[1]s","session_id":"%[1]s","action":"cancel"}`: false, `{"action":"cancel","prompt":"%s"}`: false,
				},
				"tail_session_messages": {`{"attempt_id":"%s"}`: true, `{"session_id":"%s"}`: true, `{"attempt_id":"%[1]s","session_id":"%[1]s"}`: false, `{"variant":"%s"}`: false},
				"tail_attempt_logs":     {`{"attempt_id":"%s","cursor":5}`: true, `{"attempt_id":"%s","cursor":5,"after_entry_index":1}`: false},
			} {
				resolved, err := w.listed[tool].InputSchema.Resolve(nil)
				if err != nil {
					t.Fatal(err)
				}
				for text, ok := range cases {
					text = fmt.Sprintf(text, noID)
					var v any
					if err := json.Unmarshal([]byte(text), &v); err != nil {
						t.Fatal(err)
					}
					if err := resolved.Validate(v); (err == nil) != ok {
						t.Errorf("%s %s: %v, want valid: %v", tool, text, err, ok)
					}
					a := w.door.call(tool, text) // T-077: the call says the same; the attempt is unknown
					if refused := strings.Contains(a.text(), `"invalid_argument"`); refused == ok {
						t.Errorf("T-077 %s %s: %s", tool, text, a.text())
					}
				}
			}
		})
		w.line("T-145 to T-148 executors", func(t *testing.T, w *workDesk) {
			out := w.call("list_executors", nil)
			ids := ""
			for i := range dig[[]any](w, out, "executors") {
				e := dig[m](w, out, "executors", i)
				ids += dig[string](w, e, "executor") + " "
				variants := dig[[]any](w, e, "variants")
				dig[bool](w, e, "supports_mcp")
				if d, there := e["default_variant"]; !there || d != nil && !slices.Contains(variants, d) {
					t.Errorf("T-148 %v", e)
				}
			}
			for _, agent := range []string{"fake", "claude", "codex", "gemini", "opencode"} {
				if !strings.Contains(ids, agent) {
					t.Errorf("executors %s, want one of %s", ids, agent)
				}
			}
			if again := encoded(t, w.call("list_executors", nil)); again != encoded(t, out) {
				t.Errorf("T-145: then %s", again)
			}
			if again := encoded(t, w.restarted(t).call("list_executors", nil)); again != encoded(t, out) {
				t.Errorf("T-145: after a restart %s", again)
			}
		})
		w.line("T-150 an executor that is not there", func(t *testing.T, w *workDesk) {
			w.refuse("start_task_attempt", m{"task_id": w.task("x"), "executor": "nope", "repos": []any{m{"repo_id": w.repoID}}}, "invalid_argument", "nope", "list_executors")
		})
		w.line("T-149 each executor is taken as it is listed", func(t *testing.T, w *workDesk) {
			for _, e := range dig[[]any](w, w.call("list_executors", nil), "executors") {
				id := dig[string](w, e, "executor")
				args := m{"task_id": w.task("with " + id), "executor": id, "prompt": "say hello", "repos": []any{m{"repo_id": w.repoID}}}
				if dig[bool](w, e, "available") {
					w.until(dig[string](w, w.call("start_task_attempt", args), "attempt_id"), "completed")
				} else {
					w.refuse("start_task_attempt", args, "executor_unavailable", id, "list_executors") // and not for its name
				}
			}
		})
		w.line("T-093 T-155 there are no dev servers", func(t *testing.T, w *workDesk) {
			for name := range w.listed {
				if strings.Contains(name, "server") {
					t.Errorf("%s starts one: show that stop_attempt leaves it alone and state passes it over", name)
				}
			}
		})
	})
}

func described(t *testing.T, place string, s *jsonschema.Schema) {
	for name, p := range s.Properties {
		at := place + " " + name
		says := func(what string) {
			if !strings.Contains(p.Description, what) {
				t.Errorf("%s does not say %s: %q", at, what, p.Description)
			}
		}
		if p.Description == "" {
			t.Errorf("%s has no description", at)
		}
		if strings.HasSuffix(name, "_id") {
			says("UUID")
		}
		if strings.HasSuffix(name, "_at") {
			says("RFC3339")
		}
		for _, v := range p.Enum {
			if v != nil {
				says(v.(string))
			}
		}
		described(t, at, p)
		if p.Items != nil {
			described(t, at, p.Items)
		}
	}
}

func TestWorkContext(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		task := w.task("Round prices")
		id := w.starts(task, "say hello")
		status := w.until(id, "completed")
		w.line("T-014 T-131 to T-135 context in the folder of an attempt", func(t *testing.T, w *workDesk) {
			if _, there := w.listed["get_context"]; there {
				t.Error("outside of an attempt there is a get_context")
			}
			p := met(unmetIn(t, w.dir(id), "--tools", "work", "--state", w.state))
			inside := &workDesk{door: door{t, "inside", p.ask}, state: w.state, mu: w.mu}
			inside.meet()
			got := inside.call("get_context", nil)
			for name, want := range map[string]any{
				"project_id": w.project, "project_name": "shop", "task_id": task, "task_title": "Round prices", "task_status": "inreview",
				"attempt_id": id, "workspace_branch": status["workspace_branch"],
				"workspace_repos": []any{m{"repo_id": w.repoID, "repo_name": "shop", "target_branch": "main"}},
			} {
				if encoded(t, got[name]) != encoded(t, want) {
					t.Errorf("%s = %v, want %v", name, got[name], want)
				}
			}
		})
	})
}
