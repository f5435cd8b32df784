//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract/contracttest"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// The contract of the tools for work has 195 lines, T-001 to T-195. The tests
// named after them speak MCP to a server, over stdio and over HTTP, with the
// executor fake, whose prompt is its script.

type m = map[string]any

// workTool is what tools/list says of one tool.
type workTool struct {
	Name, Title, Description  string
	InputSchema, OutputSchema *jsonschema.Schema
	Annotations               m
}

// workDesk is a server of work with one project of one repository, and a client.
type workDesk struct {
	door
	flags           []string // of serve
	state, repo     string   // folders
	project, repoID string
	listed          map[string]workTool
	output          map[string]*jsonschema.Resolved
	mu              *sync.Mutex
}

// everyWorkDoor runs a test with a server and a store of its own over each way
// in: over stdio in the era with sessions, over HTTP in the one without.
func everyWorkDoor(t *testing.T, test func(*testing.T, *workDesk)) {
	t.Parallel() // most of the time is spent waiting for agents
	for _, name := range []string{"stdio", "http"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := lingering(t)
			repo := gitRepo(t, map[string]string{"README.md": "# Shop\n", "src/price.txt": "one\ntwo\nthree\n"})
			done(t, t.TempDir(), "tasks", "project", "add", repo, "--name", "shop", "--repo", "shop", "--state", state)
			write(t, state, map[string]string{"deskhand.yaml": workSettings})
			flags := []string{"--tools", "work", "--state", state, "--config", filepath.Join(state, "deskhand.yaml")}
			var d door
			if name == "stdio" {
				d = door{t, name, overPipe(t, flags...).ask}
			} else {
				d = door{t, name, overSocket(t, flags...).withoutSession().ask}
			}
			w := &workDesk{door: d, flags: flags, state: state, repo: repo, mu: &sync.Mutex{}}
			w.meet()
			test(t, w)
		})
	}
}

// workSettings are those of a server: moody is an agent with variants, which
// says which one it is when it runs $MOOD.
const workSettings = `tasks:
  executors:
    moody:
      kind: fake
      default: calm
      variants:
        calm: {env: {MOOD: calm}}
        loud: {env: {MOOD: loud}}
`

// restarted is a further server over the same store, over stdio.
func (w *workDesk) restarted(t *testing.T) *workDesk {
	t.Helper()
	other := &workDesk{door: door{t, "restarted", overPipe(t, w.flags...).ask}, flags: w.flags, state: w.state, repo: w.repo, mu: w.mu}
	other.meet()
	return other
}

// meet reads the list of tools and the ids of the project.
func (w *workDesk) meet() {
	w.t.Helper()
	got, err := w.ask("tools/list", "{}")
	if err != nil || got.Error != nil {
		w.t.Fatalf("tools/list: %v %+v", err, got.Error)
	}
	var list struct{ Tools []workTool }
	if err := json.Unmarshal(got.Result, &list); err != nil {
		w.t.Fatal(err)
	}
	w.listed, w.output = map[string]workTool{}, map[string]*jsonschema.Resolved{}
	for _, one := range list.Tools {
		w.listed[one.Name] = one
		if w.output[one.Name], err = one.OutputSchema.Resolve(nil); err != nil {
			w.t.Fatal(err)
		}
	}
	w.project = dig[string](w, w.call("list_projects", nil), "projects", 0, "project_id")
	w.repoID = dig[string](w, w.call("list_repos", m{"project_id": w.project}), "repos", 0, "repo_id")
}

// on is the desk within a subtest.
func (w *workDesk) on(t *testing.T) *workDesk {
	own := *w
	own.t = t
	return &own
}

// line shows lines of the list to hold.
func (w *workDesk) line(ids string, check func(*testing.T, *workDesk)) {
	w.t.Run(ids, func(t *testing.T) { check(t, w.on(t)) })
}

