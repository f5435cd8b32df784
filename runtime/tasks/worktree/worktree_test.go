package worktree

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// shell runs git like a user, and fails the test on an error.
func shell(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q in %s: %v\n%s", args, dir, err, out)
	}
	return strings.TrimSpace(string(out))
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// private isolates the tests from the machine's configuration, and sets an author.
func private(t testing.TB) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "gitconfig")
	put(t, config, "[user]\n\tname = Ann\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	return config
}

// repository creates a repository with a commit on main.
func repository(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	shell(t, dir, "init", "-q", "-b", "main")
	put(t, filepath.Join(dir, "readme.md"), "one\ntwo\nthree\n")
	put(t, filepath.Join(dir, "src", "a.go"), "package a\n\nfunc A() {}\n")
	put(t, filepath.Join(dir, "old.txt"), "to be deleted\n")
	put(t, filepath.Join(dir, "moved.txt"), strings.Repeat("a line that stays\n", 20))
	shell(t, dir, "add", "-A")
	shell(t, dir, "commit", "-q", "-m", "first")
	return dir
}

// attempt creates an attempt with a worktree of each repository.
func attempt(t testing.TB, repos ...string) Tree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree := Tree{Dir: filepath.Join(dir, "attempts", "a1"), Branch: "deskhand/1f2e-fix-it"}
	for _, r := range repos {
		tree.Repos = append(tree.Repos, Repo{Name: filepath.Base(r), Path: r, Target: "main"})
	}
	tree.Repos, err = tree.Add(t.Context())
	if err != nil {
		t.Fatalf("Add: %v", err)
	}
	return tree
}

func wantFault(t testing.TB, call string, err error, code string) {
	t.Helper()
	if f := fault.Of(err); f == nil || f.Code != code {
		t.Errorf("%s: %v (%+v), want fault %s", call, err, f, code)
	}
}

// state returns everything in a user's repository that must not change: branches except
// the attempt's, the index, files and configuration.
func state(t testing.TB, repo string) string {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(repo, ".git", "config"))
	if err != nil {
		t.Fatal(err)
	}
	head, _ := os.ReadFile(filepath.Join(repo, ".git", "HEAD"))
	refs := slices.DeleteFunc(strings.Split(shell(t, repo, "for-each-ref"), "\n"), func(s string) bool { return strings.Contains(s, "deskhand/") })
	return fmt.Sprintf("%s\n%s\n%s\n%s\n%s", config, head, strings.Join(refs, "\n"), shell(t, repo, "status", "--porcelain"), shell(t, repo, "stash", "list"))
}

func TestAddAndRemoveLeaveTheRepositoryAsItWas(t *testing.T) {
	private(t)
	for name, prepare := range map[string]func(dir string){
		"clean": func(string) {},
		"dirty": func(dir string) {
			put(t, filepath.Join(dir, "readme.md"), "changed\n")
			put(t, filepath.Join(dir, "staged.txt"), "s\n")
			shell(t, dir, "add", "staged.txt")
			put(t, filepath.Join(dir, "new.txt"), "n\n")
		},
		"detached":      func(dir string) { shell(t, dir, "checkout", "-q", "--detach") },
		"with worktree": func(dir string) { shell(t, dir, "worktree", "add", "-q", "-b", "mine", dir+"-mine") },
		"hooks": func(dir string) {
			for _, hook := range []string{"post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction"} {
				put(t, filepath.Join(dir, ".git", "hooks", hook), "#!/bin/sh\ntouch '"+dir+"/hook-ran'\nexit 1\n")
				os.Chmod(filepath.Join(dir, ".git", "hooks", hook), 0o755)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo := repository(t, "app")
			prepare(repo)
			before := state(t, repo)
			tree := attempt(t, repo)
			put(t, filepath.Join(tree.Dir, "app", "work.txt"), "work\n")
			if n, err := tree.Commit(t.Context(), "Do it"); n != 1 || err != nil {
				t.Errorf("Commit = %d, %v; want 1", n, err)
			}
			if err := tree.Remove(t.Context(), false); err != nil {
				t.Errorf("Remove: %v", err)
			}
			if after := state(t, repo); after != before {
				t.Errorf("the repository was\n%s\nand is\n%s", before, after)
			}
			if got := shell(t, repo, "log", "-1", "--format=%s %an", tree.Branch); got != "Do it Ann" {
				t.Errorf("branch has %q, want the commit", got)
			}
			if _, err := os.Lstat(tree.Dir); err == nil {
				t.Errorf("%s is still there", tree.Dir)
			}
			if out := shell(t, repo, "worktree", "list"); strings.Contains(out, "deskhand/") {
				t.Errorf("git still knows the worktree: %s", out)
			}
			shell(t, repo, "fsck", "--strict")
		})
	}
}

