package tasks_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// A sweep checks the work of a killed runner in its place.
func TestAttackWorkASweepFindsTheSecretsOfAKilledRun(t *testing.T) {
	for _, mode := range []box.Mode{box.None, box.Landlock, box.Bwrap} {
		t.Run(string(mode), func(t *testing.T) {
			if mode != box.None {
				needsBox(t, mode)
			}
			d := open(t, Repo{}, settings{Lease: time.Minute, Sandbox: mode})
			started := d.start(committing, "run touch ../committed", "hang")
			told := filepath.Join(d.attempt(started.AttemptID).Dir, "committed")
			d.until(started.AttemptID, "committed", func(AttemptStatus) bool { return exists(told) })
			pid := d.running(started.AttemptID).runner
			if pid <= 1 || syscall.Kill(pid, syscall.SIGKILL) != nil {
				t.Fatalf("runner %d cannot be killed", pid)
			}
			await(t, "the end of the runner", func() bool { return dead(pid) })
			if err := d.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			file := d.repo.Name + "/k.txt:1"
			s := d.ended(started.AttemptID)
			if want := "committed by the agent: " + file + " has what looks like a token of GitHub"; s.Failure != "lost: its runner died" || strings.Join(s.Work.Notes, ";") != want {
				t.Errorf("Status = %+v, %s; want the note %q", s.Work, s.Failure, want)
			}
			git(t, d.repo.Path, "config", "user.name", "Ada")
			git(t, d.repo.Path, "config", "user.email", "ada@example.com")
			_, err := d.Land(t.Context(), LandRequest{AttemptID: s.ID, How: worktree.Merge})
			held(t, "Land", err, file)
		})
	}
}
