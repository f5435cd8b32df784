package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// in runs a command line in another shell: with an environment of its own.
func in(t *testing.T, env []string, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("deskhand", args...)
	cmd.Env, cmd.Dir = env, dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("deskhand %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// ofProgram are the processes of deskhand with these words in their command
// line, and this folder as their home.
func ofProgram(home string, words ...string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		dir, _ := os.Readlink("/proc/" + e.Name() + "/cwd")
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err == nil && dir == home && bytes.Contains(line, []byte("\x00"+strings.Join(words, "\x00")+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// waitingDesk is an installation in which one attempt runs until there is a file,
// and two wait, all started with a key.
type waitingDesk struct {
	t           *testing.T
	repo, state string
	gate        string
	env         []string // that they were started with
	tasks       []string // oldest first
}

func newWaitingDesk(t *testing.T) *waitingDesk {
	d := &waitingDesk{t: t, state: lingering(t), repo: gitRepo(t, map[string]string{"README.md": "# Shop\n"}), gate: filepath.Join(t.TempDir(), "go")}
	config := filepath.Join(t.TempDir(), "a.yaml")
	text := fmt.Sprintf(`tasks:
  max_running: 1
  env: [MY_KEY]
  executors:
    mine: {kind: shell, command: [sh, -c, 'case $MY_KEY in plain-k1) echo the first key;; plain-k2) echo the second key;; *) echo no key;; esac; while [ ! -e %s ]; do sleep 0.05; done']}
`, d.gate)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.env = append(os.Environ(), "DESKHAND_TASKS_SANDBOX=none", // the agent waits for a file outside of its folder
		"DESKHAND_STATE="+d.state, "DESKHAND_CONFIG="+config, "MY_KEY=plain-k1", "OTHER_SECRET=not-for-agents")
	in(t, d.env, d.repo, "tasks", "project", "add", ".", "--name", "shop")
	for _, title := range []string{"one", "two", "three"} {
		task := strings.TrimSpace(in(t, d.env, d.repo, "tasks", "add", title))
		in(t, d.env, d.repo, "tasks", "start", task, "--executor", "mine")
		d.tasks = append(d.tasks, task)
	}
	d.until("the first to run", func(words []string) bool { return words[0] == "running" && len(d.runners()) == 1 })
	t.Cleanup(func() { // nothing is left behind
		d.open()
		eventually(t, "the end of the runners", func() error {
			if left := d.runners(); len(left) > 0 {
				return fmt.Errorf("%v run", left)
			}
			return nil
		})
	})
	return d
}

// open lets all go on.
func (d *waitingDesk) open() {
	if err := os.WriteFile(d.gate, nil, 0o600); err != nil {
		d.t.Error(err)
	}
}

func (d *waitingDesk) runners() []int {
	return ofProgram(filepath.Join(d.state, "tasks"), "tasks", "runner")
}

// words are how the attempts stand, oldest first, as the starter's shell sees it.
func (d *waitingDesk) words(env []string) (words []string) {
	d.t.Helper()
	for line := range strings.Lines(in(d.t, env, d.repo, "tasks", "ls")) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasSuffix(fields[4], "s") && fields[0] != "ID" {
			words = append([]string{fields[2]}, words...)
		}
	}
	return words
}

func (d *waitingDesk) until(what string, ok func([]string) bool) {
	d.t.Helper()
	eventually(d.t, what, func() error {
		if words := d.words(d.env); len(words) != 3 || !ok(words) {
			return fmt.Errorf("they are %q", words)
		}
		return nil
	})
}

// kill ends everything that has the key: the runner.
func (d *waitingDesk) kill() { syscall.Kill(d.runners()[0], syscall.SIGKILL) }

// TestAttackStarterOtherShellsOnlyLook: with everything dead that has the key,
// two attempts wait, and commands of other shells leave them alone.
func TestAttackStarterOtherShellsOnlyLook(t *testing.T) {
	d := newWaitingDesk(t)
	for _, pid := range d.runners() {
		for _, file := range []string{"environ", "cmdline"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
			if err != nil || len(text) == 0 || bytes.Contains(text, []byte("plain-k1")) || bytes.Contains(text, []byte("not-for-agents")) || bytes.Contains(text, []byte("DESKHAND_")) {
				t.Errorf("%s of a process of deskhand = %q, %v; want nothing in it that is not for others", file, text, err)
			}
		}
	}
	d.kill()

	bare := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "DESKHAND_STATE=" + d.state}
	with := func(change ...string) []string { return append(append([]string{}, d.env...), change...) }
	for name, env := range map[string][]string{
		"env -i":                 bare,
		"cron":                   append(bare, "PATH="+os.Getenv("PATH")+":/usr/games", "SHELL=/bin/sh", "LOGNAME=me", "LANG=C"),
		"another key":            with("MY_KEY=other"),
		"without the key":        with("MY_KEY="),
		"another limit":          with("DESKHAND_TASKS_MAX_RUNNING=8"),
		"another time limit":     with("DESKHAND_TASKS_TIME_LIMIT=7h"),
		"another wrapper":        with(`DESKHAND_TASKS_WRAP=["env"]`),
		"an agent of an attempt": with("DESKHAND_ATTEMPT_ID=01a2043b-73fe-7e98-b8d2-aef26b3364d8"),
	} {
		for _, command := range [][]string{{"tasks", "ls"}, {"tasks", "show", d.tasks[2]}, {"tasks", "executors"}} {
			t.Run(name+"/"+command[1], func(t *testing.T) {
				in(t, env, d.repo, command...)
				if got := d.runners(); len(got) > 0 {
					t.Errorf("runners %v were started", got)
				}
				if words := strings.Join(d.words(env), " "); words != "failed waits waits" {
					t.Errorf("they are %q, want the first lost and the others waiting", words)
				}
			})
		}
	}
	shown := in(t, bare, d.repo, "tasks", "show", d.tasks[2])
	for _, want := range []string{"MY_KEY", "a.yaml", "deskhand tasks start --resume "} {
		if !strings.Contains(shown, want) {
			t.Errorf("show = %s\nwant %q in it", shown, want)
		}
	}
	if strings.Contains(shown, "plain-k1") {
		t.Errorf("show has the value of a variable:\n%s", shown)
	}
	d.open()
	t.Run("its own shell starts them", func(t *testing.T) {
		d.until("all to end", func(words []string) bool { return strings.Join(words, " ") == "failed ended ended" })
		for _, task := range d.tasks[1:] {
			if log := in(t, d.env, d.repo, "tasks", "logs", task); !strings.Contains(log, "the first key") {
				t.Errorf("the log = %s\nwant it run with its key", log)
			}
		}
	})
}

// TestAttackStarterARunnerEndsWhenIdle: it starts the others while nobody looks, and ends.
func TestAttackStarterARunnerEndsWhenIdle(t *testing.T) {
	d := newWaitingDesk(t)
	d.open()
	d.until("all to end", func(words []string) bool { return strings.Join(words, " ") == "ended ended ended" })
	eventually(t, "the end of the runner", func() error {
		if left := d.runners(); len(left) > 0 {
			return fmt.Errorf("processes %v run", left)
		}
		return nil
	})
}

// TestAttackStarterAServerStartsItsOwn: a server starts what a command of its
// environment has left waiting, and nothing of another.
func TestAttackStarterAServerStartsItsOwn(t *testing.T) {
	d := newWaitingDesk(t)
	d.kill()
	d.open()
	serve := func(t *testing.T, change ...string) *socket {
		cmd := exec.Command("deskhand", "serve", "--tools", "work", "--http", "127.0.0.1:0")
		cmd.Dir = d.repo
		cmd.Env = append(append(append([]string{}, d.env...), "DESKHAND_TOKEN="+bearer, "DESKHAND_PERSON_KEY="+personKey, "CI="), change...)
		s := socketOf(t, cmd)
		s.token = bearer
		return s
	}
	for name, change := range map[string]string{"another key": "MY_KEY=plain-k2", "without the key": "MY_KEY=", "another limit": "DESKHAND_TASKS_MAX_RUNNING=8"} {
		t.Run(name+" starts nothing", func(t *testing.T) {
			s := serve(t, change)
			for range 3 { // what looks at the work would start what may be started
				if status, _, _ := looks(t, s, "/work", personKey); status != http.StatusOK {
					t.Fatalf("GET /work = %d", status)
				}
			}
			if got := d.runners(); len(got) > 0 {
				t.Errorf("processes %v were started", got)
			}
			if words := strings.Join(d.words(append(append([]string{}, d.env...), change)), " "); words != "failed waits waits" {
				t.Errorf("they are %q, want the first lost and the others waiting", words)
			}
		})
	}
	t.Run("the same environment starts them, with no command", func(t *testing.T) {
		serve(t)
		other := append(append([]string{}, d.env...), "MY_KEY=plain-k2") // which only looks
		eventually(t, "all to end", func() error {
			if words := strings.Join(d.words(other), " "); words != "failed ended ended" {
				return fmt.Errorf("they are %q", words)
			}
			return nil
		})
		for _, task := range d.tasks[1:] {
			if log := in(t, other, d.repo, "tasks", "logs", task); !strings.Contains(log, "the first key") {
				t.Errorf("the log = %s\nwant it run with its key", log)
			}
		}
	})
}

// TestAttackStarterTakenOver: --resume makes what waits this shell's own.
func TestAttackStarterTakenOver(t *testing.T) {
	d := newWaitingDesk(t)
	other := append(append([]string{}, d.env...), "MY_KEY=plain-k2", "DESKHAND_TASKS_MAX_RUNNING=3")
	in(t, other, d.repo, "tasks", "start", "--resume", d.tasks[2])
	d.until("it to run", func(words []string) bool { return strings.Join(words, " ") == "running waits running" })
	d.open()
	d.until("all to end", func(words []string) bool { return strings.Join(words, " ") == "ended ended ended" })
	for i, want := range []string{"the first key", "the first key", "the second key"} {
		if log := in(t, d.env, d.repo, "tasks", "logs", d.tasks[i]); !strings.Contains(log, want) {
			t.Errorf("the log of %d = %s\nwant %s", i, log, want)
		}
	}
}

// TestAChangedConfigurationAppliesToTheNextAttempt: the runner of the others does not know
// the change, so the next attempt gets one of its own.
func TestAChangedConfigurationAppliesToTheNextAttempt(t *testing.T) {
	d := newWaitingDesk(t)
	in(t, d.env, d.repo, "tasks", "start", strings.TrimSpace(in(t, d.env, d.repo, "tasks", "add", "four")), "--executor", "mine")
	if n := len(d.runners()); n != 1 {
		t.Errorf("%d runners with the same configuration, want one", n)
	}
	for _, v := range d.env {
		if path, ok := strings.CutPrefix(v, "DESKHAND_CONFIG="); ok {
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, append(text, "log_level: warn\n"...), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	last := strings.TrimSpace(in(t, d.env, d.repo, "tasks", "add", "five"))
	in(t, d.env, d.repo, "tasks", "start", last, "--executor", "mine")
	eventually(t, "a runner of its own", func() error {
		if n := len(d.runners()); n != 2 {
			return fmt.Errorf("%d run", n)
		}
		return nil
	})
	d.open()
	eventually(t, "the end of the last one", func() error {
		if log := in(t, d.env, d.repo, "tasks", "logs", last); !strings.Contains(log, "the first key") {
			return fmt.Errorf("its log is %s", log)
		}
		return nil
	})
}
