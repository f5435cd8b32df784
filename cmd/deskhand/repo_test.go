package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// lingering is a folder for state. Runners outlive the server and write there to
// their end, so it is removed with patience.
func lingering(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "deskhand-state")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for end := time.Now().Add(patience); os.RemoveAll(dir) != nil && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
	})
	return dir
}

// gitRepo is a repository with one commit on main.
func gitRepo(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		git(t, dir, args...)
	}
	return dir
}

// git runs git as somebody, whatever the machine says of its user.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.com"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
