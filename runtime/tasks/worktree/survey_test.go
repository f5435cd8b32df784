package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// work is something that an agent does in a worktree. do returns the commits that it
// created.
type work struct {
	do func(t *testing.T, dir string) (commits []string)
	// removed and discarded report whether Remove and Discard may remove the folder.
	removed, discarded bool
	off                string // part of Survey.Off; empty if the work is on the branch
}

// commitIn commits a new file and returns the commit.
func commitIn(t *testing.T, dir, name string) string {
	t.Helper()
	put(t, filepath.Join(dir, name), name+"\n")
	shell(t, dir, "add", "-A")
	shell(t, dir, "commit", "-q", "-m", name)
	return shell(t, dir, "rev-parse", "HEAD")
}

var works = map[string]work{
	"a commit on the branch": {removed: true, discarded: true, do: func(t *testing.T, dir string) []string {
		return []string{commitIn(t, dir, "a.txt")}
	}},
	"a detached head": {discarded: true, off: "1 commit on a detached HEAD", do: func(t *testing.T, dir string) []string {
		shell(t, dir, "checkout", "-q", "--detach")
		return []string{commitIn(t, dir, "a.txt")}
	}},
	"a detached head where the branch is": {removed: true, discarded: true, do: func(t *testing.T, dir string) []string {
		shell(t, dir, "checkout", "-q", "--detach")
		return nil
	}},
	"a detached head that was left": {removed: true, discarded: true, do: func(t *testing.T, dir string) []string {
		shell(t, dir, "checkout", "-q", "--detach")
		one := commitIn(t, dir, "a.txt")
		two := commitIn(t, dir, "b.txt")
		shell(t, dir, "checkout", "-q", "-")
		return []string{one, two}
	}},
	"another branch": {discarded: true, off: "1 commit on branch other", do: func(t *testing.T, dir string) []string {
		shell(t, dir, "checkout", "-q", "-b", "other")
		return []string{commitIn(t, dir, "a.txt")}
	}},
	"a branch that is deleted": {discarded: true, off: "no longer exists", do: func(t *testing.T, dir string) []string {
		branch := shell(t, dir, "symbolic-ref", "--short", "HEAD")
		c := commitIn(t, dir, "a.txt")
		shell(t, dir, "checkout", "-q", "--detach")
		shell(t, dir, "branch", "-q", "-D", branch)
		return []string{c}
	}},
	"a merge with nothing to commit": {off: "a merge in progress", do: func(t *testing.T, dir string) []string {
		shell(t, dir, "checkout", "-q", "-b", "side")
		c := commitIn(t, dir, "a.txt")
		shell(t, dir, "checkout", "-q", "-")
		commitIn(t, dir, "b.txt")
		shell(t, dir, "merge", "-q", "-s", "ours", "--no-commit", "side")
		return []string{c}
	}},
	"a rebase": {off: "a rebase in progress", do: func(t *testing.T, dir string) []string {
		one := commitIn(t, dir, "a.txt")
		two := commitIn(t, dir, "b.txt")
		shell(t, dir, "-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "--no-ff", "HEAD~1")
		return []string{one, two, commitIn(t, dir, "c.txt")}
	}},
	"a ref of the worktree": {removed: true, discarded: true, do: func(t *testing.T, dir string) []string {
		c := shell(t, dir, "commit-tree", "-p", "HEAD", "-m", "hidden", "HEAD^{tree}")
		shell(t, dir, "update-ref", "refs/worktree/mine", c)
		return []string{c}
	}},
	"a stash": {removed: true, discarded: true, do: func(t *testing.T, dir string) []string {
		put(t, filepath.Join(dir, "readme.md"), "stashed\n")
		shell(t, dir, "stash", "-q")
		return []string{shell(t, dir, "rev-parse", "refs/stash")}
	}},
	"a file that is not committed": {off: "uncommitted changes: new.txt", do: func(t *testing.T, dir string) []string {
		put(t, filepath.Join(dir, "new.txt"), "n")
		return nil
	}},
	"a change that git does not look at": {off: "told to ignore", do: func(t *testing.T, dir string) []string {
		shell(t, dir, "update-index", "--skip-worktree", "readme.md")
		shell(t, dir, "update-index", "--assume-unchanged", "src/a.go")
		put(t, filepath.Join(dir, "readme.md"), "hidden\n")
		return nil
	}},
	"files that git does not look at, unchanged": {removed: true, discarded: true, do: func(t *testing.T, dir string) []string {
		shell(t, dir, "update-index", "--skip-worktree", "readme.md")
		shell(t, dir, "update-index", "--assume-unchanged", "src/a.go")
		return nil
	}},
	"a repository inside": {off: "nothing in it is on the branch", do: func(t *testing.T, dir string) []string {
		shell(t, dir, "init", "-q", "deep/tool")
		commitIn(t, filepath.Join(dir, "deep", "tool"), "a.txt")
		return nil
	}},
	"a repository inside without a commit": {off: "app/tool is a repository", do: func(t *testing.T, dir string) []string {
		shell(t, dir, "init", "-q", "tool")
		put(t, filepath.Join(dir, "tool", "a.txt"), "a")
		return nil
	}},
	"an ignored repository inside": {do: func(t *testing.T, dir string) []string {
		put(t, filepath.Join(dir, ".gitignore"), "tool\n")
		commitIn(t, dir, "b.txt")
		shell(t, dir, "init", "-q", "tool")
		commitIn(t, filepath.Join(dir, "tool"), "a.txt")
		return nil
	}},
	"an ignored clone that a tool made": {removed: true, discarded: true, do: func(t *testing.T, dir string) []string {
		put(t, filepath.Join(dir, ".gitignore"), "cache\n")
		c := commitIn(t, dir, "b.txt")
		from := repository(t, "library")
		shell(t, dir, "clone", "-q", from, "cache/library")
		return []string{c}
	}},
	"a repository added as a link": {do: func(t *testing.T, dir string) []string {
		shell(t, dir, "init", "-q", "tool")
		commitIn(t, filepath.Join(dir, "tool"), "a.txt")
		shell(t, dir, "-c", "advice.addEmbeddedRepo=false", "add", "tool")
		shell(t, dir, "commit", "-q", "-m", "tool")
		return nil
	}},
	"a worktree inside": {off: "app/wt is a repository", do: func(t *testing.T, dir string) []string {
		shell(t, dir, "worktree", "add", "-q", "--detach", "wt")
		commitIn(t, filepath.Join(dir, "wt"), "a.txt")
		return nil
	}},
	"objects that are borrowed from the folder": {do: func(t *testing.T, dir string) []string {
		store := filepath.Join(dir, "..", "store")
		shell(t, filepath.Dir(store), "init", "-q", "--bare", "store")
		common := shell(t, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
		put(t, filepath.Join(common, "objects", "info", "alternates"), filepath.Join(store, "objects")+"\n")
		return nil
	}},
}

// TestAttackWorkAFolderGoesOnlyIfEveryCommitStays: bench.md 1.2 b and c, and similar
// cases. Either the folder stays, or a ref reaches each commit.
func TestAttackWorkAFolderGoesOnlyIfEveryCommitStays(t *testing.T) {
	for name, w := range works {
		for how, remove := range map[string]func(Tree) error{
			"Remove":  func(tree Tree) error { return tree.Remove(t.Context(), false) },
			"Discard": func(tree Tree) error { return tree.Discard(t.Context()) },
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				private(t)
				repo := repository(t, "app")
				tree := attempt(t, repo)
				dir := filepath.Join(tree.Dir, "app")
				commits := w.do(t, dir)
				s, err := tree.Survey(t.Context())
				if err != nil {
					t.Fatalf("Survey: %v", err)
				}
				if off := strings.Join(s.Off, "; "); w.off == "" && off != "" || !strings.Contains(off, w.off) {
					t.Errorf("Survey.Off = %q, want %q", off, w.off)
				}
				want := w.removed
				if how == "Discard" {
					want = w.discarded
					if _, err := tree.Discardable(t.Context()); (err == nil) != want {
						t.Errorf("Discardable = %v, want %v", err, want)
					}
				} else if (len(s.Holds) == 0) != want {
					t.Errorf("Survey.Holds = %q, want the folder to go: %v", s.Holds, want)
				}
				err = remove(tree)
				if want && err != nil {
					t.Errorf("%s = %v", how, err)
				}
				if f := fault.Of(err); !want && (f == nil || f.Code != "worktree_dirty" || f.Hint == "") {
					t.Errorf("%s = %v, want worktree_dirty", how, err)
				}
				if _, err := os.Stat(dir); (err == nil) == want {
					t.Errorf("the folder is there: %v", err == nil)
				}
				if want {
					for _, c := range commits {
						if left := shell(t, repo, "rev-list", "--max-count=1", c, "--not", "--glob=*"); left != "" {
							t.Errorf("no ref leads to %s", c)
						}
					}
				}
			})
		}
	}
}

