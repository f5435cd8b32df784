package tasks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// inside returns the processes that run in an attempt.
func inside(attemptID string) (pids []string) {
	mark := []byte("DESKHAND_ATTEMPT_ID=" + attemptID)
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && bytes.Contains(env, mark) {
			pids = append(pids, e.Name())
		}
	}
	return pids
}

// victim holds the process IDs of a running attempt.
type victim struct{ runner, agent int }

// running returns the processes of an attempt, or zero if none is running.
func (d *desk) running(attemptID string) (v victim) {
	d.t.Helper()
	err := d.db.View(context.Background(), func(tx *store.Tx) error {
		rows, err := tx.Query(context.Background(), "SELECT runner_pid, agent_pid FROM processes WHERE attempt_id = ? AND state = 'running'", attemptID)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(&v.runner, &v.agent); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return v
}

// nobodyInside waits until an attempt has no unowned processes left.
func nobodyInside(t testing.TB, attemptID string) {
	t.Helper()
	waittest.Until(t, "no process runs of attempt "+attemptID, func() (bool, any) {
		left := inside(attemptID)
		return len(left) == 0, left
	})
}

// intact checks the conditions that hold for every attempt that has ended, whichever
// process was killed.
func (d *desk) intact(attemptID string, effects string) {
	d.t.Helper()
	nobodyInside(d.t, attemptID)
	out, _ := os.ReadFile(effects)
	lines := strings.Fields(string(out))
	slices.Sort(lines)
	if once := slices.Compact(slices.Clone(lines)); len(once) != len(lines) {
		d.t.Errorf("something was done twice: %q", lines)
	}
	d.wholeLogs(attemptID)
}

// wholeLogs checks that the raw logs contain every line in the spools, where lines are
// written first.
func (d *desk) wholeLogs(attemptID string) {
	d.t.Helper()
	processes, err := d.Processes(context.Background(), attemptID)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, p := range processes {
		spool, _ := os.ReadFile(filepath.Join(d.options.Dir, "runs", p.ID, "spool"))
		spooled := strings.Count("\n"+string(spool), "\noline-") // each record begins with the mark of its stream
		if spooled == 0 && bytes.Contains(spool, []byte("line-1\n")) {
			d.t.Fatalf("the spool has lines that this test does not find: %.300q", spool)
		}
		stored := 0
		for page := (LogQuery{AttemptID: attemptID, ProcessID: p.ID, Channel: Raw, Limit: 1000, After: pointer(int64(-1))}); ; {
			got, err := d.Logs(context.Background(), page)
			if err != nil {
				d.t.Fatal(err)
			}
			for _, e := range got.Entries {
				var line struct{ Content string }
				if err := json.Unmarshal(e.Entry, &line); err != nil {
					d.t.Fatal(err)
				}
				if number, ok := strings.CutPrefix(line.Content, "line-"); ok {
					if stored++; number != strconv.Itoa(stored) {
						d.t.Errorf("line %d of process %s is %q", stored, p.ID, line.Content)
						return
					}
				}
			}
			if page.After = got.NextAfter; !got.More {
				break
			}
		}
		if stored < spooled {
			d.t.Errorf("the log of process %s has %d lines, its spool %d", p.ID, stored, spooled)
		}
	}
}

// unlocked checks that no worktree is locked when nothing is running.
func (d *desk) unlocked() {
	d.t.Helper()
	if list := git(d.t, d.repo.Path, "worktree", "list", "--porcelain"); strings.Contains(list, "\nlocked") {
		d.t.Errorf("worktrees are locked and nothing runs:\n%s", list)
	}
}

// ownerless checks that after one sweep no running process has a dead runner.
func (d *desk) ownerless() {
	d.t.Helper()
	if err := d.Sweep(context.Background()); err != nil {
		d.t.Errorf("Sweep = %v", err)
	}
	for id, pid := range d.owned() {
		if !dead(pid) {
			continue
		}
		if again, ok := d.owned()[id]; ok && again == pid { // unless the process has just ended in order
			d.t.Errorf("process %s is running by its row, and its runner %d is dead", id, pid)
		}
	}
}

// owned returns the running processes with their runners.
func (d *desk) owned() map[string]int {
	d.t.Helper()
	found := map[string]int{}
	err := d.db.View(context.Background(), func(tx *store.Tx) error {
		rows, err := tx.Query(context.Background(), "SELECT id, runner_pid FROM processes WHERE state = 'running'")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var pid int
			if err := rows.Scan(&id, &pid); err != nil {
				return err
			}
			found[id] = pid
		}
		return rows.Err()
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return found
}

// dead reports whether a process has exited, even if its parent has not waited for it.
func dead(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ") || strings.Contains(string(stat), ") X ")
}

// TestAKilledRunnerLosesNothing kills runners, and in the second part agents, at random
// moments.
func TestAKilledRunnerLosesNothing(t *testing.T) {
	for _, who := range []string{"runner", "agent"} {
		t.Run(who, func(t *testing.T) {
			d := open(t, Repo{Setup: "echo line-1"}, settings{Lease: 4 * time.Second})
			random := rand.New(rand.NewPCG(5, 6))
			killed, lost, most := 0, 0, rounds(t, 5)
			for round := 0; killed < most && round < 4*most; round++ { // some exit before they can be killed
				effects := filepath.Join(t.TempDir(), "effects")
				started := d.start(lines(effects, "first")...)
				after := time.Duration(random.IntN(290)) * time.Millisecond
				followed := make(chan struct{})
				go func() {
					defer close(followed)
					d.followWhenPossible(started.AttemptID, strings.Join(lines(effects, "second"), "\n"))
				}()
				of := func() int {
					if v := d.running(started.AttemptID); who == "runner" {
						return v.runner
					} else {
						return v.agent
					}
				}
				if round%4 > 0 { // otherwise while it starts
					d.until(started.AttemptID, "began", func(s AttemptStatus) bool { return of() > 0 || s.State != Running })
				}
				time.Sleep(after)
				pid := of()
				if pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
					killed++
					await(t, "the end of the "+who, func() bool { return dead(pid) })
				}
				d.ownerless()
				s := d.ended(started.AttemptID)
				if strings.HasPrefix(s.Failure, "lost: ") {
					lost++
				}
				<-followed // a message may have been queued just after its run was lost, and is running
				d.ended(started.AttemptID)
				d.intact(started.AttemptID, effects)
				d.unlocked()
				if t.Failed() {
					t.Fatalf("round %d: killed the %s %v after the start; %+v\n%s", round, who, after, s, d.said())
				}
			}
			t.Logf("%d killed, %d lost", killed, lost)
			if killed < most {
				t.Errorf("%d were killed, want %d", killed, most)
			}
		})
	}
}

// followWhenPossible queues a message once the attempt has a session, if it ever gets
// one.
func (d *desk) followWhenPossible(attemptID, prompt string) {
	for {
		_, err := d.FollowUp(context.Background(), FollowUpRequest{Action: Queue, AttemptID: attemptID, Prompt: prompt, RequestID: "queue-" + attemptID})
		if f := fault.Of(err); f == nil || f.Code != NoSession || !f.Retryable {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestAKilledServerLosesNothing: requested work is done once, and started work
// continues.
func TestAKilledServerLosesNothing(t *testing.T) {
	place := t.TempDir()
	s := settings{Lease: 4 * time.Second, Dir: t.TempDir(), MaxRunning: 50}
	d := openAt(t, place, Repo{}, s)
	random := rand.New(rand.NewPCG(7, 8))
	for round := range rounds(t, 3) {
		job := serverJob{Settings: s, Project: d.project.ID, Repo: d.repo.ID, Round: fmt.Sprint(round), Effects: filepath.Join(t.TempDir(), "effects")}
		data, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		cmd, out := start(t, place, "server", string(data))
		promised := map[string]string{}
		timer := time.AfterFunc(time.Duration(random.IntN(1000))*time.Millisecond, func() { cmd.Process.Kill() })
		for out.Scan() && out.Text() != "done" {
			name, attempt, ok := strings.Cut(out.Text(), " ")
			if !ok || len(attempt) != 36 {
				t.Fatalf("round %d: the server says %q", round, out.Text())
			}
			promised[name] = attempt
		}
		timer.Stop()
		cmd.Process.Kill()
		cmd.Wait()
		d.ownerless()
		for i := range 3 {
			name := fmt.Sprintf("%d-%d", round, i)
			attempt, err := job.do(t.Context(), d.Manager, name) // the client retries
			if err != nil {
				t.Fatalf("round %d: %s again = %v", round, name, err)
			}
			if was, ok := promised[name]; ok && was != attempt {
				t.Errorf("round %d: %s was attempt %s and is %s", round, name, was, attempt)
			}
			d.until(attempt, "did both", func(s AttemptStatus) bool {
				turns, err := d.Messages(t.Context(), MessageQuery{AttemptID: attempt})
				return err == nil && s.State == Completed && len(turns.Turns) == 2
			})
			d.intact(attempt, job.Effects)
		}
		d.unlocked()
		effects, _ := os.ReadFile(job.Effects)
		if got := len(strings.Fields(string(effects))); got != 6 {
			t.Errorf("round %d: %d things were done, want 6:\n%s", round, got, effects)
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

// TestWhoeverComesNextFindsTheDead: a process that only reads cleans up before it
// exits. It also removes the agent's settings, which contain a token.
func TestWhoeverComesNextFindsTheDead(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	d := open(t, Repo{}, settings{Lease: time.Hour})
	started := d.start("hang")
	d.until(started.AttemptID, "began", func(s AttemptStatus) bool { return d.running(started.AttemptID).agent > 0 })
	settings := filepath.Join(cache, "deskhand", "agent-"+started.ProcessID)
	if err := os.MkdirAll(settings, 0o700); err != nil {
		t.Fatal(err)
	}
	pid := d.running(started.AttemptID).runner
	kill(t, pid)
	s, err := peer(t, d.place, d.options).Status(t.Context(), started.AttemptID)
	if err != nil || s.State != Failed || s.Failure != "lost: its runner died" {
		t.Errorf("Status = %+v, %v; want it lost", s, err)
	}
	if _, err := os.Stat(settings); !os.IsNotExist(err) {
		t.Errorf("Stat of the agent's settings = %v, want them gone", err)
	}
	d.intact(started.AttemptID, "")
}

// TestASuspendedRunnerIsBelievedForAWhile: a runner that is suspended for less than a
// lease term continues. After a longer time it is killed with its agent.
func TestASuspendedRunnerIsBelievedForAWhile(t *testing.T) {
	d := open(t, Repo{}, settings{Lease: 2 * time.Second})
	for _, c := range []struct {
		pause time.Duration
		want  State
	}{{1500 * time.Millisecond, Completed}, {30 * time.Second, Failed}} {
		started := d.start("sleep 2", "write a.txt x")
		d.until(started.AttemptID, "began", func(s AttemptStatus) bool { return s.SessionID != "" && d.running(started.AttemptID).agent > 0 })
		pid := d.running(started.AttemptID).runner
		syscall.Kill(pid, syscall.SIGSTOP)
		timer := time.AfterFunc(c.pause, func() { syscall.Kill(pid, syscall.SIGCONT) })
		s := d.ended(started.AttemptID)
		timer.Stop()
		if s.State != c.want || c.want == Failed && s.Failure != "lost: its runner did not respond" {
			t.Errorf("after a pause of %v the attempt is %+v, want %s", c.pause, s, c.want)
		}
		d.intact(started.AttemptID, "")
		d.unlocked()
	}
}

// TestALeaseOfASleepingMachineIsNotLost: a runner does not count as dead because the
// clock has jumped.
func TestALeaseOfASleepingMachineIsNotLost(t *testing.T) {
	place := t.TempDir()
	d := openAt(t, place, Repo{}, settings{Lease: 4 * time.Second})
	started := d.start("sleep 1", "write a.txt x")
	d.until(started.AttemptID, "began", func(s AttemptStatus) bool { return s.SessionID != "" })
	db, err := store.Open(t.Context(), place, Schemas()...)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	late := New(db, d.options)
	defer late.Close()
	for range 3 {
		if err := late.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if s := d.ended(started.AttemptID); s.State != Completed {
		t.Errorf("the attempt is %+v, want it completed", s)
	}
}

// TestAStoreThatWasCutOffIsWhole kills writers in the middle of commits and then
// truncates the write-ahead log, like a power failure.
func TestAStoreThatWasCutOffIsWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	place := t.TempDir()
	first, db := peerAndStore(t, place, Options{})
	p, _ := project(t, first, Repo{})
	first.Close()
	db.Close()
	for round := range rounds(t, 10) {
		cmd, out := start(t, place, "flood", p.ID)
		if !out.Scan() {
			t.Fatalf("round %d: the writer says nothing", round)
		}
		time.Sleep(time.Duration(random.IntN(30_000)) * time.Microsecond)
		cmd.Process.Kill()
		cmd.Wait()
		wal := filepath.Join(place, "deskhand.db-wal")
		if info, err := os.Stat(wal); err == nil {
			if err := os.Truncate(wal, info.Size()-random.Int64N(min(info.Size(), 64<<10)+1)); err != nil {
				t.Fatal(err)
			}
		}
		m, db := peerAndStore(t, place, Options{})
		err := db.View(t.Context(), func(tx *store.Tx) error {
			var tasks, requests, events, last int64
			for query, n := range map[string]*int64{
				"SELECT COUNT(*) FROM tasks": &tasks, "SELECT COUNT(*) FROM once": &requests,
				"SELECT COUNT(*) FROM events": &events, "SELECT MAX(seq) FROM events": &last,
			} {
				if err := tx.QueryRow(t.Context(), query).Scan(n); err != nil {
					return err
				}
			}
			var sound string
			if err := tx.QueryRow(t.Context(), "PRAGMA integrity_check").Scan(&sound); err != nil {
				return err
			}
			if tasks != requests || events != last || sound != "ok" {
				t.Errorf("round %d: %d tasks of %d requests, %d events of %d, integrity %q", round, tasks, requests, events, last, sound)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		m.Close()
		db.Close()
	}
}
