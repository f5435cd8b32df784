package tasks_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
)

// runnerOf waits until an attempt's agent works, and returns its runner.
func (d *desk) runnerOf(attemptID string) int {
	d.t.Helper()
	d.until(attemptID, "began", func(AttemptStatus) bool { return d.running(attemptID).agent > 0 })
	return d.running(attemptID).runner
}

// TestAttemptsOfOneStarterShareARunner: also those that many processes start at the same
// time. When it is killed, each attempt ends as if it had been alone, and what waits runs.
func TestAttemptsOfOneStarterShareARunner(t *testing.T) {
	d := open(t, Repo{}, settings{Lease: 4 * time.Second})
	own := withKey(d.options.Dir, secretKey)
	own.Settings.MaxRunning = 4
	began := make(chan string)
	for range 4 {
		go func() {
			began <- d.begin(own, "say line-1\nrun (setsid sleep 600 &) ; echo $MY_KEY > left.txt\nhang")[0]
		}()
	}
	var hang []string
	for range 4 {
		hang = append(hang, <-began)
	}
	runner := d.runnerOf(hang[0])
	for _, id := range hang {
		if pid := d.runnerOf(id); pid != runner {
			t.Errorf("attempt %s has the runner %d, want %d", id, pid, runner)
		}
		d.until(id, "has written", func(AttemptStatus) bool { return exists(filepath.Join(d.attempt(id).Dir, d.repo.Name, "left.txt")) })
	}
	await(t, "one runner", func() bool { return slices.Equal(d.runners(), []int{runner}) })
	waits := d.begin(own, "run [ $MY_KEY = "+secretKey+" ]")[0]
	kill(t, runner)
	d.ownerless()
	for _, id := range hang {
		if s := d.ended(id); s.Failure != "lost: its runner died" {
			t.Errorf("Status = %+v, want it lost", s)
		}
		d.intact(id, "")
	}
	d.unlocked()
	if !d.waits(waits) {
		t.Errorf("the last attempt was ended or run by somebody else")
	}
	d.in(own, "visit")
	if s := d.ended(waits); s.State != Completed {
		t.Errorf("Status of what waited = %+v", s)
	}
}

// TestWhatIsQueuedForADeadRunnerIsRunByAnother: a shell that differs in something that
// agents do not see has a runner of its own, which runs only its own attempts while the
// other one lives.
func TestWhatIsQueuedForADeadRunnerIsRunByAnother(t *testing.T) {
	d := open(t, Repo{}, settings{Lease: 4 * time.Second})
	first := withKey(d.options.Dir, secretKey)
	first.Settings.MaxRunning = 2
	second := first
	second.env = append(slices.Clone(first.env), "NOT_FOR_AGENTS=other")
	gate := filepath.Join(t.TempDir(), "go")
	hang := d.begin(first, "hang")[0]
	other := d.begin(second, "hang")[0]
	one, two := d.runnerOf(hang), d.runnerOf(other)
	if one == two {
		t.Fatalf("both have the runner %d", one)
	}
	waits := d.begin(first, hold(gate))[0]
	d.change("UPDATE processes SET created_at = created_at - 60000 WHERE attempt_id = ?", waits)
	if _, err := d.Stop(t.Context(), other, true); err != nil {
		t.Fatal(err)
	}
	if pid := d.runnerOf(waits); pid != one {
		t.Errorf("the first shell's attempt has the runner %d, want its own, %d", pid, one)
	}
	again, orphan := d.begin(second, "hang")[0], ""
	await(t, "the second attempt waits", func() bool { return d.waits(again) })
	orphan = d.begin(first, hold(gate))[0]
	d.change("UPDATE processes SET created_at = created_at - 60000 WHERE attempt_id = ?", orphan)
	kill(t, one)
	d.ownerless()
	two = d.runnerOf(again)
	if pid := d.runnerOf(orphan); pid != two {
		t.Errorf("the attempt whose runner is dead has the runner %d, want %d", pid, two)
	}
	write(t, gate, "")
	if s := d.ended(orphan); s.State != Completed {
		t.Errorf("Status = %+v", s)
	}
}