// result calls a tool and holds its answer to everything that goes for all.
func (w *workDesk) result(tool string, args m) (m, bool) {
	w.t.Helper()
	if args == nil {
		args = m{}
	}
	a := w.door.call(tool, encoded(w.t, args))
	var out, same m
	if err := json.Unmarshal(a.Structured, &out); err != nil {
		w.t.Fatalf("%s %v: structured content %s: %v", tool, args, a.Structured, err)
	}
	if err := json.Unmarshal([]byte(a.text()), &same); err != nil || encoded(w.t, same) != encoded(w.t, out) {
		w.t.Errorf("%s: the text %.300s is not the structured content", tool, a.text())
	}
	if err := w.output[tool].Validate(out); err != nil {
		w.t.Errorf("T-130 %s %v: %s does not fit the output schema: %v", tool, args, a.Structured, err)
	}
	if strings.Contains(string(a.Structured), "workspace_id") {
		w.t.Errorf("T-030 %s: %s", tool, a.Structured)
	}
	w.walk(tool, "", out)
	return out, a.IsError
}

var isID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// walk checks ids and times (T-026, T-027), but in what an agent has logged.
func (w *workDesk) walk(tool, name string, v any) {
	switch v := v.(type) {
	case m:
		for k, inner := range v {
			if k != "entry" && k != "details" {
				w.walk(tool, k, inner)
			}
		}
	case []any:
		for _, inner := range v {
			w.walk(tool, name, inner)
		}
	case string:
		if strings.HasSuffix(name, "_id") && !isID.MatchString(v) {
			w.t.Errorf("T-026 %s: %s is %q", tool, name, v)
		}
		if strings.HasSuffix(name, "_at") {
			if _, err := time.Parse(time.RFC3339, v); err != nil {
				w.t.Errorf("T-027 %s: %s is %q", tool, name, v)
			}
		}
	}
}

// call calls a tool that must not fail.
func (w *workDesk) call(tool string, args m) m {
	w.t.Helper()
	out, failed := w.result(tool, args)
	if failed {
		w.t.Fatalf("%s %v failed: %v", tool, args, out)
	}
	return out
}

// refuse calls a tool that must fail, with a code and words in message or hint.
func (w *workDesk) refuse(tool string, args m, code string, says ...string) m {
	w.t.Helper()
	out, failed := w.result(tool, args)
	if !failed || out["code"] != code {
		w.t.Errorf("%s %.300v = %v; want code %s", tool, args, out, code)
		return out
	}
	_, retryable := out["retryable"].(bool)
	hint, _ := out["hint"].(string)
	message, _ := out["message"].(string)
	if !retryable || !slices.ContainsFunc(workNames(), func(name string) bool { return strings.Contains(hint, name) }) {
		w.t.Errorf("T-177 T-178 %s: retryable %v, hint %q; want a hint that names a tool", tool, out["retryable"], hint)
	}
	if details, there := out["details"]; there {
		if _, object := details.(m); !object {
			w.t.Errorf("T-179 %s: details %v", tool, details)
		}
	}
	for _, word := range says {
		if !strings.Contains(message+" "+hint, word) {
			w.t.Errorf("%s %.300v: %q, %q; want %q in it", tool, args, message, hint, word)
		}
	}
	if text := message + hint; strings.Contains(text, w.state) || strings.Contains(text, "goroutine") || strings.Contains(text, ".go:") {
		w.t.Errorf("T-182 %s: %s", tool, text)
	}
	return out
}

// workNames returns the tools with a frozen schema, outside of an attempt.
var workNames = sync.OnceValue(func() []string {
	all := contracttest.Frozen(filepath.Join("..", "..", "runtime", "tools", "work", "testdata"))
	return slices.DeleteFunc(all, func(name string) bool { return name == "get_context" })
})

