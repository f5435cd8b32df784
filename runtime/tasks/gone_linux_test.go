package tasks_test

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
)

func TestARunnerWhoseFolderIsDeletedEnds(t *testing.T) {
	d := &desk{t: t, options: Options{Dir: t.TempDir(), MaxRunning: -1}, place: t.TempDir()}
	d.Manager, d.db = peerAndStore(t, d.place, d.options)
	d.project, d.repo = project(t, d.Manager, Repo{})
	started := d.start("run trap '' INT TERM; sleep 600 & sleep 600")
	ended := make(chan error, 1)
	go func() { ended <- d.Run(t.Context(), started.ProcessID) }()
	d.until(started.AttemptID, "an agent", func(AttemptStatus) bool { return len(inside(started.AttemptID)) > 2 })
	if err := os.RemoveAll(d.options.Dir); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), d.options.Dir) || !strings.Contains(err.Error(), "was deleted while it ran") {
			t.Errorf("Run = %v, want it to say what was deleted", err)
		}
	case <-time.After(10 * time.Second):
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
