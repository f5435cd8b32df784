package tasks_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/waittest"
)

const testImage = "localhost/deskhand-test:1"

// needsPodman skips a test with a message if podman cannot run containers here. Else it
// creates an image in a store of the test's own. The image has no programs: they come
// from the machine's /usr, which the tests mount. It fails the test if
// DESKHAND_TEST_SANDBOX names container.
func needsPodman(t *testing.T) {
	t.Helper()
	skip := func(format string, args ...any) {
		t.Helper()
		if slices.Contains(strings.Fields(os.Getenv("DESKHAND_TEST_SANDBOX")), string(box.Container)) {
			t.Fatalf("podman: "+format, args...)
		}
		t.Skipf("NOT TESTED: podman: "+format, args...)
	}
	if _, err := exec.LookPath("podman"); err != nil {
		skip("%v", err)
	}
	if to, err := os.Readlink("/bin"); err != nil || to != "usr/bin" {
		skip("/bin is not a link to /usr/bin, and the test's image needs that")
	}
	dir, err := os.MkdirTemp("", "pod") // short, because podman puts sockets there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			_ = exec.Command("podman", "unshare", "rm", "-rf", dir).Run() // files of other users in a user namespace
		}
	})
	storage := filepath.Join(dir, "storage.conf")
	write(t, storage, fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", filepath.Join(dir, "g"), filepath.Join(dir, "r")))
	t.Setenv("CONTAINERS_STORAGE_CONF", storage)
	image := exec.Command("podman", "import", "-", testImage)
	image.Stdin = imageOfLinks(t)
	if out, err := image.CombinedOutput(); err != nil {
		skip("import: %v: %s", err, out)
	}
	var said []byte
	for _, runtime := range []string{"crun", "runc"} { // some machines have one that does not know their cgroups
		for _, limits := range []string{"", "default_ulimits = [\"nofile=1024:1024\", \"nproc=1000:1000\"]"} { // others let nobody raise limits
			conf := filepath.Join(dir, "containers.conf")
			write(t, conf, fmt.Sprintf("[containers]\n%s\n[engine]\nruntime = %q\n", limits, runtime))
			t.Setenv("CONTAINERS_CONF", conf)
			if said, err = exec.Command("podman", "run", "--rm", "--init", "--network", "host", "-v", "/usr:/usr:ro", testImage, "true").CombinedOutput(); err == nil {
				return
			}
		}
	}
	skip("it starts no container: %s", said)
}

