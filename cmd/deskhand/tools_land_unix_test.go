//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// landingServer serves the tools over work and those that land, over a store and
// a repository of its own.
func landingServer(t *testing.T) (c *mcpserver.Client, state, repo string) {
	t.Helper()
	state = lingering(t)
	repo = gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	git(t, repo, "config", "user.name", "Ann")
	git(t, repo, "config", "user.email", "ann@example.com")
	done(t, t.TempDir(), "tasks", "project", "add", repo, "--name", "shop", "--repo", "shop", "--state", state)
	c, err := mcpserver.Dial(t.Context(), mcpserver.Target{
		Command: []string{"deskhand", "serve", "--tools", "work,land", "--state", state},
		Env:     []string{"CI="},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, state, repo
}

// told is what a tool answers, as the model sees it.
func told(t *testing.T, c *mcpserver.Client, tool string, args map[string]any) map[string]any {
	t.Helper()
	return parsedAnswer(t, come(t, calls(t, c, tool, args)))
}

func parsedAnswer(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&out); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return out
}

// attempted starts an attempt whose agent does what prompt says, and waits for
// its end with wait_for_attempts.
func attempted(t *testing.T, c *mcpserver.Client, prompt string) string {
	t.Helper()
	project := told(t, c, "list_projects", nil)["projects"].([]any)[0].(map[string]any)["project_id"]
	repo := told(t, c, "list_repos", map[string]any{"project_id": project})["repos"].([]any)[0].(map[string]any)["repo_id"]
	task := told(t, c, "create_task", map[string]any{"project_id": project, "title": "Round prices", "description": prompt})["task_id"]
	started := told(t, c, "start_task_attempt", map[string]any{"task_id": task, "executor": "fake", "repos": []any{map[string]any{"repo_id": repo}}})
	id, _ := started["attempt_id"].(string)
	if out := told(t, c, "wait_for_attempts", map[string]any{"attempt_ids": []any{id}}); out["ended"] != true {
		t.Fatalf("wait_for_attempts of %v = %v", started, out)
	}
	return id
}

func TestAnAgentLandsAfterAPersonsYes(t *testing.T) {
	c, state, repo := landingServer(t)
	hub := inboxOf(t, state)
	id := attempted(t, c, "write a.txt one")
	before := git(t, repo, "rev-parse", "main")

	asked := calls(t, c, "land_attempt", map[string]any{"attempt_id": id})
	r := oneOpen(t, hub)
	for _, says := range []string{"Land attempt " + tasks.ShortID(id), `"Round prices"`, "main moves from " + before[:12], "1 file, 1 line added", "The commit message:"} {
		if !strings.Contains(r.Message, says) {
			t.Errorf("the question does not say %q:\n%s", says, r.Message)
		}
	}
	if r.Trigger != elicit.TaskGate || r.Context.AttemptID != "" || r.Context.ToolName != "land_attempt" {
		t.Errorf("asked %+v", r)
	}
	answerWith(t, hub, r, "no")
	if out := parsedAnswer(t, come(t, asked)); out["status"] != "refused" || git(t, repo, "rev-parse", "main") != before {
		t.Fatalf("after a no: %v", out)
	}

	asked = calls(t, c, "update_attempt", map[string]any{"attempt_id": id})
	if text := come(t, asked); !strings.Contains(text, "nothing_to_update") || !strings.Contains(text, "land_attempt") {
		t.Errorf("update_attempt = %s", text)
	}

	asked = calls(t, c, "land_attempt", map[string]any{"attempt_id": id})
	answerWith(t, hub, oneOpen(t, hub), "yes")
	out := parsedAnswer(t, come(t, asked))
	if out["status"] != "done" || strings.TrimSpace(git(t, repo, "show", "main:a.txt")) != "one" {
		t.Fatalf("after a yes: %v", out)
	}
	status := told(t, c, "get_attempt_status", map[string]any{"attempt_id": id})
	if status["landed"] != true || status["work_state"] != "landed" {
		t.Errorf("get_attempt_status = %v", status)
	}

	// The yes was for that landing: taken back, it is asked again.
	done(t, t.TempDir(), "tasks", "undo", id, "--state", state)
	asked = calls(t, c, "land_attempt", map[string]any{"attempt_id": id})
	answerWith(t, hub, oneOpen(t, hub), "no")
	if out := parsedAnswer(t, come(t, asked)); out["status"] != "refused" || git(t, repo, "rev-parse", "main") != before {
		t.Errorf("a yes counted twice: %v", out)
	}

	asked = calls(t, c, "discard_attempt", map[string]any{"attempt_id": id})
	answerWith(t, hub, oneOpen(t, hub), "yes")
	if out := parsedAnswer(t, come(t, asked)); out["status"] != "done" || git(t, repo, "branch", "--list", "deskhand/*") != "" {
		t.Errorf("discard_attempt = %v", out)
	}
}

// What moved between the question and the answer is not landed.
func TestAYesIsToWhatWasShown(t *testing.T) {
	c, state, repo := landingServer(t)
	hub := inboxOf(t, state)
	id := attempted(t, c, "write a.txt one")
	asked := calls(t, c, "land_attempt", map[string]any{"attempt_id": id})
	r := oneOpen(t, hub)
	git(t, repo, "commit", "-q", "--allow-empty", "-m", "theirs")
	before := git(t, repo, "rev-parse", "main")
	answerWith(t, hub, r, "yes")
	if text := come(t, asked); !strings.Contains(text, "plan_changed") || git(t, repo, "rev-parse", "main") != before {
		t.Errorf("land_attempt = %s", text)
	}

	// A call that is not held for long says so, and the next one gets the answer.
	asked = calls(t, c, "land_attempt", map[string]any{"attempt_id": id})
	answerWith(t, hub, oneOpen(t, hub), "yes")
	if out := parsedAnswer(t, come(t, asked)); out["status"] != "done" {
		t.Errorf("land_attempt = %v", out)
	}
}

// A call that is not held for long says so, and the same call later gets the
// answer that came meanwhile.
func TestLandingWaitsForALateYes(t *testing.T) {
	t.Setenv("DESKHAND_ELICITATION_HOLD", "1s")
	c, state, repo := landingServer(t)
	hub := inboxOf(t, state)
	id := attempted(t, c, "write a.txt one")
	args := map[string]any{"attempt_id": id, "how": "squash"}
	out := told(t, c, "land_attempt", args)
	if hint, _ := out["hint"].(string); out["status"] != "waiting" || !strings.Contains(hint, "land_attempt") {
		t.Fatalf("land_attempt = %v", out)
	}
	r := oneOpen(t, hub)
	if r.ID != out["request_id"] {
		t.Errorf("asked %s, answered %v", r.ID, out["request_id"])
	}
	answerWith(t, hub, r, "yes")
	if out := told(t, c, "land_attempt", args); out["status"] != "done" || strings.TrimSpace(git(t, repo, "show", "main:a.txt")) != "one" {
		t.Errorf("after a late yes: %v", out)
	}
}

// Only a person says that agents may land without being asked, or may not.
func TestTheProjectSaysWhetherAgentsLand(t *testing.T) {
	c, state, repo := landingServer(t)
	id := attempted(t, c, "write a.txt one")
	t.Setenv("DESKHAND_ATTEMPT_ID", id)
	for _, args := range [][]string{{"tasks", "project", "set", "shop", "--landing", "allow"}, {"serve", "--tools", "land"}} {
		if inside := deskhand(t, repo, append(args, "--state", state)...); inside.code == 0 || !strings.Contains(inside.stderr, "refused inside an attempt") {
			t.Errorf("an attempt may run %v: %+v", args, inside)
		}
	}
	t.Setenv("DESKHAND_ATTEMPT_ID", "")
	done(t, repo, "tasks", "project", "set", "shop", "--landing", "never", "--state", state)
	if text := come(t, calls(t, c, "land_attempt", map[string]any{"attempt_id": id})); !strings.Contains(text, "landing_forbidden") {
		t.Errorf("land_attempt = %s", text)
	}
	done(t, repo, "tasks", "project", "set", "shop", "--landing", "allow", "--commit-template", "feat: {title}", "--state", state)
	if out := told(t, c, "land_attempt", map[string]any{"attempt_id": id, "how": "squash"}); out["status"] != "done" {
		t.Errorf("land_attempt = %v", out)
	}
	if got := git(t, repo, "log", "-1", "--format=%B", "main"); strings.TrimSpace(got) != "feat: Round prices" {
		t.Errorf("the commit says %q", got)
	}
}