// TestAttackWorkCommitsOfASubmoduleStay: bench.md 1.2 a.
func TestAttackWorkCommitsOfASubmoduleStay(t *testing.T) {
	config := private(t)
	put(t, config, "[user]\n\tname = Ann\n\temail = ann@example.com\n[protocol \"file\"]\n\tallow = always\n")
	sub := repository(t, "sub")
	origin := repository(t, "app")
	shell(t, origin, "submodule", "--quiet", "add", sub, "libs/sub")
	shell(t, origin, "commit", "-q", "-m", "submodule")
	for name, c := range map[string]struct {
		clone, dirty bool
		removed      bool
	}{
		"that the repository has":           {removed: true},
		"that the repository has not":       {clone: true},
		"with changes that nobody commited": {dirty: true},
	} {
		t.Run(name, func(t *testing.T) {
			repo := filepath.Join(t.TempDir(), "app")
			if shell(t, t.TempDir(), "clone", "-q", origin, repo); !c.clone {
				shell(t, repo, "submodule", "--quiet", "update", "--init")
			}
			tree := attempt(t, repo)
			dir := filepath.Join(tree.Dir, "app")
			shell(t, dir, "submodule", "--quiet", "update", "--init")
			inner := filepath.Join(dir, "libs", "sub")
			left := commitIn(t, inner, "left.txt")
			shell(t, inner, "checkout", "-q", "HEAD~1")
			tip := commitIn(t, inner, "a.txt")
			if n, err := tree.Commit(t.Context(), "move"); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			if c.dirty {
				put(t, filepath.Join(inner, "readme.md"), "dirty\n")
			}
			// The fetch into the store runs no program from the store's configuration.
			ran, store := filepath.Join(t.TempDir(), "ran"), filepath.Join(repo, ".git", "modules", "libs", "sub")
			if _, err := os.Stat(store); err == nil {
				shell(t, repo, "config", "--file", filepath.Join(store, "config"), "core.alternateRefsCommand", "touch "+ran+"; true")
				put(t, filepath.Join(store, "objects", "info", "alternates"), filepath.Join(sub, ".git", "objects")+"\n")
			}
			s, err := tree.Survey(t.Context())
			if err != nil || (len(s.Holds) == 0) != c.removed {
				t.Errorf("Survey = %+v, %v; want it removed: %v", s, err, c.removed)
			}
			defer func() {
				if _, err := os.Stat(ran); err == nil {
					t.Error("a program that a submodule's configuration names ran")
				}
			}()
			if err := tree.Remove(t.Context(), false); (err == nil) != c.removed {
				t.Errorf("Remove = %v, want it removed: %v", err, c.removed)
			}
			if _, err := os.Stat(inner); (err != nil) != c.removed {
				t.Errorf("the folder is there: %v", err == nil)
			}
			if c.removed {
				for _, commit := range []string{left, tip} {
					store := filepath.Join(repo, ".git", "modules", "libs", "sub")
					if refs := shell(t, repo, "--git-dir="+store, "for-each-ref", "--contains="+commit, "refs/deskhand/kept/"); refs == "" {
						t.Errorf("no ref of %s leads to %s", store, commit)
					}
				}
				// A checkout of the branch can fetch the commit, as a person does after
				// a merge.
				shell(t, repo, "checkout", "-q", tree.Branch)
				shell(t, repo, "submodule", "--quiet", "update", "--init")
				if _, err := os.Stat(filepath.Join(repo, "libs", "sub", "a.txt")); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Ignored files are listed, except those that the person copied in.
func TestAttackWorkWhatGitIgnoresIsListed(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	put(t, filepath.Join(repo, ".env"), "KEY=1")
	put(t, filepath.Join(repo, ".local"), "KEY=2")
	tree := attempt(t, repo)
	dir := filepath.Join(tree.Dir, "app")
	put(t, filepath.Join(dir, ".gitignore"), "dist\n*.log\n.env\n")
	put(t, filepath.Join(dir, "dist", "a.js"), "a")
	put(t, filepath.Join(dir, "x.log"), "x")
	put(t, filepath.Join(tree.Dir, "notes.md"), "beside")
	var err error
	if tree.Repos[0].Copied, err = tree.CopyIn(t.Context(), tree.Repos[0], []string{".env", ".local"}); err != nil || len(tree.Repos[0].Copied) != 2 {
		t.Fatal(tree.Repos[0].Copied, err)
	}
	if _, err := tree.Commit(t.Context(), "ignore"); err != nil {
		t.Fatal(err)
	}
	s, err := tree.Survey(t.Context())
	if got := strings.Join(s.Ignored, " "); err != nil || got != "app/dist/ app/x.log notes.md" || len(s.Holds) > 0 {
		t.Errorf("Survey = %+v, %v", s, err)
	}
}
