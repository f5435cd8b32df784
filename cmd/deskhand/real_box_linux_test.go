//go:build agents

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/executor/modeltest"
)

// boxAgents are configurations with which agents run commands without asking: the
// sandbox is what holds them.
const boxAgents = `{
	"claude-stream": {"command": ["claude", "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits", "--settings", "{\"permissions\":{\"allow\":[\"Bash\"]}}"]},
	"codex-stream": {"command": ["codex", "exec", "--json", "--sandbox", "danger-full-access", "-"]},
	"gemini-stream": {"command": ["gemini", "--approval-mode", "yolo", "-m", "gemini-2.5-flash", "--output-format", "stream-json"]},
	"opencode-stream": {"command": ["opencode", "run", "--format", "json"]}
}`

// shellCall are the arguments with which an agent's shell tool runs a command.
func shellCall(tool, command string) map[string]any {
	switch tool {
	case "exec_command":
		return map[string]any{"cmd": command, "yield_time_ms": 240_000}
	case "shell":
		return map[string]any{"command": []string{"bash", "-c", command}, "timeout_ms": 240_000}
	}
	return map[string]any{"command": command, "description": "Run the script", "timeout": 240_000}
}

// Real agents in a sandbox try to leave it with their own shell tools, and still
// edit, commit, ask and are answered. A scripted model decides what they do.
func TestAttackBoxRealAgents(t *testing.T) {
	ids, bin := modeltest.Chosen(t, "claude-stream codex-stream gemini-stream opencode-stream")
	for _, mode := range []box.Mode{box.Bwrap, box.Landlock} {
		for _, id := range ids {
			t.Run(string(mode)+" "+id, func(t *testing.T) { boxReal(t, mode, id, bin) })
		}
	}
}

func boxReal(t *testing.T, mode box.Mode, id, bin string) {
	needsBox(t, mode)
	if mode == box.Landlock && id == "gemini-stream" && os.Getenv("AGENTS") == "" {
		t.Skip("NOT TESTED: Gemini CLI under Landlock runs its shell tool and then asks nobody; AGENTS=gemini-stream shows it")
	}
	works := boxWorks[:len(boxWorks)-1] // it asks with a tool of its own
	var shells []string
	model := modeltest.New(t, "Try to leave", "Done: all was tried.",
		modeltest.Step{Tools: []string{"Bash", "exec_command", "shell_command", "shell", "run_shell_command", "bash"}, Args: func(tool string, _ []string) map[string]any {
			shells = append(shells, tool)
			return shellCall(tool, "sh try.sh")
		}},
		modeltest.Step{Tools: []string{"ask_user", "ask_person"}, Args: func(string, []string) map[string]any {
			return map[string]any{"questions": []any{map[string]any{"id": "colour", "question": "Which colour?"}}}
		}},
		modeltest.Step{Tools: modeltest.WriteTools, Args: func(tool string, got []string) map[string]any {
			text := "no answer\n"
			if strings.Contains(strings.Join(got, ""), "blue") {
				text = "blue\n"
			}
			return modeltest.Write(tool, text)
		}},
	)
	w := newBoxWorld(t, modeltest.Home(t, model.URL), works)
	w.slow = 3 * time.Minute
	var names []string
	for _, setting := range modeltest.Settings(w.home, model.URL) {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
		names = append(names, name)
	}
	t.Setenv("DESKHAND_TASKS_ENV", strings.Join(names, ","))
	t.Setenv("PATH", os.Getenv("PATH")+string(os.PathListSeparator)+bin)
	t.Setenv("DESKHAND_TASKS_SANDBOX", string(mode))
	t.Setenv("DESKHAND_TASKS_SANDBOX_NETWORK", w.allowed+","+strings.TrimPrefix(model.URL, "http://"))
	t.Setenv("DESKHAND_TASKS_EXECUTORS", boxAgents)
	write(t, w.repo, map[string]string{"try.sh": w.script(), ".gitignore": "tried/\n"})
	git(t, w.repo, "add", "-A")
	git(t, w.repo, "commit", "-q", "-m", "what to try")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("offered %q\n%s", model.Offered(), done(t, w.repo, "tasks", "logs", w.task, "-n", "1000", "--raw"))
		}
	})
	dir := w.begin(t, id, "Try to leave")
	w.answer(t)
	w.eventually(t, "the end", func() error { return holds(done(t, w.repo, "tasks", "show", w.task), "completed") })
	w.judge(t, mode, dir)
	t.Run("its edit has the answer", func(t *testing.T) {
		if text, err := os.ReadFile(filepath.Join(dir, "colour.txt")); string(text) != "blue\n" {
			t.Errorf("colour.txt = %q, %v; shell tools %q, offered %q\n%s", text, err, shells, model.Offered(), done(t, w.repo, "tasks", "logs", w.task, "-n", "1000"))
		}
	})
}