// TestANewProgramHasARunnerOfItsOwn: after an upgrade, new attempts are not run by the old
// program. Until then, nobody starts a second runner, even if the first has not begun.
func TestANewProgramHasARunnerOfItsOwn(t *testing.T) {
	program, told := filepath.Join(t.TempDir(), "program"), filepath.Join(t.TempDir(), "told")
	write(t, program, "#!/bin/sh\necho $$ >> "+told+"\nexec sleep 600\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	started := func() []string {
		list, _ := os.ReadFile(told)
		return strings.Fields(string(list))
	}
	d := &desk{t: t}
	d.Manager, d.db = peerAndStore(t, t.TempDir(), Options{Runner: []string{program}, MaxRunning: 50})
	d.project, d.repo = project(t, d.Manager, Repo{})
	t.Cleanup(func() {
		for _, pid := range started() {
			_ = exec.Command("kill", "-9", pid).Run()
		}
	})
	var starting sync.WaitGroup
	for range 5 {
		starting.Go(func() { d.start("say hello") })
	}
	starting.Wait()
	await(t, "a runner", func() bool { return len(started()) > 0 })
	d.start("say hello")
	if got := started(); len(got) != 1 {
		t.Errorf("runners %v were started, want one", got)
	}
	if err := os.Chtimes(program, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	d.start("say hello")
	await(t, "a runner of the new program", func() bool { return len(started()) == 2 })
}

// TestAPanicEndsOneAttempt: the other one of the same runner goes on.
func TestAPanicEndsOneAttempt(t *testing.T) {
	d := &desk{t: t}
	var fails string
	d.Manager, d.db = peerAndStore(t, t.TempDir(), Options{Dir: t.TempDir(), MaxRunning: -1, Serve: func(_ context.Context, a Attempt, _ Process) (string, string, func(), error) {
		if a.ID == fails {
			panic("no such port")
		}
		return "", "", func() {}, nil
	}})
	d.project, d.repo = project(t, d.Manager, Repo{})
	bad, good := d.start("say never"), d.start("sleep 0.5", "write a.txt x")
	fails = bad.AttemptID
	if err := d.Run(t.Context()); err != nil {
		t.Errorf("Run = %v", err)
	}
	if s := d.ended(bad.AttemptID); s.State != Failed || !strings.Contains(s.Failure, "no such port") {
		t.Errorf("Status of the one that panicked = %+v", s)
	}
	if s := d.ended(good.AttemptID); s.State != Completed {
		t.Errorf("Status of the other one = %+v", s)
	}
	d.unlocked()
}

// TestAStopEndsOnlyItsAttempt, also if the run does not end in time. If it never ends, the
// runner is killed.
func TestAStopEndsOnlyItsAttempt(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	slow := filepath.Join(programs, "slow") // a runner whose next git takes long, and how long
	write(t, filepath.Join(programs, "git"), fmt.Sprintf("#!/bin/sh\nif read pid time < %[1]s && [ $PPID = $pid ] && rm %[1]s; then sleep $time; fi 2>/dev/null\nexec %[2]s \"$@\"\n", slow, real))
	if err := os.Chmod(filepath.Join(programs, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		takes int
		want  State
	}{"slowly": {5, Running}, "never": {60, Failed}} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
			d := open(t, Repo{}, settings{})
			stopped, other := d.start("write a.txt x", "hang").AttemptID, d.start("hang").AttemptID
			runner := d.runnerOf(stopped)
			if pid := d.runnerOf(other); pid != runner {
				t.Fatalf("they have the runners %d and %d", runner, pid)
			}
			write(t, slow, fmt.Sprintln(runner, c.takes))
			if got, err := d.Stop(t.Context(), stopped, true); err != nil || !got.Stopped {
				t.Errorf("Stop = %+v, %v", got, err)
			}
			if exists(slow) {
				t.Fatal("no git was slow: the test shows nothing")
			}
			if s := d.ended(stopped); s.Failure != "killed" {
				t.Errorf("Status = %+v, want it killed", s)
			}
			d.ownerless()
			s, err := d.Status(t.Context(), other)
			if err != nil || s.State != c.want || dead(runner) != (c.want == Failed) {
				t.Errorf("Status of the other one = %+v, %v; the runner is dead: %v; want %s", s, err, dead(runner), c.want)
			}
			nobodyInside(t, stopped)
			if v := d.running(other); c.want == Running && syscall.Kill(v.agent, 0) != nil {
				t.Errorf("agent %d of the other one has ended", v.agent)
			}
		})
	}
}

// A runner that finds a hung run of its own gives it time to end. Its sweep, which also
// watches everybody else's runs, does not wait for that.
func TestASweepDoesNotWaitForItsOwnHungRun(t *testing.T) {
	d := open(t, Repo{}, settings{})
	id := d.start("hang").AttemptID
	d.until(id, "runs", func(s AttemptStatus) bool { return s.SessionID != "" })
	alive, err := HaveRun(t.Context(), d.Manager, id)
	if err != nil {
		t.Fatal(err)
	}
	write(t, alive, "")
	var late atomic.Bool
	SetWatch(d.Manager, func() time.Time {
		if late.Load() {
			return time.Now().Add(time.Hour)
		}
		return time.Now()
	})
	if err := d.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	late.Store(true)
	if err := d.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := d.Status(t.Context(), id); err != nil || s.State != Running {
		t.Errorf("when the sweep has returned, the hung run is %s (%s), %v; want it still running", s.State, s.Failure, err)
	}
	if err := os.Remove(alive); err != nil {
		t.Fatal(err)
	}
	d.until(id, "is given up", func(s AttemptStatus) bool { return s.State == Failed && strings.Contains(s.Failure, "did not respond") })
}
