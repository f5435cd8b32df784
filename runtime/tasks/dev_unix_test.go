//go:build unix

package tasks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// devScript is a dev server that tells its port and its process, and that of a child.
const devScript = "echo serving on $PORT; sleep 600 & echo $! > ../child; wait"

// childOf returns the process that an attempt's dev server has started.
func childOf(t *testing.T, dir string) (pid int) {
	t.Helper()
	waittest.Until(t, "the dev server has started its child", func() (bool, any) {
		text, err := os.ReadFile(filepath.Join(dir, "child"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0, err
	})
	return pid
}

func untilGone(t *testing.T, pid int) {
	t.Helper()
	waittest.Until(t, "the dev server's child is gone", func() (bool, any) {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(state), ") Z "), pid
	})
}

// A dev server has a port of its own, is told of, and ends with what it belongs to.
func TestADevServerBelongsToItsAttempt(t *testing.T) {
	ctx := t.Context()
	d := open(t, Repo{DevServer: devScript}, settings{})
	started := d.start("write a.txt one")
	s := d.ended(started.AttemptID)
	for _, c := range []struct {
		name string
		end  func() error
	}{
		{"stopped", func() error {
			stopped, err := d.StopDevServer(ctx, s.ID)
			if !stopped {
				t.Error("nothing was stopped")
			}
			return err
		}},
		{"the work is collected", func() error { _, err := d.Collect(ctx, s.ID, false); return err }},
		{"the agent continues", func() error {
			_, err := d.FollowUp(ctx, FollowUpRequest{AttemptID: s.ID, Action: Send, Prompt: "say ok"})
			d.ended(s.ID)
			return err
		}},
		{"the work lands", func() error {
			q := LandRequest{AttemptID: s.ID, How: worktree.FastForward, DryRun: true}
			if _, err := d.Land(ctx, q); err != nil {
				return err
			}
			if now, err := d.DevServer(ctx, s.ID); err != nil || now.Ended != "" {
				t.Errorf("after a dry run %+v, %v", now, err)
			}
			q.DryRun = false
			_, err := d.Land(ctx, q)
			return err
		}},
		{"the attempt is stopped", func() error { _, err := d.Stop(ctx, s.ID, false); return err }},
		{"gc", func() error {
			_, err := d.GC(ctx, GC{AttemptID: s.ID, OlderThan: time.Nanosecond})
			return err
		}},
	} {
		os.Remove(filepath.Join(s.Dir, "child"))
		dev, done, err := d.StartDevServer(ctx, s.ID, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		pid := childOf(t, s.Dir)
		waittest.Until(t, "the output has the port", func() (bool, any) {
			text, err := d.DevLog(s.ID, 10)
			return err == nil && strings.Contains(text, fmt.Sprintf("serving on %d", dev.Port)), text
		})
		if now := d.until(s.ID, "the dev server is shown", func(s AttemptStatus) bool { return s.Dev != nil && s.Dev.Ended == "" }); now.Dev.URL() != dev.URL() {
			t.Errorf("%s: shown at %s, want %s", c.name, now.Dev.URL(), dev.URL())
		}
		_, _, err = d.StartDevServer(ctx, s.ID, nil)
		refused(t, "a second dev server", err, DevServerRunning)
		if c.name == "gc" {
			os.Remove(filepath.Join(s.Dir, "child")) // it is no work, but it is not ignored either
		}
		if err := c.end(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		untilGone(t, pid)
		<-done
		if now, err := d.DevServer(ctx, s.ID); err != nil || now == nil || now.Ended != "stopped" {
			t.Errorf("%s: afterwards %+v, %v", c.name, now, err)
		}
	}
	_, _, err := d.StartDevServer(ctx, s.ID, nil)
	refused(t, "a dev server without a folder", err, WorktreeMissing)
	if _, err := d.SetRepo(ctx, d.project.ID, "", RepoChange{DevServer: new(string)}); err != nil {
		t.Fatal(err)
	}
	_, _, err = d.StartDevServer(ctx, s.ID, nil)
	refused(t, "a dev server without a command", err, NoDevServer)
}

// A dev server that fails says why, and one that talks a lot fills no disk.
func TestADevServerThatEndsSaysWhy(t *testing.T) {
	d := open(t, Repo{DevServer: "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo no such port; exit 3"}, settings{})
	s := d.ended(d.start("write a.txt one").AttemptID)
	_, done, err := d.StartDevServer(t.Context(), s.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-done
	if now, err := d.DevServer(t.Context(), s.ID); err != nil || !strings.Contains(now.Ended, "exit_code=3") {
		t.Errorf("afterwards %+v, %v", now, err)
	}
	text, err := d.DevLog(s.ID, 1)
	if err != nil || text != "no such port" {
		t.Errorf("the log ends with %.100q, %v", text, err)
	}
	if all, _ := d.DevLog(s.ID, 1000); len(all) > 2<<20 {
		t.Errorf("the log has %d bytes", len(all))
	}
}

// A dev server does not outlive a process that was killed.
func TestADevServerDiesWithTheProcessThatStartedIt(t *testing.T) {
	s := settings{Dir: t.TempDir(), MaxRunning: 50}
	d := open(t, Repo{DevServer: devScript}, s)
	a := d.ended(d.start("write a.txt one").AttemptID)
	data, err := json.Marshal(landJob{s, a.ID})
	if err != nil {
		t.Fatal(err)
	}
	victim, out := start(t, d.place, "dev", string(data))
	if !out.Scan() || out.Text() != "begins" {
		t.Fatalf("the process said %q", out.Text())
	}
	pid := childOf(t, a.Dir)
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // it was killed
	untilGone(t, pid)
	waittest.Until(t, "its end is told", func() (bool, any) {
		now, err := d.DevServer(t.Context(), a.ID)
		return err == nil && now != nil && now.Ended != "", now
	})
	if _, _, err := d.StartDevServer(t.Context(), a.ID, nil); err != nil {
		t.Errorf("it cannot be started again: %v", err)
	}
}

// A dev server that is not the attempt's, because another process was faster, leaves the
// log of that one alone.
func TestADevServerThatLosesLeavesTheLog(t *testing.T) {
	d := open(t, Repo{DevServer: "test -e ../again || echo first; touch ../again"}, settings{})
	s := d.ended(d.start("write a.txt one").AttemptID)
	_, done, err := d.StartDevServer(t.Context(), s.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-done
	err = d.db.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), "CREATE TRIGGER lose BEFORE UPDATE ON dev_servers BEGIN SELECT RAISE(ABORT, 'lost'); END")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.StartDevServer(t.Context(), s.ID, nil); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Fatalf("the second dev server: %v", err)
	}
	if text, err := d.DevLog(s.ID, 10); err != nil || text != "first" {
		t.Errorf("the log is %q, %v", text, err)
	}
}
