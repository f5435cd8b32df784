package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// Who follows a log would wait in vain for an agent that waits for a person.
func TestFollowSaysThatTheAgentAsks(t *testing.T) {
	peopleStore(t)
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.go": "package a\n"})
	for _, args := range [][]string{{"init", "-qb", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	done(t, dir, "tasks", "project", "add", ".", "--name", "shop")
	task := strings.TrimSpace(done(t, dir, "tasks", "add", "Round prices"))
	p := sits(t, nil, nil, "tasks", "start", task, "--executor", "fake", "--prompt", "ask Which rounding?", "--follow")
	p.sees("deskhand: the agent asks: Which rounding?")
	p.sees("hint: answer it in \"deskhand inbox\", or show it: deskhand ask show elc_")
	var open []struct{ ID string }
	if err := json.Unmarshal([]byte(done(t, dir, "ask", "list", "--json")), &open); err != nil || len(open) != 1 {
		t.Fatalf("ask list = %+v, %v; want one question", open, err)
	}
	shown := done(t, dir, "tasks", "show", task)
	if !strings.Contains(shown, "\nfolder    /") || !strings.Contains(shown, "\nasks      "+open[0].ID) {
		t.Errorf("tasks show of a task = %q, want the folder of its attempt and what it asks", shown)
	}
	done(t, dir, "ask", "answer", open[0].ID, "half up")
	if got := p.ends(); got.code != 0 || !strings.HasSuffix(got.stdout, "answer: half up\n") || strings.Count(got.stderr, "the agent asks") != 1 {
		t.Errorf("tasks start --follow = %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
	}
}
