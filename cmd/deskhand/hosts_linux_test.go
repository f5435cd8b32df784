package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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

// host is a machine of its own to deskhand: a hostname, process IDs, a network of its own,
// and a state folder. Two of them may have the same name, or the same folder.
type host struct {
	t           *testing.T
	name, state string
	hidden      []string // folders of other hosts
	reaches     []string // addresses of the test's network that its servers and runners reach
	person      string   // who uses it; empty for the owner
}

// as returns the host as a person uses it.
func (h host) as(person string) host {
	h.person = person
	return h
}

// apart are the options of unshare for a host. Only root needs no user namespace, and then
// the database belongs to another user.
func apart() string {
	if os.Getuid() == 0 {
		return "-umpnf"
	}
	return "-rumpnf"
}

// command returns a deskhand command on the host. Its processes see none of other hosts.
func (h host) command(args ...string) *exec.Cmd {
	line := append([]string{apart(), "--mount-proc", "--kill-child", "sh", "-c", `ip link set lo up && hostname "$0" && for d in $HIDDEN; do mount -t tmpfs none "$d" || exit; done; exec "$@"`, h.name, "deskhand"}, args...)
	cmd := exec.CommandContext(h.t.Context(), "unshare", line...)
	cmd.Dir, cmd.Env = h.t.TempDir(), append(cmd.Environ(), "DESKHAND_STATE="+h.state, "DESKHAND_PERSON="+h.person, "HIDDEN="+strings.Join(h.hidden, " "))
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

// needsHosts skips a test where hosts cannot be simulated.
func needsHosts(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("unshare", apart(), "--mount-proc", "sh", "-c", "ip link set lo up && hostname other").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: hosts cannot be simulated here, which needs the programs unshare and ip (packages util-linux and iproute2) and namespaces: %v %s", err, out)
	}
}

// oneDatabase returns what makes hosts over one PostgreSQL database.
func oneDatabase(t *testing.T) func(name, state string) host {
	t.Helper()
	needsHosts(t)
	t.Setenv("CI", "")
	t.Setenv("DESKHAND_STORE", storetest.Postgres(t))
	return func(name, state string) host { return host{t: t, name: name, state: state} }
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

// runner starts deskhand runner on the host, until the test ends it.
func (h host) runner(flags ...string) (out *waittest.Log, kill func()) {
	h.t.Helper()
	cmd := h.command(append([]string{"runner"}, flags...)...)
	out = &waittest.Log{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	kill = sync.OnceFunc(func() { cmd.Process.Kill(); cmd.Wait() })
	h.t.Cleanup(kill)
	eventually(h.t, "the runner on "+h.name, func() error {
		if !strings.Contains(out.String(), "taking queued attempts") {
			return fmt.Errorf("it says %q", out)
		}
		return nil
	})
	connectNetwork(h.t, cmd.Process.Pid, h.reaches)
	return out, kill
}

// An attempt queued on one host runs on another that has its labels, in a clone of the
// repository's remote.
func TestAQueuedAttemptRunsOnAHostWithItsLabels(t *testing.T) {
	on := oneDatabase(t)
	a, b, c := on("a", t.TempDir()), on("b", t.TempDir()), on("c", t.TempDir())
	repo := gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	remote := filepath.Join(t.TempDir(), "shop.git")
	git(t, repo, "clone", "--quiet", "--bare", repo, remote)
	git(t, repo, "remote", "add", "origin", remote)
	a.run("tasks", "project", "add", repo, "--name", "shop")
	task := strings.TrimSpace(a.run("tasks", "add", "shop", "Build it"))
	said := a.run("tasks", "start", task, "-e", "fake", "--on", "gpu", "--prompt", "write a.txt x")
	if !strings.Contains(said, "no machine with these labels") {
		t.Errorf("tasks start without a runner says %q", said)
	}
	if err := os.Rename(repo, repo+"-of-a"); err != nil { // only host a has this checkout
		t.Fatal(err)
	}
	other, _ := b.runner("--labels", "arm")
	out, _ := c.runner("--labels", "gpu,big", "--places", "2")
	eventually(t, "the attempt", func() error {
		if shown := c.run("tasks", "show", task); !strings.Contains(shown, "completed") {
			return fmt.Errorf("it is shown as:\n%s\nc says %s, b says %s", shown, out, other)
		}
		return nil
	})
	if diff := c.run("tasks", "diff", task); !strings.Contains(diff, "a.txt") {
		t.Errorf("the diff on c is %q", diff)
	}
	if diff := a.run("tasks", "diff", task); !strings.Contains(diff, "a.txt") || !strings.Contains(diff, "on c; ") {
		t.Errorf("the diff on a is %q, want it with the name of c", diff)
	}
	if strings.Contains(other.String(), "was taken") {
		t.Errorf("b took an attempt that is not for it: %s", other)
	}
	// A second attempt shares the clone.
	c.run("tasks", "start", task, "-e", "fake", "--on", "gpu", "--on", "big", "--prompt", "write b.txt y", "--follow")
	if clones, err := filepath.Glob(filepath.Join(c.state, "tasks", "clones", "*")); err != nil || len(clones) != 1 {
		t.Errorf("clones on c: %q, %v; want one", clones, err)
	}
}