// dig takes a value out of an answer.
func dig[T any](w *workDesk, v any, path ...any) (found T) {
	w.t.Helper()
	at := v
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := at.(m)
			var there bool
			if at, there = object[step]; !there {
				w.t.Fatalf("no %s in %v", step, v)
			}
		case int:
			list, _ := at.([]any)
			if step >= len(list) {
				w.t.Fatalf("no element %d in %v", step, v)
			}
			at = list[step]
		}
	}
	found, ok := at.(T)
	if !ok {
		w.t.Fatalf("%v of %v is no %T", path, v, found)
	}
	return found
}

// task makes a task.
func (w *workDesk) task(title string) string {
	w.t.Helper()
	return dig[string](w, w.call("create_task", m{"project_id": w.project, "title": title}), "task_id")
}

// starts starts an attempt with a script for fake.
func (w *workDesk) starts(task string, script ...string) string {
	w.t.Helper()
	return dig[string](w, w.call("start_task_attempt", m{
		"task_id": task, "executor": "fake", "prompt": strings.Join(script, "\n"),
		"repos": []any{m{"repo_id": w.repoID, "target_branch": "main"}},
	}), "attempt_id")
}

// ran is an attempt at a task of its own whose script has ended.
func (w *workDesk) ran(want string, script ...string) string {
	w.t.Helper()
	id := w.starts(w.task(w.t.Name()), script...)
	w.until(id, want)
	return id
}

func (w *workDesk) status(attempt string) m {
	w.t.Helper()
	return w.call("get_attempt_status", m{"attempt_id": attempt})
}

// until waits for a state.
func (w *workDesk) until(attempt, want string) m {
	w.t.Helper()
	return w.untilStatus(attempt, want, func(s m) bool { return s["state"] == want })
}

func (w *workDesk) untilStatus(attempt, what string, is func(m) bool) (s m) {
	w.t.Helper()
	waittest.Until(w.t, "the attempt is "+what, func() (bool, any) {
		s = w.status(attempt)
		return is(s), lazily(func() string { return fmt.Sprint(s, "\n", w.log(attempt)) })
	})
	return s
}

// talking waits until the agent of an attempt runs.
func (w *workDesk) talking(attempt string) m {
	w.t.Helper()
	return w.untilStatus(attempt, "with a session", func(s m) bool { return s["latest_session_id"] != nil && s["state"] == "running" })
}

// log is the raw log of an attempt, for failures.
func (w *workDesk) log(attempt string) string {
	var b strings.Builder
	out, _ := w.result("tail_attempt_logs", m{"attempt_id": attempt, "channel": "raw"})
	page, _ := out["page"].(m)
	entries, _ := page["entries"].([]any)
	for _, e := range entries {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// dir is the worktree of an attempt, found as an operator would.
func (w *workDesk) dir(attempt string) string {
	w.t.Helper()
	shown := done(w.t, w.t.TempDir(), "tasks", "show", attempt, "--state", w.state)
	folder := regexp.MustCompile(`(?m)^folder +(.+)$`).FindStringSubmatch(shown)
	if folder == nil {
		w.t.Fatalf("no folder in %s", shown)
	}
	return filepath.Join(folder[1], "shop")
}

// Every line has a test that is named after it. Those that cannot be made from
// outside, such as two rows of the same microsecond, are shown by the room.
func TestEveryLineOfTheWorkContractHasATest(t *testing.T) {
	var files []string
	for _, pattern := range []string{"acceptance_work*_test.go", "../../runtime/tasks/*_test.go", "../../runtime/tasks/*/*_test.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	shown := map[int]bool{}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range regexp.MustCompile(`T-(\d{3})(?: to T-(\d{3}))?`).FindAllStringSubmatch(string(src), -1) {
			if g[0] == "T-001 to T-195" {
				continue
			}
			var from, to int
			fmt.Sscan(g[1], &from)
			if to = from; g[2] != "" {
				fmt.Sscan(g[2], &to)
			}
			for ; from <= to; from++ {
				shown[from] = true
			}
		}
	}
	for i := 1; i <= 195; i++ {
		if !shown[i] {
			t.Errorf("no test is named after T-%03d", i)
		}
	}
}
