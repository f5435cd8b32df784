package tasks_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/waittest"
)

func TestARunnerWhoseFolderIsDeletedEnds(t *testing.T) {
	var told bytes.Buffer
	d := &desk{t: t, options: Options{Dir: t.TempDir(), MaxRunning: -1, Log: slog.New(slog.NewTextHandler(&told, nil))}, place: t.TempDir()}
	d.Manager, d.db = peerAndStore(t, d.place, d.options)
	d.project, d.repo = project(t, d.Manager, Repo{})
	started := d.start("run trap '' INT TERM; sleep 600 & sleep 600")
	ended := make(chan error, 1)
	go func() { ended <- d.Run(t.Context()) }()
	d.until(started.AttemptID, "an agent", func(AttemptStatus) bool { return len(inside(started.AttemptID)) > 2 })
	if err := os.RemoveAll(d.options.Dir); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		d.Close() // nobody writes to the log any more
		if err != nil || !strings.Contains(told.String(), d.options.Dir) || !strings.Contains(told.String(), "was deleted while the attempt was running") {
			t.Errorf("Run = %v, the log is\n%s\nwant it to say what was deleted", err, &told)
		}
	case <-time.After(waittest.Patience):
		t.Fatal("the runner goes on")
	}
	if left := inside(started.AttemptID); len(left) > 0 {
		t.Errorf("processes %v go on", left)
	}
	if _, err := os.Stat(d.options.Dir); err == nil {
		t.Errorf("%s has come back", d.options.Dir)
	}
	s, err := d.Status(t.Context(), started.AttemptID)
	if err != nil || s.State != Failed || s.Failure != "failed: deskhand's folder was deleted" {
		t.Errorf("Status = %+v, %v", s, err)
	}
	d.unlocked()
}

// A daemon that an agent leaves running, for example a preview server, outlives a run
// that completed. It is stopped when the worktree is removed.
func TestADaemonEndsWithTheWorktree(t *testing.T) {
	d := open(t, Repo{}, settings{})
	for name, remove := range map[string]func(attemptID string) error{
		"gc":     func(string) error { _, err := d.GC(t.Context(), GC{OlderThan: time.Nanosecond}); return err },
		"delete": func(id string) error { s, _ := d.Status(t.Context(), id); return d.DeleteTask(t.Context(), s.TaskID) },
	} {
		t.Run(name, func(t *testing.T) {
			started := d.start(`run setsid sh -c 'echo $$ > pid; exec sleep 600' </dev/null >/dev/null 2>&1 & while [ ! -s pid ]; do sleep 0.01; done`)
			if s := d.ended(started.AttemptID); s.State != Completed || len(inside(started.AttemptID)) != 1 {
				t.Fatalf("Status = %+v with processes %v, want a daemon", s, inside(started.AttemptID))
			}
			if err := remove(started.AttemptID); err != nil {
				t.Fatal(err)
			}
			nobodyInside(t, started.AttemptID)
		})
	}
}

func TestAnAgentThatHasFilledTheDiskCanBeStopped(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("NOT TESTED: a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(small, syscall.MNT_DETACH) })
	d := openAt(t, small, Repo{}, settings{})
	started := d.start("run sleep 600 & sleep 600")
	d.until(started.AttemptID, "an agent", func(AttemptStatus) bool { return len(inside(started.AttemptID)) > 2 })
	full := filepath.Join(small, "full")
	if err := os.WriteFile(full, make([]byte, 8<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	_, err := d.Stop(t.Context(), started.AttemptID, false)
	if err != nil && !strings.Contains(err.Error(), "the agent was stopped") { // a small row may still fit
		t.Errorf("Stop on a full disk: %v, want the agent ended", err)
	}
	nobodyInside(t, started.AttemptID)
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	if s := d.ended(started.AttemptID); s.State != Failed {
		t.Errorf("Status = %+v, want it failed", s)
	}
	t.Logf("Stop on a full disk: %v", err)
}

// Such a daemon can be stopped without removing the worktree.
func TestStopEndsWhatAnAgentLeftRunning(t *testing.T) {
	d := open(t, Repo{}, settings{})
	started := d.start(`run setsid sh -c 'echo $$ > pid; exec sleep 600' </dev/null >/dev/null 2>&1 & while [ ! -s pid ]; do sleep 0.01; done`)
	if s := d.ended(started.AttemptID); s.State != Completed || len(inside(started.AttemptID)) != 1 {
		t.Fatalf("Status = %+v with processes %v, want a daemon", s, inside(started.AttemptID))
	}
	if got, err := d.Stop(t.Context(), started.AttemptID, false); err != nil || !got.Stopped || got.State != Completed {
		t.Errorf("Stop = %+v, %v", got, err)
	}
	nobodyInside(t, started.AttemptID)
	if got, err := d.Stop(t.Context(), started.AttemptID, false); err != nil || got.Stopped {
		t.Errorf("a second Stop = %+v, %v", got, err)
	}
}
