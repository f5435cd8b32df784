package tasks_test

import (
	"os"
	"path/filepath"
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
