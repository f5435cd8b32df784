package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A person at a terminal follows the agent and then says what becomes of it.
func TestRunAsksWhatBecomesOfTheWork(t *testing.T) {
	dir := inRepository(t)
	p := sits(t, nil, nil, "tasks", "run", "--agent", "fake", "write b.txt two")
	p.sees("[l]and  [p]r  [d]iff  [s]ay  [x] discard  [q]uit: ")
	p.types("z\n")
	p.sees(`"z" is none of the letters in brackets`)
	p.types("s\n")
	p.sees("say: ")
	p.types("write c.txt three\n")
	p.sees("write c.txt three")
	p.types("l\n")
	got := p.ends()
	if got.code != 0 || !strings.Contains(got.stdout, "landed") {
		t.Errorf("tasks run = %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
	}
	if out, err := exec.Command("git", "-C", dir, "ls-tree", "--name-only", "main").Output(); err != nil || string(out) != "a.go\nb.txt\nc.txt\n" {
		t.Errorf("main has %q, %v", out, err)
	}
}

// inRepository changes to a new repository with a commit.
func inRepository(t *testing.T) (dir string) {
	t.Helper()
	peopleStore(t)
	dir = t.TempDir()
	write(t, dir, map[string]string{"a.go": "package a\n"})
	for _, args := range [][]string{{"init", "-qb", "main"}, {"config", "user.name", "a"}, {"config", "user.email", "a@example.com"}, {"add", "."}, {"commit", "-qm", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	t.Chdir(dir)
	return dir
}

// After a failed run, a person has the same choices, and Ctrl-C leaves the work as it is.
func TestRunAsksAfterAFailureAndEndsWithCtrlC(t *testing.T) {
	inRepository(t)
	p := sits(t, nil, nil, "tasks", "run", "--agent", "fake", "write b.txt two\nfail it broke")
	p.sees("the attempt failed")
	p.sees("[q]uit: ")
	p.types("d\n")
	p.sees("[q]uit: d\r\n\r\n[l]and")
	p.types("\x03")
	if got := p.ends(); got.code != 0 || !strings.Contains(got.stdout, "+two") || !strings.Contains(got.stdout, "The attempt is unchanged") {
		t.Errorf("tasks run = %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
	}
}

// An agent can begin in a repository without a commit, if no file is left out by that.
func TestRunInAnEmptyRepository(t *testing.T) {
	peopleStore(t)
	for _, kind := range []string{"--bare", "--quiet"} {
		dir := t.TempDir()
		if out, err := exec.Command("git", "init", "-qb", "main", kind, dir).CombinedOutput(); err != nil {
			t.Fatalf("git init: %v %s", err, out)
		}
		t.Chdir(dir)
		got := deskhand(t, "", "tasks", "run", "--agent", "fake", "write b.txt two")
		if got.code != 0 || !strings.Contains(got.stderr, "created its first commit") {
			t.Errorf("git init %s: tasks run = %d, stderr %q", kind, got.code, got.stderr)
		}
		if out, err := exec.Command("git", "-C", dir, "rev-list", "--count", "main").CombinedOutput(); err != nil || string(out) != "1\n" {
			t.Errorf("git init %s: main has %q commits, %v", kind, out, err)
		}
	}

	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-qb", "main", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v %s", err, out)
	}
	write(t, dir, map[string]string{"a.go": "package a\n"})
	t.Chdir(dir)
	got := deskhand(t, "", "tasks", "run", "--agent", "fake", "write b.txt two")
	if got.code != 1 || !strings.Contains(got.stderr, "would not see its files") || !strings.Contains(got.stderr, "git add -A && git commit") {
		t.Errorf("with files: tasks run = %d, stderr %q", got.code, got.stderr)
	}
	if out, err := exec.Command("git", "-C", dir, "rev-list", "--all").Output(); err != nil || len(out) != 0 {
		t.Errorf("with files: commits %q, %v", out, err)
	}
}

// An attempt starts from the person's branch. If that lacks commits of the branch it
// follows, the log says so.
func TestRunSaysThatTheBranchIsBehind(t *testing.T) {
	origin := inRepository(t)
	clone := filepath.Join(t.TempDir(), "shop")
	for _, args := range [][]string{
		{"clone", "-q", origin, clone}, {"-C", origin, "commit", "-q", "--allow-empty", "-m", "second"}, {"-C", origin, "commit", "-q", "--allow-empty", "-m", "third"}, {"-C", clone, "fetch", "-q"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	t.Chdir(clone)
	if got := done(t, "", "tasks", "run", "--agent", "fake", "write b.txt two"); !strings.Contains(got, "main of shop is 2 commits behind origin/main") {
		t.Errorf("behind: the log is %s", got)
	}
	if out, err := exec.Command("git", "merge", "-q", "--ff-only").CombinedOutput(); err != nil {
		t.Fatalf("git merge: %v %s", err, out)
	}
	if got := done(t, "", "tasks", "run", "--agent", "fake", "write c.txt three"); strings.Contains(got, "behind") {
		t.Errorf("not behind: the log is %s", got)
	}
}
