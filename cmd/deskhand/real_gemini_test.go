//go:build unix && agents

package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/tasks/executor/modeltest"
)

// Gemini CLI without a terminal excludes every tool called ask_user, also ours.
// It is told of ask_person, its model calls that, and a person answers.
func TestRealAgentsGeminiWithoutATerminalAsksAPerson(t *testing.T) {
	ids, bin := modeltest.Chosen(t, "gemini")
	if len(ids) == 0 {
		t.Skip("AGENTS does not name gemini")
	}
	var results []string
	model := modeltest.New(t, "Find out the colour", "Done.",
		modeltest.Step{Tools: []string{"ask_user", "ask_person"}, Args: func(string, []string) map[string]any {
			return map[string]any{"questions": []any{map[string]any{"id": "colour", "question": "Which colour?", "options": []any{"blue", "red"}}}}
		}},
		modeltest.Step{Tools: []string{"list_questions"}, Args: func(_ string, got []string) map[string]any {
			results = got
			return map[string]any{}
		}},
	)
	state, dir, home := filepath.Join(t.TempDir(), "state"), t.TempDir(), modeltest.Home(t, model.URL)
	settings, err := json.Marshal(map[string]any{
		"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
		"mcpServers": map[string]any{"deskhand": map[string]any{"command": "deskhand", "args": []string{"serve", "--tools", "ask", "--state", state}, "trust": true,
			"env": map[string]any{"DESKHAND_INBOX": "127.0.0.1:0", "CI": ""}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".gemini", "settings.json"), settings, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	gemini := exec.CommandContext(ctx, filepath.Join(bin, "gemini"), "-p", "Find out the colour", "--yolo", "--skip-trust", "-m", "stub-model")
	gemini.Dir = dir
	gemini.Env = append(os.Environ(), modeltest.Settings(home, model.URL)...)
	type end struct {
		out []byte
		err error
	}
	ended := make(chan end, 1)
	go func() {
		out, err := gemini.CombinedOutput()
		ended <- end{out, err}
	}()
	var asked []struct{ ID string }
	for tick := time.NewTicker(200 * time.Millisecond); len(asked) == 0; {
		select {
		case e := <-ended:
			t.Fatalf("gemini ended with %v without asking; it offered %q\n%s", e.err, model.Offered(), e.out)
		case <-tick.C:
		}
		if err := json.Unmarshal([]byte(done(t, dir, "ask", "list", "--json", "--state", state)), &asked); err != nil {
			t.Fatal(err)
		}
	}
	done(t, dir, "ask", "answer", asked[0].ID, "colour=blue", "--state", state)
	e := <-ended
	if e.err != nil || len(results) == 0 || !strings.Contains(results[0], "blue") {
		t.Errorf("gemini: %v, its model got %q\n%s", e.err, results, e.out)
	}
	if !slices.ContainsFunc(model.Offered(), func(name string) bool { return strings.HasSuffix(name, "ask_person") }) {
		t.Errorf("the model was offered %q, want ask_person", model.Offered())
	}
}
