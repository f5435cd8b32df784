package tasks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestCollectedWorktreesComeBack checks that gc removes the folder and keeps the
// branch, and that a follow-up restores the folder with a new setup.
func TestCollectedWorktreesComeBack(t *testing.T) {
	d := open(t, Repo{Setup: "echo x >> ../setups"}, settings{})
	ctx := t.Context()
	started := d.start("write a.txt one", "run cat ../setups")
	s := d.ended(started.AttemptID)
	gc := func(g GC) GCItem {
		t.Helper()
		report, err := d.GC(ctx, g)
		if err != nil || len(report.Worktrees) != 1 || report.Bytes == 0 {
			t.Fatalf("GC(%+v) = %+v, %v; want one worktree", g, report, err)
		}
		return report.Worktrees[0]
	}
	if item := gc(GC{}); item.Removed || item.Kept == "" || !exists(s.Dir) {
		t.Errorf("GC of one that was just used = %+v", item)
	}
	if item := gc(GC{OlderThan: time.Nanosecond, DryRun: true}); !item.Removed || !exists(s.Dir) {
		t.Errorf("GC as a dry run = %+v, and the folder exists: %v", item, exists(s.Dir))
	}
	write(t, filepath.Join(s.Dir, d.repo.Name, "mine.txt"), "not committed")
	if item := gc(GC{OlderThan: time.Nanosecond}); item.Removed || !strings.Contains(item.Kept, "uncommitted changes") || !exists(s.Dir) {
		t.Errorf("GC of one with changes = %+v", item)
	}
	if err := os.Remove(filepath.Join(s.Dir, d.repo.Name, "mine.txt")); err != nil {
		t.Fatal(err)
	}
	if item := gc(GC{OlderThan: time.Nanosecond}); !item.Removed || exists(s.Dir) {
		t.Errorf("GC = %+v, and the folder exists: %v", item, exists(s.Dir))
	}
	git(t, d.repo.Path, "rev-parse", "--verify", started.Branch)
	if changes, err := d.Changes(ctx, started.AttemptID, false); err != nil || changes.Blocked.Reason != "" || len(changes.Files) != 1 || changes.Bytes == 0 {
		t.Errorf("Changes without a worktree = %+v, %v; want what is on the branch", changes, err)
	}
	f, err := d.FollowUp(ctx, FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "run cat a.txt"})
	if err != nil {
		t.Fatal(err)
	}
	d.ended(started.AttemptID)
	processes, err := d.Processes(ctx, started.AttemptID)
	if err != nil || len(processes) != 4 || processes[2].Reason != Setup || processes[2].ID != f.ProcessID || processes[3].State != Completed {
		t.Errorf("Processes = %+v, %v; want setup and agent again", processes, err)
	}
	if out := d.entries(started.AttemptID, Raw); len(out) == 0 || out[0] != "one" {
		t.Errorf("the agent read %q from the branch, want one", out)
	}
}

// A folder that cannot be removed is not tried again at each sweep.
func TestAFolderThatCannotBeTakenAwayIsTriedOnce(t *testing.T) {
	d := open(t, Repo{}, settings{})
	stuck, other := d.start("write a.txt one"), d.start("write b.txt two")
	s := d.ended(stuck.AttemptID)
	d.ended(other.AttemptID)
	if err := os.Remove(filepath.Join(s.Dir, ".deskhand-attempt")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.Dir, "mine.txt"), "of somebody else")
	if err := d.DeleteTask(t.Context(), stuck.TaskID); err == nil || !strings.Contains(err.Error(), "was not removed") {
		t.Errorf("DeleteTask = %v, want why its folder is there", err)
	}
	if err := d.Sweep(t.Context()); err != nil {
		t.Errorf("Sweep = %v, want it left alone for a while", err)
	}
	if err := d.DeleteTask(t.Context(), other.TaskID); err != nil {
		t.Errorf("DeleteTask of another = %v", err)
	}
	if !exists(filepath.Join(s.Dir, "mine.txt")) {
		t.Error("the file of somebody else is gone")
	}
}

func TestADeletedTaskLeavesItsBranch(t *testing.T) {
	d := open(t, Repo{}, settings{})
	ctx := t.Context()
	started := d.start("write a.txt one", "sleep 0.3")
	s := d.until(started.AttemptID, "began", func(s AttemptStatus) bool { return s.SessionID != "" })
	refused(t, "DeleteTask of one that runs", d.DeleteTask(ctx, started.TaskID), TaskRunning)
	d.ended(started.AttemptID)
	write(t, filepath.Join(s.Dir, d.repo.Name, "mine.txt"), "not committed")
	empty := d.start("say nothing")
	d.ended(empty.AttemptID)
	for _, a := range []Started{started, empty} {
		if err := d.DeleteTask(ctx, a.TaskID); err != nil {
			t.Fatal(err)
		}
		_, err := d.Status(ctx, a.AttemptID)
		refused(t, "Status of a deleted attempt", err, NotFound)
	}
	if exists(s.Dir) || exists(filepath.Join(d.options.Dir, "runs", started.ProcessID)) {
		t.Error("the folder or the spool of a deleted attempt is still there")
	}
	if got := git(t, d.repo.Path, "ls-tree", "--name-only", started.Branch); got != "README.md\na.txt\nmine.txt" {
		t.Errorf("the branch has %q", got)
	}
	if got := git(t, d.repo.Path, "branch", "--list", empty.Branch); got != "" {
		t.Errorf("a branch without commits is left: %q", got)
	}
	if got := git(t, d.repo.Path, "status", "--porcelain"); got != "" {
		t.Errorf("the user's repository has changes: %q", got)
	}
}
