package main

import (
	"os/exec"
	"strings"
	"testing"
)

// A person at a terminal is asked whether what looks like a secret is to land.
func TestLandAsksAboutASecretAtATerminal(t *testing.T) {
	peopleStore(t)
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.go": "package a\n"})
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	for _, args := range [][]string{{"init", "-qb", "main"}, {"config", "user.name", "a"}, {"config", "user.email", "a@example.com"}, {"add", "."}, {"commit", "-qm", "first"}} {
		git(args...)
	}
	t.Chdir(dir)
	key := "ghp_" + strings.Repeat("1a2B", 9)
	id := strings.TrimSpace(done(t, dir, "tasks", "run", "--agent", "fake", "--detach", "run printf "+key+" > k.txt && git add k.txt && git commit -q -m mine"))
	done(t, dir, "tasks", "show", id, "--follow")
	before := git("rev-parse", "main")
	for _, c := range []struct {
		command, answer string
		code            int
	}{{"land", "n", 1}, {"pick", "\x04", 1}, {"apply", "n", 1}, {"pick", "y", 0}} {
		p := sits(t, nil, nil, "tasks", c.command, id)
		p.sees("k.txt:1 has what looks like a token of GitHub. Continue anyway? [y/N]")
		p.types(c.answer + "\n")
		got := p.ends()
		if landed := git("rev-parse", "main") != before; got.code != c.code || landed != (c.code == 0) || strings.Contains(got.stdout+got.stderr, key) {
			t.Errorf("%s, answered %q = %d, landed: %v; stdout %q, stderr %q", c.command, c.answer, got.code, landed, got.stdout, got.stderr)
		}
		if c.code != 0 && !strings.Contains(got.stderr, "--allow-secrets") {
			t.Errorf("%s, answered %q, has no hint: %q", c.command, c.answer, got.stderr)
		}
	}
}
