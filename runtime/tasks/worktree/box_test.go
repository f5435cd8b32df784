package worktree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// boxedAttempt returns an attempt whose agent runs in a sandbox.
func boxedAttempt(t *testing.T) (repo, dir string, tree Tree) {
	t.Helper()
	private(t)
	repo = repository(t, "app")
	tree = attempt(t, repo)
	dir = filepath.Join(tree.Dir, "app")
	enter(t, tree)
	return repo, dir, tree
}

func enter(t *testing.T, tree Tree) Box {
	t.Helper()
	b, err := tree.EnterBox(t.Context())
	if err != nil {
		t.Fatalf("EnterBox: %v", err)
	}
	return b
}

func leave(t *testing.T, tree Tree) []string {
	t.Helper()
	moved, err := tree.LeaveBox(t.Context())
	if err != nil {
		t.Fatalf("LeaveBox: %v", err)
	}
	if tree.InBox() {
		t.Error("there is a box after LeaveBox")
	}
	return moved
}

func TestWhatAnAgentCommitsInABoxComesHome(t *testing.T) {
	repo, dir, tree := boxedAttempt(t)
	before := state(t, repo)
	put(t, filepath.Join(dir, "new.txt"), "n\n")
	shell(t, dir, "add", "new.txt")
	shell(t, dir, "commit", "-q", "-m", "work of the agent")
	put(t, filepath.Join(dir, "staged.txt"), "s\n")
	shell(t, dir, "add", "staged.txt")
	put(t, filepath.Join(dir, "loose.txt"), "l\n")
	want := shell(t, dir, "rev-parse", "HEAD")
	if got := shell(t, repo, "rev-parse", tree.Branch); got == want {
		t.Error("the branch moved in the person's repository while the agent ran")
	}
	if c, err := tree.Changes(t.Context(), Balanced, true); err != nil || c.Summary.Files != 3 {
		t.Errorf("Changes while it runs = %+v, %v; want 3 files", c.Summary, err)
	}
	if moved := leave(t, tree); len(moved) > 0 {
		t.Errorf("LeaveBox says %q", moved)
	}
	if got := shell(t, repo, "rev-parse", tree.Branch); got != want {
		t.Errorf("the branch is at %s, want %s", got, want)
	}
	if got := shell(t, dir, "status", "--porcelain"); got != "A  staged.txt\n?? loose.txt" {
		t.Errorf("status = %q", got)
	}
	if n, err := tree.Commit(t.Context(), "rest"); n != 1 || err != nil {
		t.Errorf("Commit = %d, %v", n, err)
	}
	shell(t, repo, "fsck", "--strict")
	if after := state(t, repo); after != before {
		t.Errorf("the person's repository was\n%s\nand is\n%s", before, after)
	}
	if err := tree.Remove(t.Context(), false); err != nil {
		t.Errorf("Remove: %v", err)
	}
}

func TestRefsThatAnAgentMovesInABoxDoNotMove(t *testing.T) {
	repo, dir, tree := boxedAttempt(t)
	before := state(t, repo)
	put(t, filepath.Join(dir, "a.txt"), "a\n")
	shell(t, dir, "add", "-A")
	shell(t, dir, "commit", "-q", "-m", "a")
	shell(t, dir, "branch", "feature")
	shell(t, dir, "tag", "v9")
	shell(t, dir, "update-ref", "refs/heads/main", "HEAD")
	put(t, filepath.Join(dir, "a.txt"), "stashed once\n")
	shell(t, dir, "stash")
	put(t, filepath.Join(dir, "a.txt"), "stashed twice\n")
	shell(t, dir, "stash")
	at := shell(t, dir, "rev-parse", "HEAD")
	said := strings.Join(leave(t, tree), "\n")
	for _, want := range []string{"created refs/heads/feature", "moved refs/heads/main", "created refs/tags/v9", "created refs/stash-"} {
		if !strings.Contains(said, want) {
			t.Errorf("LeaveBox does not say %q:\n%s", want, said)
		}
	}
	if after := state(t, repo); after != before {
		t.Errorf("the person's repository was\n%s\nand is\n%s", before, after)
	}
	for _, ref := range []string{"heads/feature", "heads/main", "tags/v9"} {
		if got := shell(t, repo, "rev-parse", tree.keptRef(ref)); got != at {
			t.Errorf("%s is kept at %s, want %s", ref, got, at)
		}
	}
	kept := shell(t, repo, "for-each-ref", "--format=%(objectname)", tree.keptRef(""))
	if n := len(slices.Compact(slices.Sorted(slices.Values(strings.Fields(kept))))); n != 3 { // the commit and two stashes
		t.Errorf("%d commits are kept, want 3:\n%s", n, shell(t, repo, "for-each-ref"))
	}
	enter(t, tree) // the agent must find its branches again
	if got := shell(t, dir, "rev-parse", "feature"); got != at {
		t.Errorf("feature is %s in the next box, want %s", got, at)
	}
	if again := leave(t, tree); len(again) > 0 {
		t.Errorf("a box in which nothing happened: %q", again)
	}
}

