//go:build unix && agents

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/tasks/executor/modeltest"
)

// The main story of work, with real agents and a scripted model: in an attempt
// the agent searches the docs and asks a person, the person answers, the agent
// writes the answer into a file, and the changes of the attempt show it.
// `make test-agents` installs the agents, and sets AGENTS_BIN and the tag.
func TestRealAgentsInAttempts(t *testing.T) {
	ids, bin := modeltest.Chosen(t, "claude codex claude-stream codex-stream")
	for _, id := range ids {
		variant := map[string]string{"codex": "full-access"}[id]
		t.Run(id, func(t *testing.T) {
			var results []string
			model := modeltest.New(t, "Write down the colour", "Done: the colour is in colour.txt.",
				modeltest.Step{Tools: []string{"search_docs"}, Args: func(string, []string) map[string]any { return map[string]any{"query": "front matter"} }},
				modeltest.Step{Tools: []string{"ask_user"}, Args: func(string, []string) map[string]any {
					return map[string]any{"questions": []any{map[string]any{"id": "colour", "question": "Which colour?"}}}
				}},
				modeltest.Step{Tools: modeltest.WriteTools, Args: func(tool string, got []string) map[string]any {
					results = got
					text := "no answer\n"
					if strings.Contains(strings.Join(got, ""), "blue") {
						text = "blue\n"
					}
					return modeltest.Write(tool, text)
				}},
			)
			t.Setenv("CI", "")
			t.Setenv("PATH", os.Getenv("PATH")+string(os.PathListSeparator)+bin)
			var names []string
			for _, setting := range modeltest.Settings(modeltest.Home(t, model.URL), model.URL) {
				name, value, _ := strings.Cut(setting, "=")
				t.Setenv(name, value)
				names = append(names, name)
			}
			t.Setenv("DESKHAND_TASKS_ENV", strings.Join(names, ","))
			t.Setenv("DESKHAND_STATE", lingering(t))
			t.Setenv("DESKHAND_INDEX", indexed(t, acme(t, nil)))
			dir := t.TempDir()
			done(t, dir, "tasks", "project", "add", gitRepo(t, map[string]string{"README.md": "# Shop\n"}), "--name", "shop", "--repo", "shop")
			done(t, dir, "tasks", "add", "Write down the colour")
			var list struct {
				Tasks []struct {
					ID string `json:"task_id"`
				}
			}
			if err := json.Unmarshal([]byte(done(t, dir, "tasks", "ls", "--json")), &list); err != nil || len(list.Tasks) != 1 {
				t.Fatalf("tasks %+v, %v", list, err)
			}
			task := list.Tasks[0].ID
			args := []string{"tasks", "start", task, "--executor", id}
			if variant != "" {
				args = append(args, "--variant", variant)
			}
			done(t, dir, args...)
			log := func() string { return done(t, dir, "tasks", "logs", task) }
			eventually(t, "the question", func() error { return holds(done(t, dir, "ask", "list"), "Which colour?") })
			var asked []struct{ ID string }
			if err := json.Unmarshal([]byte(done(t, dir, "ask", "list", "--json")), &asked); err != nil || len(asked) != 1 {
				t.Fatalf("questions %+v, %v\n%s", asked, err, log())
			}
			done(t, dir, "ask", "answer", asked[0].ID, "colour=blue")
			eventually(t, "the change", func() error { return holds(done(t, dir, "tasks", "diff", task), "colour.txt", "+blue") })
			eventually(t, "the end", func() error { return holds(done(t, dir, "tasks", "show", task), "completed") })
			if len(results) < 2 || !strings.Contains(results[0], "chunk_id") {
				t.Errorf("search_docs answered %q", results)
			}
			t.Logf("%s", log())
		})
	}
}
