package tasks_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/racetest"
	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/waittest"
)

const secretKey = "a-very-secret-value"

// withKey returns a shell whose runs require a key.
func withKey(dir string, key string) shell {
	return shell{Settings: settings{Dir: dir, MaxRunning: 1, Env: []string{"MY_*"}, Lease: 4 * time.Second}, env: append(os.Environ(), "MY_KEY="+key)}
}

// hold returns a script line that waits until the file exists.
func hold(path string) string { return "run while [ ! -e " + path + " ]; do sleep 0.02; done" }

// kill kills a process, like a power failure.
func kill(t *testing.T, pid int) {
	t.Helper()
	if pid <= 0 {
		t.Fatal("there is nobody to kill")
	}
	syscall.Kill(pid, syscall.SIGKILL)
	await(t, fmt.Sprint("the end of process ", pid), func() bool { return dead(pid) })
}

func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	waittest.Until(t, what, func() (bool, any) { return ok(), nil })
}

// TestAttackStarterOfAnotherEnvironmentStartsNothing: an attempt is waiting, and all
// processes with its environment are dead. No process with another environment starts
// it, however often it checks; a process in its own shell does.
func TestAttackStarterOfAnotherEnvironmentStartsNothing(t *testing.T) {
	d := open(t, Repo{}, settings{Lease: 4 * time.Second}) // this manager sweeps too, without the key
	own := withKey(d.options.Dir, secretKey)
	ids := d.begin(own, "hang", "run echo key=$MY_KEY", "run echo key=$MY_KEY")
	d.until(ids[0], "began", func(s AttemptStatus) bool { return d.running(ids[0]).agent > 0 })
	kill(t, d.running(ids[0]).runner)
	d.ownerless()
	waiting := ids[1]
	untouched := func(t *testing.T) {
		t.Helper()
		if found := d.runners(); !d.waits(waiting) || len(found)+len(d.holders()) > 0 {
			t.Fatalf("the second attempt waits: %v; runners %v were started, %v hold a lease", d.waits(waiting), found, d.holders())
		}
	}
	untouched(t)

	other := func(change func(*shell)) shell {
		s := own
		s.Settings.Env = slices.Clone(own.Settings.Env)
		s.env = slices.Clone(own.env)
		change(&s)
		return s
	}
	bare := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for name, s := range map[string]shell{
		"env -i":                     other(func(s *shell) { s.env = bare }),
		"cron":                       other(func(s *shell) { s.env = []string{"PATH=/usr/bin:/bin", "HOME=/", "SHELL=/bin/sh", "LOGNAME=root"} }),
		"another key":                other(func(s *shell) { s.env = append(s.env, "MY_KEY=other") }),
		"another path":               other(func(s *shell) { s.env = append(s.env, "PATH=/nowhere:"+os.Getenv("PATH")) }),
		"another limit":              other(func(s *shell) { s.Settings.MaxRunning = 50 }),
		"another time limit":         other(func(s *shell) { s.Settings.WallClock = time.Second }),
		"another wrapper":            other(func(s *shell) { s.Settings.Config.Wrap = []string{"env"} }),
		"another configuration file": other(func(s *shell) { s.Settings.Config.File = "/tmp/other.yaml" }),
		"another executor's command": other(func(s *shell) { s.Settings.Config.Settings = []string{"DESKHAND_TASKS_EXECUTORS={}"} }),
		"an agent in an attempt":     other(func(s *shell) { s.Settings.MaxRunning = -1 }),
	} {
		t.Run(name, func(t *testing.T) {
			d.in(s, "visit")
			untouched(t)
		})
	}
	t.Run("a runner by hand", func(t *testing.T) {
		for _, handed := range []string{"", `{"env":["TASKS_TEST_CHILD=` + strings.ReplaceAll(d.child(), `"`, `\"`) + `"]}`} {
			cmd := exec.Command(racetest.Program(), "runner")
			cmd.Stdin = strings.NewReader(strings.ReplaceAll(handed, "\n", `\n`))
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("a runner that was handed %.20q = %s, want an error", handed, out)
			}
		}
		cmd := exec.Command(racetest.Program(), "runner")
		cmd.Stdin = strings.NewReader(strings.ReplaceAll(`{"origin":"other/key","env":["TASKS_TEST_CHILD=`+strings.ReplaceAll(d.child(), `"`, `\"`)+`"]}`, "\n", `\n`))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("a runner of another origin = %s, %v; want it to end, with nothing to do", out, err)
		}
		untouched(t)
	})
	t.Run("it says what it waits for", func(t *testing.T) {
		s, err := d.Status(t.Context(), waiting)
		if err != nil || s.WaitsFor != ForStarter || !s.Waiting || s.State != Running {
			t.Errorf("Status = %+v, %v; want it waiting for its starter", s, err)
		}
		made, err := d.Stranded(t.Context(), waiting)
		if err != nil || made == nil || !slices.Equal(made.Names, []string{"MY_KEY"}) || made.MaxRunning != 1 {
			t.Errorf("Stranded = %+v, %v; want it to name MY_KEY", made, err)
		}
		page, err := d.Tasks(t.Context(), TaskQuery{ProjectID: d.project.ID, Page: Page{Limit: 1}})
		if err != nil || page.Tasks[0].WaitsFor != ForStarter {
			t.Errorf("the task = %+v, %v", page.Tasks, err)
		}
	})
	t.Run("its own shell", func(t *testing.T) {
		d.in(own, "visit")
		if s := d.ended(waiting); s.State != Completed {
			t.Errorf("Status = %+v\n%s", s, d.said())
		}
		if got := d.entries(waiting, Raw); !slices.Contains(got, "key=[redacted]") {
			t.Errorf("the log = %q, want the key in it, redacted", got)
		}
	})
	for _, id := range ids[1:] {
		if s := d.ended(id); s.State != Completed {
			t.Errorf("Status = %+v", s)
		}
	}
	await(t, "the end of the runner", func() bool { return len(d.holders()) == 0 })
}