// imageOfLinks returns an image's files: an empty system that expects /usr.
func imageOfLinks(t *testing.T) *bytes.Buffer {
	t.Helper()
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	for _, h := range []tar.Header{{Name: "bin", Linkname: "usr/bin"}, {Name: "lib", Linkname: "usr/lib"}, {Name: "lib64", Linkname: "usr/lib64"},
		{Name: "usr/"}, {Name: "tmp/"}, {Name: "proc/"}, {Name: "sys/"}, {Name: "dev/"}, {Name: "etc/"}} {
		h.Typeflag, h.Mode = tar.TypeDir, 0o755
		if h.Linkname != "" {
			h.Typeflag, h.Mode = tar.TypeSymlink, 0o777
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &image
}

// containers returns the names of all containers, in any state.
func containers(t testing.TB) []string {
	t.Helper()
	out, err := exec.Command("podman", "ps", "--all", "--format", "{{.Names}}").CombinedOutput()
	if err != nil {
		t.Fatalf("podman ps: %v: %s", err, out)
	}
	return strings.Fields(string(out))
}

// inContainers returns settings with an executor "boxed", which runs the scripted agent
// in a container.
func inContainers(t *testing.T, change func(*executor.Config)) settings {
	t.Helper()
	needsPodman(t)
	c := executor.Config{Kind: "container", Agent: "fake", Container: box.ContainerConfig{Engine: "podman", Image: testImage, Mounts: []string{"/usr"}}}
	if change != nil {
		change(&c)
	}
	return settings{Dir: t.TempDir(), Agents: map[string]executor.Config{"boxed": c}}
}

func (d *desk) startIn(executorID string, script ...string) Started {
	d.t.Helper()
	r := d.request(task(d.t, d.Manager, d.project.ID, "Do it well").ID, script...)
	r.Executor = executorID
	started, err := d.Start(context.Background(), r)
	if err != nil {
		d.t.Fatalf("Start = %v", err)
	}
	return started
}

// A person's agent works in a container as it does outside: with git, setup and cleanup
// scripts, questions, secrets, follow-ups, and files that belong to the person.
func TestAContainerExecutorWorks(t *testing.T) {
	answer, data, scratch := filepath.Join(t.TempDir(), "answer"), t.TempDir(), t.TempDir()
	write(t, answer, "the-left-one")
	write(t, filepath.Join(data, "set.csv"), "1,2\n")
	t.Setenv("SHOP_API_KEY", "key-of-the-shop")
	s := inContainers(t, func(c *executor.Config) {
		c.Pass = []string{"SHOP_API_KEY"}
		c.Container.Mounts = append(c.Container.Mounts, data+":/data", scratch+":/scratch:rw")
		c.Container.PIDs = 200
	})
	s.Answer = answer
	path := gitRepo(t)
	git(t, path, "config", "user.name", "Ada")
	git(t, path, "config", "user.email", "ada@example.com")
	d := openAt(t, t.TempDir(), Repo{Path: path, Name: "app", Setup: "test -e /run/.containerenv && echo ready > setup.txt", Cleanup: "test -e /run/.containerenv && echo clean > cleanup.txt"}, s)
	started := d.startIn("boxed", "run echo by-hand > a.txt && git add a.txt && git commit -qm mine && git log --oneline | wc -l",
		"run echo uid $(id -u) sandbox $DESKHAND_SANDBOX key ${#SHOP_API_KEY} data $(cat /data/set.csv)",
		"run echo x > /data/no 2>/dev/null; echo readonly $?; echo y > /scratch/yes",
		"run ls -d "+s.Dir+"/attempts "+path+"/README.md 2>/dev/null; echo hidden $?",
		"run head -c 1 /proc/1/environ >/dev/null && echo first $(tr '\\0' ' ' < /proc/1/cmdline | cut -c 1-40)",
		"ask which way", "write b.txt more", "run sleep 0.5")
	key := false
	waittest.Until(t, "the attempt ends", func() (bool, any) {
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range lines {
			line, _ := os.ReadFile(path)
			key = key || bytes.Contains(line, []byte("key-of-the-shop"))
		}
		now, err := d.Status(t.Context(), started.AttemptID)
		return err == nil && now.State != Running && now.State != Queued, now
	})
	now := d.ended(started.AttemptID)
	said := strings.Join(d.entries(started.AttemptID, Raw), "\n")
	if now.State != Completed || !strings.Contains(now.Sandbox.String(), "container, network on: podman, image "+testImage) {
		t.Fatalf("Status = %+v\n%s\n%s", now, d.said(), said)
	}
	if key {
		t.Error("a secret was in a command line")
	}
	processes, err := d.Processes(t.Context(), started.AttemptID)
	for _, p := range processes {
		page, e := d.Logs(t.Context(), LogQuery{AttemptID: started.AttemptID, ProcessID: p.ID, Channel: Raw, Limit: 1000})
		if err = e; err == nil && p.Reason == Agent {
			said = ""
			for _, entry := range page.Entries {
				said += string(entry.Entry)
			}
		}
	}
	for _, want := range []string{fmt.Sprintf("uid %d sandbox container key 15 data 1,2", os.Getuid()), "readonly 2", "hidden 2", "the-left-one"} {
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("the agent did not say %q, %v:\n%s", want, err, said)
		}
	}
	if got := git(t, path, "ls-tree", "--name-only", started.Branch); got != "README.md\na.txt\nb.txt\ncleanup.txt\nsetup.txt" {
		t.Errorf("the branch has %q", got)
	}
	for _, made := range []string{filepath.Join(now.Dir, "app", "a.txt"), filepath.Join(scratch, "yes")} {
		info, err := os.Stat(made)
		if err != nil {
			t.Fatal(err)
		}
		if is := info.Sys().(*syscall.Stat_t); int(is.Uid) != os.Getuid() || int(is.Gid) != os.Getgid() {
			t.Errorf("%s belongs to %d:%d", made, is.Uid, is.Gid)
		}
	}
	if records, _ := filepath.Glob(filepath.Join(s.Dir, "runs", "*", "containers")); len(records) > 0 {
		t.Errorf("containers that are gone are still recorded: %q", records)
	}
	if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "run cat a.txt > c.txt"}); err != nil {
		t.Fatal(err)
	}
	d.until(started.AttemptID, "went on", func(s AttemptStatus) bool { return s.ProcessID != now.ProcessID && s.State == Completed })
	if got := git(t, path, "show", started.Branch+":c.txt"); got != "by-hand" {
		t.Errorf("c.txt is %q", got)
	}
	if left := containers(t); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
}