func TestUnfinishedWorkOfABoxStaysUnfinished(t *testing.T) {
	for name, c := range map[string]struct {
		do  func(t *testing.T, dir string)
		off string
	}{
		"detached head": {func(t *testing.T, dir string) {
			shell(t, dir, "checkout", "-q", "--detach")
			shell(t, dir, "commit", "-q", "--allow-empty", "-m", "loose")
		}, "detached"},
		"another branch": {func(t *testing.T, dir string) {
			shell(t, dir, "checkout", "-q", "-b", "other")
			shell(t, dir, "commit", "-q", "--allow-empty", "-m", "there")
		}, "detached"},
		"a merge with conflicts": {func(t *testing.T, dir string) {
			shell(t, dir, "checkout", "-q", "-b", "side")
			put(t, filepath.Join(dir, "readme.md"), "side\n")
			shell(t, dir, "commit", "-qam", "side")
			shell(t, dir, "checkout", "-q", "deskhand/1f2e-fix-it")
			put(t, filepath.Join(dir, "readme.md"), "mine\n")
			shell(t, dir, "commit", "-qam", "mine")
			command(t.Context(), dir, "merge", "side").Output()
			merge := command(t.Context(), dir, "merge", "side")
			merge.Args = merge.line()
			merge.Run()
		}, "merge"},
	} {
		t.Run(name, func(t *testing.T) {
			repo, dir, tree := boxedAttempt(t)
			c.do(t, dir)
			head, status := shell(t, dir, "rev-parse", "HEAD"), shell(t, dir, "status", "--porcelain")
			leave(t, tree)
			if got := shell(t, dir, "rev-parse", "HEAD"); got != head {
				t.Errorf("HEAD is %s, want %s", got, head)
			}
			if got := shell(t, dir, "status", "--porcelain"); got != status {
				t.Errorf("status is %q, want %q", got, status)
			}
			s, err := tree.Survey(t.Context())
			if err != nil || !strings.Contains(strings.Join(s.Off, ";"), c.off) {
				t.Errorf("Survey: off %q, %v; want %s", s.Off, err, c.off)
			}
			shell(t, repo, "fsck")
		})
	}
}