func TestWorktreesAreLockedWhileAlive(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	tree := attempt(t, repo)
	away := tree.Dir + ".away"
	if err := os.Rename(tree.Dir, away); err != nil {
		t.Fatal(err)
	}
	shell(t, repo, "worktree", "prune", "--expire=now")
	shell(t, repo, "gc", "--quiet", "--prune=now")
	if err := os.Rename(away, tree.Dir); err != nil {
		t.Fatal(err)
	}
	if !tree.Present(t.Context()) {
		t.Error("a prune by the user took the worktree")
	}
	for range 2 {
		if err := tree.Unlock(t.Context()); err != nil {
			t.Errorf("Unlock: %v", err)
		}
	}
	for range 2 {
		if err := tree.Lock(t.Context()); err != nil {
			t.Errorf("Lock: %v", err)
		}
	}
	if out := shell(t, repo, "worktree", "list", "--porcelain"); !strings.Contains(out, "locked") {
		t.Errorf("after Lock: %s", out)
	}
}

func TestAddRefuses(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	shell(t, repo, "branch", "taken")
	empty := filepath.Join(t.TempDir(), "empty")
	os.Mkdir(empty, 0o755)
	shell(t, empty, "init", "-q")
	unreadable := repository(t, "unreadable")
	put(t, filepath.Join(unreadable, ".git", "config"), "[core")
	for name, c := range map[string]struct {
		repo   Repo
		branch string
		code   string
	}{
		"a branch that exists":       {Repo{Name: "app", Path: repo, Target: "main"}, "taken", "branch_exists"},
		"a branch below a branch":    {Repo{Name: "app", Path: repo, Target: "main"}, "taken/x", "branch_exists"},
		"a branch that is no name":   {Repo{Name: "app", Path: repo, Target: "main"}, "a..b", "invalid_argument"},
		"a branch that is an option": {Repo{Name: "app", Path: repo, Target: "main"}, "-d", "invalid_argument"},
		"a target that is gone":      {Repo{Name: "app", Path: repo, Target: "gone"}, "x", "not_found"},
		"a target that is an option": {Repo{Name: "app", Path: repo, Target: "--all"}, "x", "not_found"},
		"settings git cannot read":   {Repo{Name: "app", Path: unreadable, Target: "main"}, "x", "not_found"},
		"a target and what precedes": {Repo{Name: "app", Path: repo, Target: "main~0"}, "x", "not_found"},
		"a target of yesterday":      {Repo{Name: "app", Path: repo, Target: "main@{0}"}, "x", "not_found"},
		"no target":                  {Repo{Name: "app", Path: repo, Target: ""}, "x", "not_found"},
		"a repository that is gone":  {Repo{Name: "app", Path: repo + "-gone", Target: "main"}, "x", "not_found"},
		"no commit":                  {Repo{Name: "app", Path: empty, Target: "main"}, "x", "not_found"},
		"a name that climbs":         {Repo{Name: "..", Path: repo, Target: "main"}, "x", "invalid_argument"},
		"a name with a slash":        {Repo{Name: "a/b", Path: repo, Target: "main"}, "x", "invalid_argument"},
		"git's name":                 {Repo{Name: ".git", Path: repo, Target: "main"}, "x", "invalid_argument"},
		"a dash in front":            {Repo{Name: "-x", Path: repo, Target: "main"}, "x", "invalid_argument"},
		"a newline":                  {Repo{Name: "a\nb", Path: repo, Target: "main"}, "x", "invalid_argument"},
		"not UTF-8":                  {Repo{Name: "a\xff", Path: repo, Target: "main"}, "x", "invalid_argument"},
	} {
		t.Run(name, func(t *testing.T) {
			before := state(t, repo)
			tree := Tree{Dir: filepath.Join(t.TempDir(), "a"), Branch: c.branch, Repos: []Repo{c.repo}}
			_, err := tree.Add(t.Context())
			wantFault(t, fmt.Sprintf("Add(%+v)", c.repo), err, c.code)
			if _, err := os.Lstat(tree.Dir); err == nil {
				t.Errorf("%s was made", tree.Dir)
			}
			if after := state(t, repo); after != before {
				t.Errorf("the repository was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

func TestAHalfMadeAttemptIsUndone(t *testing.T) {
	private(t)
	first, second := repository(t, "first"), repository(t, "second")
	before := state(t, first)
	// The second repository cannot get a worktree, because a file is in place of git's
	// folder for worktrees.
	put(t, filepath.Join(second, ".git", "worktrees"), "in the way")
	tree := Tree{Dir: filepath.Join(t.TempDir(), "a"), Branch: "deskhand/x", Repos: []Repo{{Name: "first", Path: first, Target: "main"}, {Name: "second", Path: second, Target: "main"}}}
	if _, err := tree.Add(t.Context()); err == nil {
		t.Fatal("Add: no error")
	}
	if _, err := os.Lstat(tree.Dir); err == nil {
		t.Errorf("%s is still there", tree.Dir)
	}
	if out := shell(t, first, "branch", "--list", "deskhand/*"); out != "" {
		t.Errorf("branches %q stay", out)
	}
	if after := state(t, first); after != before {
		t.Errorf("the repository was\n%s\nand is\n%s", before, after)
	}
}

func TestFreeBranchGivesWay(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	repos := []Repo{{Name: "app", Path: repo}}
	for _, c := range []struct{ taken, want string }{
		{"other", "dh/1-x"}, {"dh/1-x", "dh/1-x-2"}, {"dh/1-x-2/deep", "dh/1-x-3"},
	} {
		shell(t, repo, "branch", c.taken)
		if got, err := FreeBranch(t.Context(), repos, "dh/1-x"); got != c.want || err != nil {
			t.Errorf("after branch %s FreeBranch = %q, %v; want %q", c.taken, got, err, c.want)
		}
	}
	shell(t, repo, "branch", "top")
	if got, err := FreeBranch(t.Context(), repos, "top/1-x"); got != "top-1-x" || err != nil {
		t.Errorf("FreeBranch = %q, %v; want top-1-x", got, err)
	}
}

func TestSlug(t *testing.T) {
	for text, want := range map[string]string{
		"Fix the Bug!": "fix-the-bug", "": "task", "日本語": "task", "--x--": "x", strings.Repeat("ab ", 40): "ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-a",
	} {
		if got := Slug(text); got != want {
			t.Errorf("Slug(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestRecreateBringsBackWhatIsMissing(t *testing.T) {
	private(t)
	one, two := repository(t, "one"), repository(t, "two")
	tree := attempt(t, one, two)
	put(t, filepath.Join(tree.Dir, "one", "work.txt"), "committed\n")
	put(t, filepath.Join(tree.Dir, "two", "open.txt"), "not committed\n")
	if n, err := (Tree{Dir: tree.Dir, Branch: tree.Branch, Repos: tree.Repos[:1]}).Commit(t.Context(), "work"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	os.RemoveAll(filepath.Join(tree.Dir, "one")) // still locked, and git has not noticed
	for range 2 {
		if err := tree.Recreate(t.Context()); err != nil {
			t.Fatalf("Recreate: %v", err)
		}
	}
	for name, want := range map[string]string{"one/work.txt": "committed\n", "two/open.txt": "not committed\n"} {
		if got, err := os.ReadFile(filepath.Join(tree.Dir, filepath.FromSlash(name))); string(got) != want {
			t.Errorf("%s = %q, %v; want %q", name, got, err, want)
		}
	}
	if err := tree.Remove(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	shell(t, one, "checkout", "-q", tree.Branch)
	wantFault(t, "Recreate with the branch checked out by the user", tree.Recreate(t.Context()), "branch_in_use")
	shell(t, one, "checkout", "-q", "main")
	shell(t, one, "branch", "-D", tree.Branch)
	wantFault(t, "Recreate without the branch", tree.Recreate(t.Context()), "not_found")
	if err := os.Rename(two, two+"-elsewhere"); err != nil {
		t.Fatal(err)
	}
	tree.Repos = tree.Repos[1:]
	if err := tree.Recreate(t.Context()); fault.Of(err) == nil || fault.Of(err).Code != "not_found" || !strings.Contains(err.Error(), "no longer at "+two) {
		t.Errorf("Recreate with a repository that was moved: %v, want that said", err)
	}
}

func TestAttackWorkRemoveKeepsWhatIsNotCommitted(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	for _, file := range []string{"readme.md", "new.txt", "unplugged.txt"} {
		tree := Tree{Dir: filepath.Join(t.TempDir(), "a"), Branch: "deskhand/" + Slug(file), Repos: []Repo{{Name: "app", Path: repo, Target: "main"}}}
		tree.Repos, _ = tree.Add(t.Context())
		put(t, filepath.Join(tree.Dir, "app", file), "not committed\n")
		if file == "unplugged.txt" { // git cannot report what is committed
			os.Remove(filepath.Join(tree.Dir, "app", ".git"))
		}
		wantFault(t, "Remove with "+file, tree.Remove(t.Context(), false), "worktree_dirty")
		if _, err := os.Stat(filepath.Join(tree.Dir, "app", file)); err != nil {
			t.Errorf("%s is gone: %v", file, err)
		}
		if err := tree.Remove(t.Context(), true); err != nil {
			t.Errorf("Remove with force: %v", err)
		}
	}
}

func TestAttackWorkRemoveTouchesNoFolderThatIsNotAnAttempts(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	home := t.TempDir()
	put(t, filepath.Join(home, "precious.txt"), "p")
	tree := Tree{Dir: home, Branch: "x", Repos: []Repo{{Name: "app", Path: repo, Target: "main"}}}
	if err := tree.Remove(t.Context(), true); err == nil {
		t.Error("Remove of a folder without the mark: no error")
	}
	tree.Dir = filepath.Dir(repo)
	put(t, filepath.Join(tree.Dir, marker), "")
	if err := tree.Remove(t.Context(), true); err == nil {
		t.Error("Remove of a folder with the repository in it: no error")
	}
	link := filepath.Join(t.TempDir(), "link")
	if os.Symlink(home, link) == nil {
		tree.Dir = link
		if err := tree.Remove(t.Context(), true); err == nil {
			t.Error("Remove of a link: no error")
		}
	}
	for _, path := range []string{filepath.Join(home, "precious.txt"), filepath.Join(repo, "readme.md")} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	shell(t, repo, "fsck")
}

func TestAttackWorkRemoveFollowsNoLink(t *testing.T) {
	private(t)
	outside := t.TempDir()
	put(t, filepath.Join(outside, "precious.txt"), "p")
	tree := attempt(t, repository(t, "app"))
	os.Symlink(outside, filepath.Join(tree.Dir, "app", "link"))
	put(t, filepath.Join(tree.Dir, "app", "cache", "mod", "x.go"), "x")
	os.Chmod(filepath.Join(tree.Dir, "app", "cache", "mod"), 0o555)
	if err := tree.Remove(t.Context(), true); err != nil {
		t.Errorf("Remove: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "precious.txt")); err != nil {
		t.Errorf("what a link led to: %v", err)
	}
}

func TestAttackWorkDropBranchesKeepsCommits(t *testing.T) {
	private(t)
	idle, busy, merged := repository(t, "idle"), repository(t, "busy"), repository(t, "merged")
	tree := attempt(t, idle, busy, merged)
	for _, r := range []string{"busy", "merged"} {
		put(t, filepath.Join(tree.Dir, r, "work.txt"), "w\n")
	}
	if n, err := tree.Commit(t.Context(), "w"); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	shell(t, merged, "merge", "-q", tree.Branch)
	if err := tree.Remove(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if kept := tree.DropBranches(t.Context()); !slices.Equal(kept, []string{"busy"}) {
		t.Errorf("DropBranches kept %v, want [busy]", kept)
	}
	shell(t, busy, "rev-parse", tree.Branch)
}

func TestSubmodulesSurviveAnAttempt(t *testing.T) {
	config := private(t)
	put(t, config, "[user]\n\tname = Ann\n\temail = ann@example.com\n[protocol \"file\"]\n\tallow = always\n")
	sub, repo := repository(t, "sub"), repository(t, "app")
	shell(t, repo, "submodule", "--quiet", "add", sub, "vendor/sub")
	shell(t, repo, "commit", "-q", "-m", "submodule")
	before := state(t, repo)
	tree := attempt(t, repo)
	dir := filepath.Join(tree.Dir, "app")
	shell(t, dir, "submodule", "--quiet", "update", "--init")
	put(t, filepath.Join(dir, "vendor", "sub", "deep.txt"), "d\n")
	if changes, err := tree.Changes(t.Context(), Balanced, false); err != nil || changes.Blocked != "" || len(changes.Files) != 1 || changes.Files[0].Path != "app/vendor/sub" {
		t.Errorf("Changes = %+v, %v; want app/vendor/sub", changes, err)
	}
	shell(t, filepath.Join(dir, "vendor", "sub"), "add", "-A")
	shell(t, filepath.Join(dir, "vendor", "sub"), "commit", "-q", "-m", "deep")
	if n, err := tree.Commit(t.Context(), "move submodule"); n != 1 || err != nil {
		t.Errorf("Commit = %d, %v", n, err)
	}
	if patch, err := tree.Patch(t.Context(), []string{"app"}, 0, Balanced, false); err != nil || !strings.Contains(patch.Text, "+Subproject commit") {
		t.Errorf("Patch = %+v, %v", patch, err)
	}
	if err := tree.Remove(t.Context(), false); err != nil {
		t.Errorf("Remove: %v", err)
	}
	// git itself records in the configuration that a submodule is in use.
	after := state(t, repo)
	if cut := func(s string) string { _, s, _ = strings.Cut(s, "ref: "); return s }; cut(after) != cut(before) {
		t.Errorf("the repository was\n%s\nand is\n%s", before, after)
	}
	shell(t, repo, "submodule", "status")
}

func TestManyAttemptsAtOnce(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			tree := Tree{Dir: filepath.Join(dir, fmt.Sprint(i)), Branch: fmt.Sprintf("deskhand/%d", i), Repos: []Repo{{Name: "app", Path: repo, Target: "main"}}}
			var err error
			if tree.Repos, err = tree.Add(t.Context()); err != nil {
				t.Errorf("Add %d: %v", i, err)
				return
			}
			if i%2 == 0 {
				if err := tree.Remove(t.Context(), false); err != nil {
					t.Errorf("Remove %d: %v", i, err)
				}
				tree.DropBranches(t.Context())
			} else if !tree.Present(t.Context()) {
				t.Errorf("%d is not there", i)
			}
		})
	}
	wg.Wait()
	if got := strings.Count(shell(t, repo, "worktree", "list"), "\n"); got != 10 {
		t.Errorf("%d worktrees, want 10", got)
	}
	if got := shell(t, repo, "branch", "--list", "deskhand/*"); strings.Count(got, "\n") != 9 {
		t.Errorf("branches %s, want 10", got)
	}
}

func TestInspectFindsTheTopAndABranch(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	empty := t.TempDir()
	shell(t, empty, "init", "-q")
	broken := repository(t, "broken")
	if err := os.RemoveAll(filepath.Join(broken, ".git", "objects")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(broken, ".git", "objects"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path   string
		prepare      func()
		branch, code string
	}{
		{name: "top", path: repo, branch: "main"},
		{name: "below", path: filepath.Join(repo, "src"), branch: "main"},
		{name: "another branch", path: repo, prepare: func() { shell(t, repo, "checkout", "-q", "-b", "topic") }, branch: "topic"},
		{name: "detached", path: repo, prepare: func() { shell(t, repo, "checkout", "-q", "--detach") }, branch: "main"},
		{name: "detached, no main", path: repo, prepare: func() { shell(t, repo, "branch", "-m", "main", "trunk") }, branch: ""},
		{name: "no repository", path: t.TempDir(), code: "not_found"},
		{name: "no folder", path: filepath.Join(repo, "none"), code: "not_found"},
		{name: "a file", path: filepath.Join(repo, "readme.md"), code: "not_found"},
		{name: "no commit", path: empty, code: "no_commits"},
		{name: "no objects", path: broken, code: "no_commits"},
		{name: "nothing", path: "", code: "invalid_argument"},
	} {
		if c.prepare != nil {
			c.prepare()
		}
		got, err := Inspect(t.Context(), c.path)
		if c.code != "" {
			wantFault(t, "Inspect "+c.name, err, c.code)
		} else if err != nil || got != (Found{repo, c.branch}) {
			t.Errorf("Inspect %s = %+v, %v; want %s on %q", c.name, got, err, repo, c.branch)
		}
	}
}

func TestCommitGoesToNoOtherBranch(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	for name, move := range map[string]func(dir string){
		"other branch": func(dir string) { shell(t, dir, "checkout", "-q", "-b", "elsewhere") },
		"detached":     func(dir string) { shell(t, dir, "checkout", "-q", "--detach") },
		"merge": func(dir string) {
			put(t, filepath.Join(dir, "readme.md"), "mine\n")
			shell(t, dir, "commit", "-qam", "mine")
			shell(t, repo, "checkout", "-q", "-b", "theirs")
			put(t, filepath.Join(repo, "readme.md"), "theirs\n")
			shell(t, repo, "commit", "-qam", "theirs")
			merge := exec.Command("git", "merge", "theirs")
			merge.Dir = dir
			merge.Run() // fails because of conflicts
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := Tree{Dir: filepath.Join(t.TempDir(), "a"), Branch: "deskhand/" + Slug(name), Repos: []Repo{{Name: "app", Path: repo, Target: "main"}}}
			tree.Repos, _ = tree.Add(t.Context())
			dir := filepath.Join(tree.Dir, "app")
			move(dir)
			put(t, filepath.Join(dir, "work.txt"), "w\n")
			head := shell(t, dir, "rev-parse", "HEAD")
			_, err := tree.Commit(t.Context(), "w")
			wantFault(t, "Commit", err, "head_moved")
			if got := shell(t, dir, "rev-parse", "HEAD"); got != head {
				t.Errorf("a commit was made on top of %s", head)
			}
			changes, err := tree.Changes(t.Context(), Balanced, false)
			if err != nil || changes.Blocked != "" || !slices.ContainsFunc(changes.Files, func(f FileChange) bool { return f.Path == "app/work.txt" }) {
				t.Errorf("Changes = %+v, %v; want app/work.txt", changes, err)
			}
		})
	}
}

// If git's configuration names no author, the environment may. Otherwise, deskhand is the
// author: git would refuse, and the work would stay uncommitted.
func TestCommitWithoutAnAuthorAndWithALockOfADeadGit(t *testing.T) {
	for want, more := range map[string]map[string]string{
		"deskhand <deskhand@localhost>":                 {},
		"Env <env@example.com>":                         {"GIT_AUTHOR_NAME": "Env", "GIT_AUTHOR_EMAIL": "env@example.com"},
		"deskhand <deskhand@localhost>, no address":     {"GIT_AUTHOR_NAME": "Env"},
		"Env <env@example.com>, and its committer both": {"GIT_AUTHOR_NAME": "Env", "GIT_AUTHOR_EMAIL": "env@example.com", "GIT_COMMITTER_NAME": "Env", "GIT_COMMITTER_EMAIL": "env@example.com"},
	} {
		t.Run(want, func(t *testing.T) {
			private(t)
			tree := attempt(t, repository(t, "app"))
			t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
				t.Setenv(name, more[name]) // restores the variable after the test
				if more[name] == "" {
					os.Unsetenv(name)
				}
			}
			dir := filepath.Join(tree.Dir, "app")
			put(t, filepath.Join(dir, "work.txt"), "w\n")
			put(t, shell(t, dir, "rev-parse", "--git-path", "index.lock"), "")
			if n, err := tree.Commit(t.Context(), "\x00 \xff\n\n# not a comment"); n != 1 || err != nil {
				t.Fatalf("Commit = %d, %v; want 1", n, err)
			}
			author, _, _ := strings.Cut(want, ",")
			if got, want := shell(t, dir, "log", "-1", "--format=%an <%ae> %B"), author+" \uFFFD\n\n# not a comment"; got != want {
				t.Errorf("commit is %q, want %q", got, want)
			}
			if n, err := tree.Commit(t.Context(), "nothing"); n != 0 || err != nil {
				t.Errorf("Commit of nothing = %d, %v; want 0", n, err)
			}
		})
	}
}

func TestCopyInBringsFilesThatGitIgnores(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	put(t, filepath.Join(repo, ".env"), "KEY=1\n")
	put(t, filepath.Join(repo, "config", "local.yaml"), "a: 1\n")
	os.Symlink("/etc/passwd", filepath.Join(repo, "passwd.env"))
	tree := attempt(t, repo)
	put(t, filepath.Join(tree.Dir, "app", "config", "kept.yaml"), "mine\n")
	put(t, filepath.Join(repo, "config", "kept.yaml"), "theirs\n")
	copied, err := tree.CopyIn(t.Context(), tree.Repos[0], []string{".env", "*.env", "config/**", "../*", ".git/*", "nothing*"})
	if err != nil || !slices.Equal(copied, []string{".env", "config/local.yaml"}) {
		t.Errorf("CopyIn = %v, %v; want .env and config/local.yaml", copied, err)
	}
	if got, _ := os.ReadFile(filepath.Join(tree.Dir, "app", "config", "kept.yaml")); !bytes.Equal(got, []byte("mine\n")) {
		t.Errorf("kept.yaml = %q", got)
	}
}