// How a container's run failed is told, in the agent's or the engine's own words.
func TestAContainerExecutorsFailureIsTold(t *testing.T) {
	s := inContainers(t, nil)
	with := func(change func(*executor.Config)) executor.Config {
		c := s.Agents["boxed"]
		change(&c)
		return c
	}
	s.Agents["no-image"] = with(func(c *executor.Config) { c.Container.Image = "localhost/deskhand-no-such-image:1" })
	s.Agents["no-program"] = with(func(c *executor.Config) {
		c.Agent, c.Command = "claude-stream", []string{"no-such-agent"}
	})
	s.Agents["no-folder"] = with(func(c *executor.Config) {
		c.Container.Mounts = append(slices.Clone(c.Container.Mounts), "/no/such/folder")
	})
	s.Agents["state"] = with(func(c *executor.Config) { c.Container.Mounts = append(slices.Clone(c.Container.Mounts), s.Dir+":/x") })
	d := openAt(t, t.TempDir(), Repo{}, s)
	for id, c := range map[string]struct{ script, want string }{
		"boxed":      {"fail no such thing", "no such thing"},
		"no-image":   {"say hello", "deskhand-no-such-image"},
		"no-program": {"say hello", "no-such-agent"},
		"no-folder":  {"say hello", "/no/such/folder"},
		"state":      {"say hello", "which agents never see"},
	} {
		now := d.ended(d.startIn(id, c.script).AttemptID)
		if now.State != Failed || !strings.Contains(now.Failure, c.want) {
			t.Errorf("%s: %s, %q; want failed with %q", id, now.State, now.Failure, c.want)
		}
	}
	if now := d.ended(d.startIn("boxed", "run sleep 0.1", "crash").AttemptID); now.State != Failed || !strings.Contains(now.Failure, "signal: killed") {
		t.Errorf("a crash: %s, %q", now.State, now.Failure)
	}
	if left := containers(t); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
}

// A stop asks the agent to end, then kills its container.
func TestAContainerExecutorIsStopped(t *testing.T) {
	d := openAt(t, t.TempDir(), Repo{}, inContainers(t, nil))
	for name, c := range map[string]struct {
		script []string
		force  bool
	}{
		"gently":            {[]string{"write half.txt done", "sleep 600"}, false},
		"ignores signals":   {[]string{"run trap '' INT TERM; setsid sleep 600 & sleep 600"}, false},
		"by force":          {[]string{"write half.txt done", "hang"}, true},
		"while it is begun": {[]string{"hang"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			started := d.startIn("boxed", c.script...)
			if name != "while it is begun" {
				waittest.Until(t, "a container runs", func() (bool, any) {
					now, _ := d.Status(t.Context(), started.AttemptID)
					return now.SessionID != "" && len(containers(t)) == 1, now
				})
			}
			stopped, err := d.Stop(t.Context(), started.AttemptID, c.force)
			now := d.ended(started.AttemptID)
			if err != nil || !stopped.Stopped || now.Failure != "killed" {
				t.Errorf("Stop = %+v, %v; %+v", stopped, err, now)
			}
			nobodyInside(t, started.AttemptID)
			waittest.Until(t, "no container is left", func() (bool, any) { left := containers(t); return len(left) == 0, left })
		})
	}
}

// Whenever a runner is killed: after a sweep there is no container of its run, at no
// moment were there two, and the attempt continues.
func TestAttackBoxAContainerExecutorsRunnerIsKilled(t *testing.T) {
	s := inContainers(t, nil)
	s.Lease = time.Hour // only sweeps look for dead processes
	path := gitRepo(t)
	git(t, path, "config", "user.name", "Ada")
	git(t, path, "config", "user.email", "ada@example.com")
	d := openAt(t, t.TempDir(), Repo{Path: path, Name: "app"}, s)
	random := rand.New(rand.NewPCG(3, 4))
	begun := 0
	for round := range rounds(t, 6) {
		started := d.startIn("boxed", "run i=0; while :; do i=$((i+1)); git commit -q --allow-empty -m $i; done")
		waittest.Until(t, "a runner", func() (bool, any) { return d.running(started.AttemptID).runner > 0, nil })
		runner := d.running(started.AttemptID).runner
		if round%3 == 0 { // while it works, else while it starts
			waittest.Until(t, "a container runs", func() (bool, any) {
				now, _ := d.Status(t.Context(), started.AttemptID)
				return now.SessionID != "" && len(containers(t)) == 1, now
			})
			begun++
		} else {
			time.Sleep(time.Duration(random.Int64N(int64(290 * time.Millisecond))))
		}
		if err := syscall.Kill(runner, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the runner is dead", func() (bool, any) { return dead(runner), nil })
		d.ownerless()
		now := d.ended(started.AttemptID)
		if now.State != Failed || !strings.Contains(now.Failure, "lost") {
			t.Fatalf("round %d: %+v", round, now)
		}
		nobodyInside(t, started.AttemptID)
		waittest.Until(t, "no container is left", func() (bool, any) { left := containers(t); return len(left) == 0, left })
		if now.SessionID == "" {
			continue
		}
		if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "write after.txt x"}); err != nil {
			t.Fatal(err)
		}
		d.until(started.AttemptID, "went on", func(s AttemptStatus) bool { return s.ProcessID != now.ProcessID && s.State == Completed })
		if got := git(t, path, "show", started.Branch+":after.txt"); got != "x" {
			t.Errorf("round %d: after.txt is %q", round, got)
		}
	}
	if begun == 0 {
		t.Error("the test shows nothing")
	}
}
