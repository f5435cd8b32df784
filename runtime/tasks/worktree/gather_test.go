package worktree

import (
	"os"
	"path/filepath"
	"testing"
)

// bench.md 1.9: work outside the branch could only be moved there by hand.
func TestGatherBringsWorkOntoTheBranch(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, dir string)
		has  []string // files in the branch's last commit
		code string
	}{
		"a detached head": {func(t *testing.T, dir string) {
			shell(t, dir, "checkout", "-q", "--detach")
			commitIn(t, dir, "a.txt")
			put(t, filepath.Join(dir, "b.txt"), "b")
		}, []string{"a.txt", "b.txt"}, ""},
		"another branch": {func(t *testing.T, dir string) {
			shell(t, dir, "checkout", "-q", "-b", "other")
			commitIn(t, dir, "a.txt")
		}, []string{"a.txt"}, ""},
		"a branch that is gone": {func(t *testing.T, dir string) {
			branch := shell(t, dir, "symbolic-ref", "--short", "HEAD")
			shell(t, dir, "checkout", "-q", "--detach")
			shell(t, dir, "branch", "-q", "-D", branch)
			commitIn(t, dir, "a.txt")
		}, []string{"a.txt"}, ""},
		"a branch that is gone while it is checked out": {func(t *testing.T, dir string) {
			commitIn(t, dir, "a.txt")
			put(t, filepath.Join(dir, "b.txt"), "b")
			shell(t, dir, "update-ref", "-d", shell(t, dir, "symbolic-ref", "HEAD"))
		}, []string{"a.txt", "b.txt"}, ""},
		"files":   {func(t *testing.T, dir string) { put(t, filepath.Join(dir, "a.txt"), "a") }, []string{"a.txt"}, ""},
		"nothing": {func(t *testing.T, dir string) {}, []string{"readme.md"}, ""},
		"both have gone on": {func(t *testing.T, dir string) {
			shell(t, dir, "checkout", "-q", "-b", "other")
			commitIn(t, dir, "a.txt")
			shell(t, dir, "checkout", "-q", "-")
			commitIn(t, dir, "b.txt")
			shell(t, dir, "checkout", "-q", "other")
		}, nil, "head_moved"},
		"a merge": {works["a merge with nothing to commit"].setUp, nil, "head_moved"},
	} {
		t.Run(name, func(t *testing.T) {
			private(t)
			repo := repository(t, "app")
			tree := attempt(t, repo)
			c.do(t, filepath.Join(tree.Dir, "app"))
			_, err := tree.Gather(t.Context(), "gather")
			if c.code != "" {
				wantFault(t, "Gather", err, c.code)
				return
			}
			if err != nil {
				t.Fatalf("Gather = %v", err)
			}
			s, err := tree.Standing(t.Context())
			if err != nil || len(s.Off) > 0 {
				t.Errorf("Standing = %+v, %v; want all on the branch", s, err)
			}
			shell(t, repo, "merge-base", tree.Branch, "HEAD") // fails if they have no common commit
			for _, file := range c.has {
				shell(t, repo, "cat-file", "-e", tree.Branch+":"+file)
				if _, err := os.Stat(filepath.Join(tree.Dir, "app", file)); err != nil {
					t.Error(err)
				}
			}
			if err := tree.Remove(t.Context(), false); err != nil {
				t.Errorf("Remove = %v", err)
			}
		})
	}
}

func (w work) setUp(t *testing.T, dir string) { w.do(t, dir) }