// holders returns the living processes that hold a runner's lease.
func (d *desk) holders() (pids []int) {
	d.t.Helper()
	err := d.db.View(context.Background(), func(tx *store.Tx) error {
		leases, err := tx.Leases(context.Background(), "tasks/runs/")
		for _, l := range leases {
			var name string
			var pid int
			if _, err := fmt.Sscan(l.Holder, &name, &pid); err != nil {
				return err
			}
			if !dead(pid) {
				pids = append(pids, pid)
			}
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return pids
}

// waits reports whether an attempt's newest process is queued.
func (d *desk) waits(attemptID string) (waits bool) {
	d.t.Helper()
	err := d.db.View(context.Background(), func(tx *store.Tx) error {
		return tx.QueryRow(context.Background(), "SELECT state = 'queued' FROM processes WHERE attempt_id = ? ORDER BY ordinal DESC LIMIT 1", attemptID).Scan(&waits)
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return waits
}

// child returns the variable that marks a runner of this installation.
func (d *desk) child() string { return strings.TrimPrefix(d.options.RunnerEnv[0], "TASKS_TEST_CHILD=") }

// TestAttackStarterResume: a person may take over a waiting attempt.
func TestAttackStarterResume(t *testing.T) {
	t.Setenv("MY_KEY", "mine")
	d := open(t, Repo{}, settings{Lease: 4 * time.Second, Env: []string{"MY_*"}})
	gate := filepath.Join(t.TempDir(), "go")
	ids := d.begin(withKey(d.options.Dir, secretKey), hold(gate), "run [ $MY_KEY = mine ]")
	if err := d.Resume(t.Context(), ids[1]); err != nil {
		t.Fatalf("Resume = %v", err)
	}
	if s := d.ended(ids[1]); s.State != Completed {
		t.Errorf("Status of the one that was taken over = %+v, want it run at once, with the key of this process", s)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.ended(ids[0])
	refused(t, "Resume of one that has ended", d.Resume(t.Context(), ids[0]), NotWaiting)
}

// TestAttackStarterTwoStarters: each runs with its own environment, and each limit
// counts the runs of both.
func TestAttackStarterTwoStarters(t *testing.T) {
	d := open(t, Repo{}, settings{Lease: 4 * time.Second})
	var ids []string
	for _, key := range []string{"first-key-of-all", "second-key-of-all"} {
		check := fmt.Sprintf("run [ $MY_KEY = %s ] && echo right", key)
		for range 2 {
			ids = append(ids, d.begin(withKey(d.options.Dir, key), check+"\nsleep 0.2", check)...)
		}
	}
	for _, id := range ids {
		if s := d.ended(id); s.State != Completed || !slices.Contains(d.entries(id, Raw), "right") {
			t.Errorf("Status = %+v, %q; want it to have run with the key of its starter\n%s", s, d.entries(id, Raw), d.said())
		}
	}
	if most := d.most(ids); most != 1 {
		t.Errorf("%d ran at once, want 1", most)
	}
	await(t, "the end of the runners", func() bool { return len(d.holders()) == 0 })
}

// TestAttackStarterLimitHoldsOverProcesses: many shells start attempts concurrently.
func TestAttackStarterLimitHoldsOverProcesses(t *testing.T) {
	d := open(t, Repo{}, settings{Lease: 4 * time.Second})
	s := withKey(d.options.Dir, secretKey)
	s.Settings.MaxRunning = 2
	began := make(chan []string)
	for range 4 {
		go func() { began <- d.begin(s, "sleep 0.1", "sleep 0.1") }()
	}
	var ids []string
	for range 4 {
		ids = append(ids, <-began...)
	}
	for _, id := range ids {
		if s := d.ended(id); s.State != Completed {
			t.Errorf("Status = %+v\n%s", s, d.said())
		}
	}
	if most := d.most(ids); most > 2 {
		t.Errorf("%d ran at once, want 2 at most", most)
	}
}

// TestAttackStarterEnvironmentIsNotReadable: the data that other programs of the user
// can read contains no key. This also holds for root.
func TestAttackStarterEnvironmentIsNotReadable(t *testing.T) {
	d := open(t, Repo{}, settings{Lease: 4 * time.Second})
	gate := filepath.Join(t.TempDir(), "go")
	own := withKey(d.options.Dir, secretKey)
	own.env = append(own.env, "OTHER_SECRET="+secretKey)
	ids := d.begin(own, "run test -n \"$MY_KEY\"\n"+hold(gate), "run test -n \"$MY_KEY\"")
	d.until(ids[0], "began", func(s AttemptStatus) bool { return d.running(ids[0]).agent > 0 })
	for name, pid := range map[string]int{"runner": d.running(ids[0]).runner, "holder of the lease": d.holders()[0]} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{"environ", "cmdline"} {
				text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
				if err != nil || len(text) == 0 {
					t.Fatalf("%s = %q, %v", file, text, err)
				}
				if bytes.Contains(text, []byte(secretKey)) || bytes.Contains(text, []byte("TASKS_TEST_CHILD")) {
					t.Errorf("%s has what only deskhand is to know:\n%s", file, bytes.ReplaceAll(text, []byte{0}, []byte("\n")))
				}
			}
		})
	}
	t.Run("files", func(t *testing.T) {
		for _, root := range []string{d.place, d.options.Dir} {
			err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
				if err != nil || !e.Type().IsRegular() {
					return nil // the process may exit meanwhile
				}
				if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(secretKey)) {
					t.Errorf("%s has the value of a variable", path)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if s := d.ended(id); s.State != Completed {
			t.Errorf("Status = %+v; want the agent to have the key", s)
		}
	}
}

// TestKilledRunnersLeaveNothingWaiting kills runners at random moments, also those that
// have not begun. Each waiting attempt is started once, with its own environment.
func TestKilledRunnersLeaveNothingWaiting(t *testing.T) {
	d := open(t, Repo{}, settings{Lease: 4 * time.Second})
	own := withKey(d.options.Dir, secretKey)
	killed := 0
	for round := range rounds(t, 4) {
		effects := filepath.Join(t.TempDir(), "effects")
		var scripts []string
		for i := range 3 {
			scripts = append(scripts, fmt.Sprintf("run [ $MY_KEY = %s ] && echo %d >> %s", secretKey, i, effects))
		}
		ids := d.begin(own, scripts...)
		time.Sleep(time.Duration(round*37%300) * time.Millisecond)
		for _, pid := range d.runners() {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
		for _, id := range ids {
			await(t, "the end of the attempt", func() bool {
				s, err := d.Status(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if s.WaitsFor == ForStarter {
					d.in(own, "visit")
				}
				return s.State != Running
			})
			d.intact(id, effects)
		}
		if most := d.most(ids); most > 1 {
			t.Errorf("round %d: %d ran at once, want 1", round, most)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if killed == 0 {
		t.Error("nobody was killed: the test shows nothing")
	}
	t.Logf("%d killed", killed)
}
