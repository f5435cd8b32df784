package worktree

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// unsaved is work that is not on the branch, beside that in works.
var unsaved = map[string]func(t *testing.T, tree Tree){
	"nothing": func(*testing.T, Tree) {},
	"a new and a changed file": func(t *testing.T, tree Tree) {
		put(t, filepath.Join(tree.Dir, "app", "new.txt"), "n\n")
		put(t, filepath.Join(tree.Dir, "app", "src", "a.go"), "package b\n")
	},
	"a file that conflicts with the target": func(t *testing.T, tree Tree) {
		put(t, filepath.Join(tree.Dir, "app", "readme.md"), "zero\n")
	},
	"a file that conflicts, on a detached head": func(t *testing.T, tree Tree) {
		shell(t, filepath.Join(tree.Dir, "app"), "checkout", "-q", "--detach")
		commitIn(t, filepath.Join(tree.Dir, "app"), "a.txt")
		put(t, filepath.Join(tree.Dir, "app", "readme.md"), "zero\n")
	},
	"a file on another branch": func(t *testing.T, tree Tree) {
		shell(t, filepath.Join(tree.Dir, "app"), "checkout", "-q", "-b", "other")
		put(t, filepath.Join(tree.Dir, "app", "new.txt"), "n\n")
	},
	"a head beside the branch": func(t *testing.T, tree Tree) {
		dir := filepath.Join(tree.Dir, "app")
		commitIn(t, dir, "a.txt")
		shell(t, dir, "checkout", "-q", "--detach", "HEAD~1")
		commitIn(t, dir, "b.txt")
	},
	"a branch that was deleted under the worktree": func(t *testing.T, tree Tree) {
		dir := filepath.Join(tree.Dir, "app")
		commitIn(t, dir, "a.txt")
		shell(t, dir, "update-ref", "-d", "refs/heads/"+tree.Branch)
		put(t, filepath.Join(dir, "new.txt"), "n\n")
	},
	"files that were deleted, renamed and staged": func(t *testing.T, tree Tree) {
		dir := filepath.Join(tree.Dir, "app")
		os.Remove(filepath.Join(dir, "old.txt"))
		shell(t, dir, "mv", "moved.txt", "src/moved.txt")
		put(t, filepath.Join(dir, "staged.txt"), "s\n")
		shell(t, dir, "add", "staged.txt")
		put(t, filepath.Join(dir, "intended.txt"), "i\n")
		shell(t, dir, "add", "-N", "intended.txt")
	},
	"a conflict without a merge": func(t *testing.T, tree Tree) {
		dir := filepath.Join(tree.Dir, "app")
		put(t, filepath.Join(dir, "readme.md"), "mine\n")
		shell(t, dir, "stash", "-q")
		put(t, filepath.Join(dir, "readme.md"), "committed\n")
		shell(t, dir, "commit", "-q", "-a", "-m", "other")
		run(command(t.Context(), dir, "stash", "pop")) // fails with the conflict
	},
	"the same change as the target": func(t *testing.T, tree Tree) {
		put(t, filepath.Join(tree.Dir, "app", "readme.md"), "one\ntwo\nthree\nfour\n")
	},
	"something secret": func(t *testing.T, tree Tree) {
		put(t, filepath.Join(tree.Dir, "app", "key.txt"), "SECRET\n")
	},
	"an ignored file where the target has one": func(t *testing.T, tree Tree) {
		put(t, filepath.Join(tree.Dir, "app", ".gitignore"), "theirs.txt\n")
		put(t, filepath.Join(tree.Dir, "app", "theirs.txt"), "mine\n")
	},
	"a file where the target has one": func(t *testing.T, tree Tree) {
		put(t, filepath.Join(tree.Dir, "app", "theirs.txt"), "mine\n")
	},
	"an untracked file in the user's checkout": func(t *testing.T, tree Tree) {
		put(t, filepath.Join(tree.Dir, "app", "new.txt"), "n\n")
		put(t, filepath.Join(tree.Repos[0].Path, "new.txt"), "mine\n")
	},
	"changes in the user's checkout": func(t *testing.T, tree Tree) {
		put(t, filepath.Join(tree.Dir, "app", "new.txt"), "n\n")
		put(t, filepath.Join(tree.Repos[0].Path, "readme.md"), "mine\n")
	},
	"a filter of the agent": func(t *testing.T, tree Tree) {
		dir := filepath.Join(tree.Dir, "app")
		shell(t, dir, "config", "filter.bad.clean", "touch "+filepath.Join(tree.Dir, "ran"))
		put(t, filepath.Join(dir, ".gitattributes"), "*.txt filter=bad\n")
		put(t, filepath.Join(dir, "new.txt"), "n\n")
	},
	"a lock that a killed git left": func(t *testing.T, tree Tree) {
		dir := filepath.Join(tree.Dir, "app")
		put(t, filepath.Join(dir, "new.txt"), "n\n")
		put(t, shell(t, dir, "rev-parse", "--path-format=absolute", "--git-path", "index.lock"), "")
	},
	"a change that only its time does not show": func(t *testing.T, tree Tree) {
		dir := filepath.Join(tree.Dir, "app")
		index := shell(t, dir, "rev-parse", "--path-format=absolute", "--git-path", "index")
		at := time.Now().Add(-time.Hour).Truncate(time.Second)
		file := filepath.Join(dir, "readme.md")
		os.Chtimes(file, at, at)
		shell(t, dir, "update-index", "-q", "--refresh")
		put(t, file, "ONE\ntwo\nthree\n") // the size stays the same
		os.Chtimes(file, at, at)
		os.Chtimes(index, at, at)
	},
}

