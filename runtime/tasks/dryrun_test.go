package tasks_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// A dry run refuses what would fail: it said before that work would land, be applied, be
// checked out, be undone or be released where git or a check refused it afterwards.
func TestADryRunRefusesWhatWouldFail(t *testing.T) {
	d := openAs(t, settings{})
	s := d.ended(d.start("write a.txt one").AttemptID)
	land := func(dry bool) error {
		_, err := d.Land(t.Context(), LandRequest{AttemptID: s.ID, How: worktree.Squash, DryRun: dry})
		return err
	}
	apply := func(dry bool) error { _, err := d.Apply(t.Context(), s.ID, dry, Allowance{}); return err }
	checkOut := func(dry bool) error { _, err := d.CheckOut(t.Context(), s.ID, dry); return err }
	release := func(dry bool) error { _, err := d.Release(t.Context(), s.ID, dry); return err }
	undo := func(dry bool) error { _, err := d.Undo(t.Context(), s.ID, dry); return err }
	both := func(what string, do func(dry bool) error, want string) {
		t.Helper()
		refused(t, "a dry run of "+what, do(true), want)
		refused(t, what, do(false), want)
	}
	done := func(what string, do func(dry bool) error) {
		t.Helper()
		for _, dry := range []bool{true, false} {
			if err := do(dry); err != nil {
				t.Fatalf("%s, dry run %t: %v", what, dry, err)
			}
		}
	}

	mine := filepath.Join(d.repo.Path, "a.txt")
	put(t, mine, "mine\n")
	both("Land", land, worktree.UntrackedInTheWay)
	both("Apply", apply, worktree.UntrackedInTheWay)
	both("CheckOut", checkOut, worktree.UntrackedInTheWay)
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}

	done("CheckOut", checkOut)
	put(t, mine, "changed\n")
	both("Release", release, worktree.TargetDirty)
	git(t, d.repo.Path, "checkout", "-q", "a.txt")
	done("Release", release)

	done("Land", land)
	git(t, d.repo.Path, "commit", "-q", "--allow-empty", "-m", "built on it")
	both("Undo", undo, worktree.TargetMoved)
	git(t, d.repo.Path, "reset", "-q", "--hard", "HEAD~1")
	done("Undo", undo)

	hook := filepath.Join(d.repo.Path, ".git", "hooks", "pre-commit")
	put(t, hook, "#!/bin/sh\n")
	if err := os.Chmod(hook, 0o700); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(hook); err == nil && info.Mode()&0o100 != 0 { // Windows has no such bit
		both("Land with a hook that nobody trusts", land, worktree.HooksChanged)
	}
}

// gc deletes the branch of work that has landed. An undo and a follow-up bring it back.
func TestABranchThatWasDeletedAfterItsLandingComesBack(t *testing.T) {
	d := openAs(t, settings{})
	s := d.ended(d.start("write a.txt one").AttemptID)
	landAndCollect := func() {
		t.Helper()
		if _, err := d.Land(t.Context(), LandRequest{AttemptID: s.ID, How: worktree.Squash}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.GC(t.Context(), GC{AttemptID: s.ID, OlderThan: time.Nanosecond}); err != nil {
			t.Fatal(err)
		}
		if got := git(t, d.repo.Path, "branch", "--list", s.Branch); got != "" {
			t.Fatalf("the branch is there: %s", got)
		}
	}
	landAndCollect()
	if _, err := d.Undo(t.Context(), s.ID, false); err != nil {
		t.Fatal(err)
	}
	if got := git(t, d.repo.Path, "show", s.Branch+":a.txt"); got != "one" {
		t.Errorf("after an undo, the branch has %q", got)
	}
	landAndCollect()
	if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: s.ID, Prompt: "write b.txt two"}); err != nil {
		t.Fatal(err)
	}
	if s = d.ended(s.ID); s.State != Completed || git(t, d.repo.Path, "show", s.Branch+":b.txt") != "two" {
		t.Errorf("after a follow-up the attempt is %+v", s)
	}
}

// A dry run, and the forecast of conflicts, take work into account that is not committed
// and that the run commits first. A dry run said before that there was nothing to land,
// or that nothing conflicts, and refused to discard what the run discards.
func TestADryRunSeesWorkThatIsNotCommitted(t *testing.T) {
	d := openAs(t, settings{})
	s := d.ended(d.start("write a.txt one", "fail it went wrong").AttemptID)
	if s.State != Failed || s.Work.State != OffBranch {
		t.Fatalf("Status = %+v, want work that is not committed", s)
	}
	dir := filepath.Join(s.Dir, d.repo.Name)
	uncommitted := func() {
		t.Helper()
		if got := git(t, dir, "status", "--porcelain"); got != "?? a.txt" {
			t.Fatalf("a dry run left %q", got)
		}
	}
	q := LandRequest{AttemptID: s.ID, How: worktree.Squash, DryRun: true}
	for name, dry := range map[string]func() (int, error){
		"Land":     func() (int, error) { l, err := d.Land(t.Context(), q); return len(l.Moves), err },
		"Apply":    func() (int, error) { a, err := d.Apply(t.Context(), s.ID, true, Allowance{}); return len(a.Dirs), err },
		"CheckOut": func() (int, error) { v, err := d.CheckOut(t.Context(), s.ID, true); return len(v.Visits), err },
		"Discard":  func() (int, error) { k, err := d.Discard(t.Context(), s.ID, true); return len(k.Kept), err },
		"Pick":     func() (int, error) { l, _, err := d.Pick(t.Context(), q); return len(l.Moves), err },
	} {
		if n, err := dry(); err != nil || n != 1 {
			t.Errorf("a dry run of %s = %d, %v; want one repository", name, n, err)
		}
		uncommitted()
	}

	put(t, filepath.Join(d.repo.Path, "a.txt"), "mine\n")
	git(t, d.repo.Path, "add", "-A")
	git(t, d.repo.Path, "commit", "-q", "-m", "mine")
	if s, err := d.Status(t.Context(), s.ID); err != nil || len(s.Distances) != 1 || s.Distances[0].Ahead != 0 || len(s.Distances[0].Conflicts) != 1 {
		t.Errorf("Status = %+v, %v; want one conflict and no commit", s.Distances, err)
	}
	_, err := d.Land(t.Context(), q)
	refused(t, "a dry run of Land with a conflict", err, worktree.Conflicts)
	_, err = d.Update(t.Context(), UpdateRequest{AttemptID: s.ID, How: worktree.Merge, DryRun: true})
	refused(t, "a dry run of Update with a conflict", err, worktree.Conflicts)
	uncommitted()
	q.DryRun = false
	_, err = d.Land(t.Context(), q)
	refused(t, "Land with a conflict", err, worktree.Conflicts)
}

