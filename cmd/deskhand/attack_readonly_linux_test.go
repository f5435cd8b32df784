package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// readOnly runs a command line of deskhand that sees the folder state read-only,
// also as root. Where no such mount can be made the test is skipped.
func readOnly(t *testing.T, state string, args ...string) ran {
	t.Helper()
	const mount = `mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" || exit 99; exec "$@"`
	cmd := exec.CommandContext(t.Context(), "unshare", append([]string{"-rm", "sh", "-c", mount, state, "deskhand"}, append(args, "--state", state)...)...)
	var stdout, stderr strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 99 || strings.HasPrefix(stderr.String(), "unshare: ") {
		t.Skipf("NOT TESTED: no folder can be mounted read-only here: %v %s", err, &stderr)
	}
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// A read-only state folder is named, and what to do about it.
func TestAttackDoorsAReadOnlyStateIsSaid(t *testing.T) {
	peopleStore(t)
	used := os.Getenv("DESKHAND_STATE")
	done(t, t.TempDir(), "ask", "list")
	for _, left := range []string{"-wal", "-shm"} { // not always taken away, and with them reading works
		os.Remove(filepath.Join(used, "deskhand.db"+left))
	}
	empty := t.TempDir()
	for folder, state := range map[string]string{"used": used, "empty": empty} {
		for _, args := range [][]string{
			{"ask", "list"}, {"ask", "show", "x"}, {"tasks", "ls"}, {"tasks", "show", "x"},
			{"ask", "Deploy?"}, {"ask", "answer", "x", "yes"}, {"inbox", "--web"}, {"tasks", "project", "rm", "shop"},
		} {
			t.Run(strings.Join(args, " ")+", "+folder, func(t *testing.T) {
				got := readOnly(t, state, args...)
				if got.code == 0 || !strings.Contains(got.stderr, "deskhand: the state folder "+state+" is read-only (read-only file system)") ||
					!strings.Contains(got.stderr, "\nhint: make it writable for this user") || strings.Contains(got.stderr, "database file") {
					t.Errorf("deskhand %q: exit %d, %s%s; want that the folder is read-only and a hint", args, got.code, got.stdout, got.stderr)
				}
			})
		}
	}
	entries, err := os.ReadDir(empty)
	if err != nil || len(entries) > 0 {
		t.Errorf("in the empty folder are %v, %v; want nothing", entries, err)
	}
}

// While another process has the store open for writing, what only reads works
// on a read-only folder, and sees the newest: SQLite shares its index of the log.
func TestAttackDoorsAReadOnlyStateIsReadBesideAWriter(t *testing.T) {
	peopleStore(t)
	state := os.Getenv("DESKHAND_STATE")
	overSocket(t, "--tools", "ask") // has it open
	repo := gitRepo(t, map[string]string{"a.go": "package a\n"})
	done(t, repo, "tasks", "project", "add", ".", "--name", "shop")
	task := strings.TrimSpace(done(t, repo, "tasks", "add", "Round prices"))
	var ids []string
	for _, question := range []string{"Deploy the first?", "Deploy the second?", "Deploy the third?"} {
		t.Run("list has "+question, func(t *testing.T) {
			ids = append(ids, strings.TrimSpace(done(t, repo, "ask", question, "--detach")))
			got := readOnly(t, state, "ask", "list", "--json")
			var list []elicit.Request
			if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || len(list) != len(ids) || !strings.Contains(got.stdout, question) {
				t.Errorf("ask list: exit %d, %s%s, %v; want %d questions with %q", got.code, got.stdout, got.stderr, err, len(ids), question)
			}
		})
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"ask show":   {[]string{"ask", "show", ids[0]}, "Deploy the first?"},
		"tasks ls":   {[]string{"tasks", "ls", "--project", "shop"}, "Round prices"},
		"tasks show": {[]string{"tasks", "show", task}, "Round prices"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := readOnly(t, state, c.args...); got.code != 0 || !strings.Contains(got.stdout, c.says) {
				t.Errorf("deskhand %q: exit %d, %s%s; want %q", c.args, got.code, got.stdout, got.stderr, c.says)
			}
		})
	}
	for _, args := range [][]string{{"ask", "Which?"}, {"ask", "answer", ids[0], "yes"}, {"ask", "cancel", ids[0]}, {"tasks", "rm", task}, {"inbox", "--web"}} {
		t.Run("refused: "+strings.Join(slices.DeleteFunc(slices.Clone(args), func(s string) bool { return s == ids[0] || s == task }), " "), func(t *testing.T) {
			got := readOnly(t, state, args...)
			if got.code == 0 || !strings.Contains(got.stderr, "the state folder "+state+" is read-only (read-only file system)") || !strings.Contains(got.stderr, "\nhint: make it writable for this user") {
				t.Errorf("deskhand %q: exit %d, %s%s; want that the folder is read-only and a hint", args, got.code, got.stdout, got.stderr)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(state, "token")); err == nil {
		t.Error("a token was made in a read-only folder")
	}
}