// TestADryRunSaysWhatTheRunDoes plans with work that is not on the branch, commits that
// work, and plans again: both plans move the same branches to the same files, or give
// the same error. Until the commit, nothing has changed.
func TestADryRunSaysWhatTheRunDoes(t *testing.T) {
	cases := maps.Clone(unsaved)
	for name, w := range works {
		if w.off == "" {
			continue
		}
		cases[name] = func(t *testing.T, tree Tree) { w.do(t, filepath.Join(tree.Dir, "app")) }
	}
	secret := func(text []byte) string {
		if bytes.Contains(text, []byte("SECRET")) {
			return "a secret"
		}
		return ""
	}
	for name, do := range cases {
		t.Run(name, func(t *testing.T) {
			private(t)
			repo := repository(t, "app")
			tree := attempt(t, repo)
			put(t, filepath.Join(repo, "readme.md"), "one\ntwo\nthree\nfour\n")
			put(t, filepath.Join(repo, "theirs.txt"), "theirs\n")
			shell(t, repo, "add", "-A")
			shell(t, repo, "commit", "-q", "-m", "of the user")
			do(t, tree)

			before := stateOf(t, tree)
			planned, done, err := tree.Foresee(t.Context(), secret)
			defer done()
			would := []string{fmt.Sprint(err)}
			if err == nil {
				would = plansOf(t, planned)
			}
			foreseen, end, _ := tree.ForeseeCommit(t.Context(), secret)
			defer end()
			kept := discards(t, foreseen)
			if after := stateOf(t, tree); after != before {
				t.Errorf("the dry run changed\n%s\nto\n%s", before, after)
			}

			_, err = tree.Gather(t.Context(), "work", secret)
			does := []string{fmt.Sprint(err)}
			if err == nil {
				does = plansOf(t, tree)
			}
			if !slices.Equal(would, does) {
				t.Errorf("a dry run says\n%s\nand a run\n%s", strings.Join(would, "\n"), strings.Join(does, "\n"))
			}
			if strings.Contains(name, "detached") || strings.Contains(name, "beside") || strings.Contains(name, "other") || strings.Contains(name, "another") || err != nil {
				return // Gather has moved the branch, which discarding does not
			}
			if got := discards(t, tree); got != kept {
				t.Errorf("a dry run of discarding says\n%s\nand a run\n%s", kept, got)
			}
			if _, err := os.Stat(filepath.Join(tree.Dir, "ran")); err == nil {
				t.Error("a program of the agent ran")
			}
		})
	}
}

// plansOf describes what each way to bring work back would do, without the IDs of new
// commits.
func plansOf(t *testing.T, tree Tree) (said []string) {
	add := func(what string, moves []Move, err error) {
		for _, m := range moves {
			said = append(said, fmt.Sprintf("%s: %s of %s, checked out in %q, to the files %s", what, m.Branch, m.Name, m.Dir, shell(t, m.Path, "rev-parse", m.After+"^{tree}")))
		}
		text := fmt.Sprint(err)
		if i := strings.Index(text, ", in commit "); i >= 0 {
			text = text[:i]
		}
		said = append(said, what+": "+text)
	}
	author := Author{Message: "Fix it"}
	for _, how := range []How{Squash, Rebase, FastForward} {
		l, err := tree.Land(t.Context(), how, "", author)
		add("land by "+string(how), l.Moves, err)
		for _, d := range l.Distances {
			said = append(said, fmt.Sprintf("%d ahead, %d behind, conflicts in %s", d.Ahead, d.Behind, d.Conflicts))
		}
	}
	l, err := tree.Land(t.Context(), Merge, tree.Branch, author)
	add("land into its own branch", l.Moves, err)
	for _, how := range []How{Merge, Rebase} {
		l, err := tree.Update(t.Context(), how, author)
		add("update by "+string(how), l.Moves, err)
	}
	steps, err := tree.Applying(t.Context())
	add("apply", steps, err)
	visits, err := tree.Visits(t.Context())
	return append(said, fmt.Sprint("check out: ", visits, " ", err))
}

// discards describes what discarding would keep.
func discards(t *testing.T, tree Tree) string {
	refs, err := tree.Discardable(t.Context())
	refs = append(refs, tree.Aside(t.Context())...)
	for i, ref := range refs {
		dir := filepath.Dir(ref)
		refs[i] = dir // the last part is the commit's ID
	}
	return fmt.Sprint(refs, " ", err)
}

// stateOf describes all of an attempt's state that a dry run could change: refs, HEAD,
// index and files.
func stateOf(t *testing.T, tree Tree) string {
	t.Helper()
	var b strings.Builder
	for _, r := range tree.Repos {
		for _, dir := range []string{r.Path, tree.path(r)} {
			index, _ := os.ReadFile(shell(t, dir, "rev-parse", "--path-format=absolute", "--git-path", "index"))
			head, _ := os.ReadFile(shell(t, dir, "rev-parse", "--path-format=absolute", "--git-path", "HEAD"))
			fmt.Fprintf(&b, "%s: HEAD %s, index %x\n%s\n", dir, head, index, shell(t, dir, "for-each-ref"))
			fmt.Fprintln(&b, shell(t, dir, "--no-optional-locks", "-c", "filter.bad.clean=cat", "status", "--porcelain", "--untracked-files=all", "--ignored"))
		}
	}
	return b.String()
}