// Discarding names the refs that keep commits, in a dry run too: those of the branch, of
// commits that are on no branch, and of work that is not committed yet.
func TestDiscardNamesTheRefsThatKeepCommits(t *testing.T) {
	d := openAs(t, settings{})
	s := d.ended(d.start("write a.txt one").AttemptID)
	dir := filepath.Join(s.Dir, d.repo.Name)
	git(t, dir, "checkout", "-q", "--detach")
	git(t, dir, append(strings.Fields(as), "commit", "-q", "--allow-empty", "-m", "beside")...)
	beside := git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "checkout", "-q", "--detach", s.Branch) // the commit is only in the log of HEAD
	dry, err := d.Discard(t.Context(), s.ID, true)
	if err != nil || len(dry.Kept) != 2 || !strings.Contains(strings.Join(dry.Kept, " "), beside[:12]) {
		t.Fatalf("a dry run = %+v, %v; want the refs of two commits", dry, err)
	}
	done, err := d.Discard(t.Context(), s.ID, false)
	if err != nil || !slices.Equal(dry.Kept, done.Kept) {
		t.Errorf("Discard = %+v, %v; the dry run said %v", done, err, dry.Kept)
	}
	for _, kept := range done.Kept {
		_, ref, _ := strings.Cut(kept, " ")
		git(t, d.repo.Path, "rev-parse", "--verify", ref)
	}

	s = d.ended(d.start("write b.txt two", "fail it went wrong").AttemptID)
	dry, err = d.Discard(t.Context(), s.ID, true)
	if err != nil || len(dry.Kept) != 1 || !strings.HasSuffix(dry.Kept[0], "/*") {
		t.Errorf("a dry run with work that is not committed = %+v, %v", dry, err)
	}
	done, err = d.Discard(t.Context(), s.ID, false)
	if err != nil || len(done.Kept) != 1 {
		t.Fatalf("Discard = %+v, %v", done, err)
	}
	_, ref, _ := strings.Cut(done.Kept[0], " ")
	if got := git(t, d.repo.Path, "show", ref+":b.txt"); got != "two" {
		t.Errorf("%s has %q", ref, got)
	}

	s = d.ended(d.start("write c.txt three").AttemptID)
	git(t, filepath.Join(s.Dir, d.repo.Name), "checkout", "-q", "--detach")
	git(t, d.repo.Path, "checkout", "-q", s.Branch)
	for _, dry := range []bool{true, false} {
		_, err = d.Discard(t.Context(), s.ID, dry)
		refused(t, "Discard of a branch that the user has checked out", err, worktree.BranchInUse)
	}
	if !exists(s.Dir) {
		t.Error("the folder is gone")
	}
}

// A branch that was to be kept when its work landed stays when its task is deleted.
func TestAKeptBranchOutlivesItsTask(t *testing.T) {
	d := openAs(t, settings{})
	started := d.start("write a.txt one")
	d.ended(started.AttemptID)
	if _, err := d.Land(t.Context(), LandRequest{AttemptID: started.AttemptID, How: worktree.Merge, KeepBranch: true}); err != nil {
		t.Fatal(err)
	}
	if err := d.DeleteTask(t.Context(), started.TaskID); err != nil {
		t.Fatal(err)
	}
	if got := git(t, d.repo.Path, "branch", "--list", "--format=%(refname:short)", started.Branch); got != started.Branch {
		t.Error("the branch is gone")
	}
}

// Work that is not committed is part of a conflict that the agent resolves.
func TestResolveCommitsFirst(t *testing.T) {
	d := openAs(t, settings{})
	s := d.ended(d.start("write a.txt one", "fail it went wrong").AttemptID)
	put(t, filepath.Join(d.repo.Path, "a.txt"), "mine\n")
	git(t, d.repo.Path, "add", "-A")
	git(t, d.repo.Path, "commit", "-q", "-m", "mine")
	_, conflicts, err := d.Resolve(t.Context(), s.ID, "", false)
	if err != nil || len(conflicts) != 1 {
		t.Fatalf("Resolve found %v, %v; want one conflict", conflicts, err)
	}
	d.ended(s.ID)
	if got := git(t, filepath.Join(s.Dir, d.repo.Name), "status", "--porcelain"); got != "" {
		t.Errorf("the agent began with %q", got)
	}
}
