package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// /readyz follows the database: it is not ready within 5 s of the database's end and
// ready within 20 s of its return, without a restart.
func TestReadinessFollowsTheDatabase(t *testing.T) {
	t.Setenv("CI", "")
	postgres := storetest.NewServer(t)
	t.Setenv("DESKHAND_STORE", postgres.Database())
	s := overSocket(t, "--tools", "ask,work", "--state", filepath.Join(t.TempDir(), "state"))
	within := func(what string, limit time.Duration, want int) {
		t.Helper()
		since := time.Now()
		eventually(t, what, func() error {
			if status, body := s.get("/readyz"); status != want {
				return fmt.Errorf("GET /readyz = %d %s, want %d", status, body, want)
			}
			return nil
		})
		if took := time.Since(since); took > limit {
			t.Errorf("%s: /readyz was %d after %v, want within %v", what, want, took.Round(time.Millisecond), limit)
		}
	}
	within("at first", time.Minute, http.StatusOK)
	for _, end := range []func(){postgres.Stop, postgres.Crash} {
		end()
		within("without the database", 5*time.Second, http.StatusServiceUnavailable)
		if status, _ := s.get("/healthz"); status != http.StatusOK {
			t.Errorf("GET /healthz = %d without the database, want 200: the process is alive", status)
		}
		postgres.Start()
		within("with the database again", 20*time.Second, http.StatusOK)
	}
}

// A server that can create no worktree is not ready for work.
func TestReadinessIncludesTheFolderOfTheWorktrees(t *testing.T) {
	t.Setenv("CI", "")
	state := filepath.Join(t.TempDir(), "state")
	s := overSocket(t, "--tools", "work", "--state", state)
	if status, body := s.get("/readyz"); status != http.StatusOK {
		t.Fatalf("GET /readyz = %d %s", status, body)
	}
	tasks := filepath.Join(state, "tasks")
	if err := os.Rename(tasks, tasks+"-away"); err != nil {
		t.Fatal(err)
	}
	write(t, state, map[string]string{"tasks": "not a folder"})
	eventually(t, "/readyz without a folder", func() error {
		if status, body := s.get("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "worktrees cannot be written") {
			return fmt.Errorf("GET /readyz = %d %s", status, body)
		}
		return nil
	})
}

// host is a machine of its own to deskhand: a hostname, process IDs and a state folder.
// Two of them may have the same name, or the same folder.
type host struct {
	t           *testing.T
	name, state string
}

// apart are the options of unshare for a host. Only root needs no user namespace, and then
// the database belongs to another user.
func apart() string {
	if os.Getuid() == 0 {
		return "-umpf"
	}
	return "-rumpf"
}

// command returns a deskhand command on the host. Its processes see none of other hosts.
func (h host) command(args ...string) *exec.Cmd {
	line := append([]string{apart(), "--mount-proc", "--kill-child", "sh", "-c", `hostname "$0" && exec "$@"`, h.name, "deskhand"}, args...)
	cmd := exec.CommandContext(h.t.Context(), "unshare", line...)
	cmd.Dir, cmd.Env = h.t.TempDir(), append(cmd.Environ(), "DESKHAND_STATE="+h.state)
	return cmd
}

func (h host) run(args ...string) string {
	h.t.Helper()
	out, err := h.command(args...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("on %s, deskhand %s: %v\n%s", h.name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// oneDatabase returns what makes hosts over one PostgreSQL database.
func oneDatabase(t *testing.T) func(name, state string) host {
	t.Helper()
	if out, err := exec.Command("unshare", apart(), "--mount-proc", "hostname", "other").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: hosts cannot be simulated here: %v %s", err, out)
	}
	t.Setenv("CI", "")
	t.Setenv("DESKHAND_STORE", storetest.Postgres(t))
	return func(name, state string) host { return host{t, name, state} }
}

// A host is its state folder: its name may change, and other hosts may have it.
func TestAHostIsItsStateFolder(t *testing.T) {
	on := oneDatabase(t)
	state := lingering(t)
	a := on("one", state)
	repo := gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	a.run("tasks", "project", "add", repo, "--name", "shop")
	first := strings.TrimSpace(a.run("tasks", "add", "shop", "First"))
	a.run("tasks", "start", first, "-e", "fake", "--prompt", "write a.txt x", "--follow")

	if diff := on("renamed", state).run("tasks", "diff", first); !strings.Contains(diff, "a.txt") {
		t.Errorf("under another name the host does not know its work: %s", diff)
	}

	second := strings.TrimSpace(a.run("tasks", "add", "shop", "Second"))
	running := a.command("tasks", "start", second, "-e", "fake", "--prompt", "say began\nhang", "--follow")
	out := &waittest.Log{}
	running.Stdout, running.Stderr = out, out
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Process.Kill(); running.Wait() })
	eventually(t, "the second attempt", func() error {
		if !strings.Contains(out.String(), "began") {
			return fmt.Errorf("its log is %q", out.String())
		}
		return nil
	})
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	for what, other := range map[string]host{
		"a host of the same name":                             on("one", t.TempDir()),
		"a host with a copy of the state folder":              on("two", copied),
		"a host with the same name and a copy of the folder":  on("one", copied),
		"another container with the state folder as a volume": on("three", state),
	} {
		for range 3 {
			if shown := other.run("tasks", "show", second); !strings.Contains(shown, "running") {
				t.Fatalf("%s shows the attempt as:\n%s", what, shown)
			}
		}
	}
	if strings.Contains(out.String(), "lost") {
		t.Errorf("the attempt ended: %s", out)
	}
}