// A runner can be killed at any point, and an agent can leave anything behind.
func TestABoxThatWasCutShortComesHome(t *testing.T) {
	commit := func(t *testing.T, dir string) string {
		put(t, filepath.Join(dir, "a.txt"), "a\n")
		shell(t, dir, "add", "-A")
		shell(t, dir, "commit", "-q", "-m", "a")
		return shell(t, dir, "rev-parse", "HEAD")
	}
	for name, cut := range map[string]func(t *testing.T, repo, dir string, tree Tree) (want string){
		"before it was entered": func(t *testing.T, repo, dir string, tree Tree) string {
			want := shell(t, dir, "rev-parse", "HEAD")
			os.Remove(filepath.Join(tree.boxDir(tree.Repos[0]), boxEntered))
			return want
		},
		"while it was made": func(t *testing.T, repo, dir string, tree Tree) string {
			leave(t, tree)
			put(t, filepath.Join(tree.boxDir(tree.Repos[0])+boxNew, "common", "HEAD"), "half")
			return commit(t, dir)
		},
		"while the agent worked": func(t *testing.T, repo, dir string, tree Tree) string { return commit(t, dir) },
		"between the objects and the refs": func(t *testing.T, repo, dir string, tree Tree) string {
			want := commit(t, dir)
			if err := bringObjects(t.Context(), tree.Repos[0], filepath.Join(tree.boxDir(tree.Repos[0]), boxCommon)); err != nil {
				t.Fatal(err)
			}
			return want
		},
		"when all was home": func(t *testing.T, repo, dir string, tree Tree) string {
			want := commit(t, dir)
			if _, err := tree.bringHome(t.Context(), tree.Repos[0], tree.boxDir(tree.Repos[0])); err != nil {
				t.Fatal(err)
			}
			return want
		},
		"before the last step, and a person went on": func(t *testing.T, repo, dir string, tree Tree) string {
			commit(t, dir)
			box := tree.boxDir(tree.Repos[0])
			if _, err := tree.bringHome(t.Context(), tree.Repos[0], box); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(box, box+boxDone); err != nil {
				t.Fatal(err)
			}
			s, err := readBox(box + boxDone)
			if err != nil {
				t.Fatal(err)
			}
			if err := tree.point(tree.Repos[0], s.Admin); err != nil {
				t.Fatal(err)
			}
			shell(t, dir, "commit", "-q", "--allow-empty", "-m", "by the person")
			return shell(t, dir, "rev-parse", "HEAD")
		},
		"and the agent had replaced .git": func(t *testing.T, repo, dir string, tree Tree) string {
			want := commit(t, dir)
			os.Remove(filepath.Join(dir, ".git"))
			shell(t, dir, "init", "-q")
			return want
		},
		"and the agent had written a configuration": func(t *testing.T, repo, dir string, tree Tree) string {
			want := commit(t, dir)
			common := filepath.Join(tree.boxDir(tree.Repos[0]), boxCommon)
			ran := filepath.Join(t.TempDir(), "ran")
			put(t, filepath.Join(common, "config"), "[core]\n\tfsmonitor = touch "+ran+"\n\tsshCommand = touch "+ran+"\n[include]\n\tpath = /dev/zero\n")
			put(t, filepath.Join(common, "hooks", "reference-transaction"), "#!/bin/sh\ntouch "+ran+"\n")
			os.Chmod(filepath.Join(common, "hooks", "reference-transaction"), 0o755)
			t.Cleanup(func() {
				if _, err := os.Stat(ran); err == nil {
					t.Error("what the agent configured ran")
				}
			})
			return want
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo, dir, tree := boxedAttempt(t)
			before := state(t, repo)
			want := cut(t, repo, dir, tree)
			leave(t, tree)
			leave(t, tree)
			if got := shell(t, repo, "rev-parse", tree.Branch); got != want {
				t.Errorf("the branch is at %s, want %s", got, want)
			}
			if !tree.Present(t.Context()) || !strings.Contains(shell(t, dir, "rev-parse", "--absolute-git-dir"), filepath.Join(repo, ".git", "worktrees")) {
				t.Error("the folder is not the person's worktree again")
			}
			if after := state(t, repo); after != before {
				t.Errorf("the person's repository was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// A person's git commands in the repository work while an agent runs, and are not
// undone. git would stop at a worktree whose HEAD is a commit that it lacks.
func TestThePersonsGitWorksWhileABoxIsOpen(t *testing.T) {
	repo, dir, tree := boxedAttempt(t)
	upstream := filepath.Join(t.TempDir(), "up")
	shell(t, repo, "clone", "-q", repo, upstream)
	shell(t, upstream, "commit", "-q", "--allow-empty", "-m", "up")
	shell(t, dir, "checkout", "-q", "--detach")
	shell(t, dir, "commit", "-q", "--allow-empty", "-m", "loose")
	shell(t, repo, "fetch", "-q", upstream)
	shell(t, repo, "gc", "-q", "--prune=now")
	shell(t, repo, "worktree", "prune")
	leave(t, tree)
	shell(t, repo, "fsck")
	if s, err := tree.Survey(t.Context()); err != nil || len(s.Off) == 0 {
		t.Errorf("Survey = %+v, %v", s, err)
	}
}

// A branch that moved in the meantime stays, and so does the agent's.
func TestABranchThatMovedOutsideIsNotOverwritten(t *testing.T) {
	repo, dir, tree := boxedAttempt(t)
	shell(t, dir, "commit", "-q", "--allow-empty", "-m", "inside")
	inside := shell(t, dir, "rev-parse", "HEAD")
	shell(t, repo, "commit", "-q", "--allow-empty", "-m", "outside")
	outside := shell(t, repo, "rev-parse", "HEAD")
	shell(t, repo, "update-ref", "refs/heads/"+tree.Branch, outside)
	moved := leave(t, tree)
	if got := shell(t, repo, "rev-parse", tree.Branch); got != outside || len(moved) == 0 {
		t.Errorf("the branch is at %s, want %s; said %q", got, outside, moved)
	}
	if got := shell(t, repo, "rev-parse", tree.keptRef("heads/"+tree.Branch)); got != inside {
		t.Errorf("the agent's is kept at %s, want %s", got, inside)
	}
}

// If a lock was left behind, the branch has not moved. Nothing changes, and the work is
// copied when the lock is gone.
func TestABranchThatIsLockedWaits(t *testing.T) {
	repo, dir, tree := boxedAttempt(t)
	shell(t, dir, "commit", "-q", "--allow-empty", "-m", "inside")
	inside := shell(t, dir, "rev-parse", "HEAD")
	lock := filepath.Join(repo, ".git", "refs", "heads", filepath.FromSlash(tree.Branch)+".lock")
	put(t, lock, "")
	_, err := tree.LeaveBox(t.Context())
	if f := fault.Of(err); f == nil || f.Code != "box_broken" || !strings.Contains(f.Message, "is locked") || !strings.Contains(f.Hint, "remove "+lock) || !tree.InBox() {
		t.Errorf("LeaveBox = %v (%+v); a box is there: %v", err, fault.Of(err), tree.InBox())
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	moved := leave(t, tree)
	if got := shell(t, repo, "rev-parse", tree.Branch); got != inside || len(moved) > 0 {
		t.Errorf("the branch is at %s, want %s; said %q", got, inside, moved)
	}
}
