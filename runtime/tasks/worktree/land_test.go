package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// diverged returns an attempt at some repositories. Its branch has two commits in each,
// and the target has got one of its own.
func diverged(t testing.TB, repos ...string) Tree {
	t.Helper()
	tree := attempt(t, repos...)
	for _, r := range tree.Repos {
		dir := tree.path(r)
		put(t, filepath.Join(dir, "new.txt"), "new\n")
		shell(t, dir, "add", "-A")
		shell(t, dir, "commit", "-q", "-m", "first of the agent", "--author", "Agent <agent@example.com>")
		put(t, filepath.Join(dir, "src", "a.go"), "package a\n\nfunc A() int { return 1 }\n")
		shell(t, dir, "commit", "-q", "-a", "-m", "second of the agent")
		put(t, filepath.Join(r.Path, "readme.md"), "one\ntwo\nthree\nfour\n")
		shell(t, r.Path, "commit", "-q", "-a", "-m", "of the user")
	}
	return tree
}

func TestLandBringsTheWorkOntoTheTarget(t *testing.T) {
	for _, c := range []struct {
		how     How
		parents int
		commits string // commits on the target since the user's
	}{
		{Merge, 2, "Fix it\nsecond of the agent\nfirst of the agent"},
		{Squash, 1, "Fix it"},
		{Rebase, 1, "second of the agent\nfirst of the agent"},
	} {
		for _, checkout := range []string{"main", "other"} {
			t.Run(string(c.how)+" while "+checkout+" is checked out", func(t *testing.T) {
				private(t)
				repo := repository(t, "shop")
				tree := diverged(t, repo)
				if checkout != "main" {
					shell(t, repo, "checkout", "-q", "-b", checkout)
				}
				before := shell(t, repo, "rev-parse", "main")
				l, err := tree.Land(t.Context(), c.how, "", Author{Message: "Fix it"})
				if err != nil {
					t.Fatal(err)
				}
				if now := shell(t, repo, "rev-parse", "main"); now != before {
					t.Fatal("Land moved the branch; that is for Do")
				}
				if err := Do(t.Context(), l.Moves, "deskhand: land"); err != nil {
					t.Fatal(err)
				}
				if got := shell(t, repo, "log", "--topo-order", "--format=%s", before+"..main"); got != c.commits {
					t.Errorf("main has\n%s\nwant\n%s", got, c.commits)
				}
				if got := strings.Fields(shell(t, repo, "log", "-1", "--format=%P", "main")); len(got) != c.parents {
					t.Errorf("%d parents, want %d", len(got), c.parents)
				}
				if got := shell(t, repo, "show", "main:readme.md") + shell(t, repo, "show", "main:new.txt"); got != "one\ntwo\nthree\nfournew" {
					t.Errorf("main has %q", got)
				}
				if c.how == Rebase && shell(t, repo, "log", "-1", "--format=%an <%ae>", "main~1") != "Agent <agent@example.com>" {
					t.Error("a commit that was made again has another author")
				}
				if got := shell(t, repo, "status", "--porcelain"); got != "" {
					t.Errorf("the checkout has changes: %s", got)
				}
				_, err = os.Stat(filepath.Join(repo, "new.txt"))
				if there := err == nil; there != (checkout == "main") {
					t.Errorf("new.txt in the checkout of %s: %v", checkout, there)
				}
				var back []Move
				for _, m := range l.Moves {
					back = append(back, m.Back())
				}
				if err := Do(t.Context(), back, "deskhand: undo"); err != nil || shell(t, repo, "rev-parse", "main") != before || shell(t, repo, "status", "--porcelain") != "" {
					t.Errorf("taken back: %v, %s", err, shell(t, repo, "status", "--porcelain"))
				}
			})
		}
	}
}

// A hint can be pasted into a shell, also for a path with spaces.
func TestAHintQuotesPaths(t *testing.T) {
	private(t)
	repo := repository(t, "my shop")
	tree := diverged(t, repo)
	put(t, filepath.Join(repo, "readme.md"), "mine\n")
	_, err := tree.Land(t.Context(), Merge, "", Author{Message: "m"})
	wantFault(t, "Land", err, "target_dirty")
	if hint := fault.Of(err).Hint; !strings.Contains(hint, "git -C '"+repo+"' stash") {
		t.Errorf("the hint is %s", hint)
	}
}

// A landed submodule can be checked out, and the landing can be undone: its commits were
// only in the attempt's folder, and the checkout then counted as changed.
func TestLandWithASubmodule(t *testing.T) {
	private(t)
	t.Setenv("GIT_ALLOW_PROTOCOL", "file")
	library, repo := repository(t, "library"), repository(t, "app")
	shell(t, repo, "submodule", "--quiet", "add", library, "libs/sub")
	shell(t, repo, "commit", "-q", "-m", "submodule")
	tree := attempt(t, repo)
	dir := filepath.Join(tree.Dir, "app")
	shell(t, dir, "submodule", "--quiet", "update", "--init")
	made := commitIn(t, filepath.Join(dir, "libs", "sub"), "a.txt")
	if n, err := tree.Commit(t.Context(), "work"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	l, err := tree.Land(t.Context(), Squash, "", Author{Message: "m"})
	if err == nil {
		err = tree.KeepModules(t.Context())
	}
	if err == nil {
		err = Do(t.Context(), l.Moves, "land")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := Movable(t.Context(), []Move{l.Moves[0].Back()}); err != nil {
		t.Errorf("an undo before git submodule update: %v", err)
	}
	os.RemoveAll(tree.Dir)
	shell(t, repo, "submodule", "--quiet", "update")
	if got := shell(t, filepath.Join(repo, "libs", "sub"), "rev-parse", "HEAD"); got != made {
		t.Errorf("the submodule is at %s, want %s", got, made)
	}
	put(t, filepath.Join(repo, "readme.md"), "mine\n")
	shell(t, filepath.Join(repo, "libs", "sub"), "checkout", "-q", "HEAD~1")
	shell(t, repo, "add", "libs/sub")
	err = Ready(t.Context(), l.Moves)
	wantFault(t, "Ready", err, "target_dirty")
	if !strings.Contains(err.Error(), "libs/sub, readme.md") {
		t.Errorf("Ready = %v, want what is staged and what is changed", err)
	}
}

func TestLandRefuses(t *testing.T) {
	private(t)
	repo, other := repository(t, "shop"), repository(t, "lib")
	tree := diverged(t, repo, other)
	land := func(how How, into string) (Landing, error) {
		return tree.Land(t.Context(), how, into, Author{Message: "m"})
	}
	for _, c := range []struct {
		name, code string
		how        How
		into       string
		arrange    func()
	}{
		{"a fast forward past commits of the user", "not_fast_forward", FastForward, "", func() {}},
		{"a target that is not there", "not_found", Merge, "release", func() {}},
		{"changes in the checkout of one of two", "target_dirty", Merge, "", func() { put(t, filepath.Join(other, "readme.md"), "mine\n") }},
		{"a merge in progress", "target_dirty", Merge, "", func() {
			shell(t, other, "checkout", "-q", "readme.md")
			put(t, filepath.Join(other, ".git", "MERGE_HEAD"), shell(t, other, "rev-parse", "HEAD")+"\n")
		}},
		{"a rebase of the target in progress", "target_dirty", Merge, "", func() {
			os.Remove(filepath.Join(other, ".git", "MERGE_HEAD"))
			shell(t, other, "-c", "sequence.editor=sed -i.old s/^pick/edit/", "rebase", "-q", "-i", "HEAD~1")
		}},
		{"a target whose folder is gone", "target_dirty", Merge, "next", func() {
			shell(t, other, "rebase", "--abort")
			gone := filepath.Join(t.TempDir(), "gone")
			shell(t, repo, "branch", "next")
			shell(t, other, "worktree", "add", "-q", "-b", "next", gone)
			os.RemoveAll(gone)
		}},
		{"a conflict", "conflicts", Squash, "", func() {
			put(t, filepath.Join(other, "src", "a.go"), "package b\n")
			shell(t, other, "commit", "-q", "-a", "-m", "of the user too")
		}},
		{"a conflict of a commit among several", "conflicts", Rebase, "", func() {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.arrange()
			_, err := land(c.how, c.into)
			wantFault(t, "Land", err, c.code)
			if c.code == "conflicts" && !strings.Contains(err.Error(), "lib/src/a.go") {
				t.Errorf("no path in %v", err)
			}
		})
	}
}

func TestDoMovesAllOrNone(t *testing.T) {
	private(t)
	repo, other := repository(t, "shop"), repository(t, "lib")
	tree := diverged(t, repo, other)
	l, err := tree.Land(t.Context(), Merge, "", Author{Message: "m"})
	if err != nil {
		t.Fatal(err)
	}
	before := state(t, repo)
	put(t, filepath.Join(other, "new.txt"), "a file of the user that git does not know\n")
	wantFault(t, "Do", Do(t.Context(), l.Moves, "deskhand: land"), "untracked_in_the_way")
	if after := state(t, repo); after != before {
		t.Errorf("the first repository was\n%s\nand is\n%s", before, after)
	}
	os.Remove(filepath.Join(other, "new.txt"))
	shell(t, other, "commit", "-q", "--allow-empty", "-m", "meanwhile")
	wantFault(t, "Do", Do(t.Context(), l.Moves, "deskhand: land"), "target_moved")
	if after := state(t, repo); after != before {
		t.Errorf("the first repository was\n%s\nand is\n%s", before, after)
	}
}

func TestARebaseThatIsAbortedDoesNotTakeALandingBack(t *testing.T) {
	private(t)
	repo := repository(t, "shop")
	tree := diverged(t, repo)
	shell(t, repo, "-c", "sequence.editor=sed -i.old s/^pick/edit/", "rebase", "-q", "-i", "HEAD~1")
	_, err := tree.Land(t.Context(), Merge, "", Author{Message: "m"})
	wantFault(t, "Land", err, "target_dirty")
	if err == nil || !strings.Contains(err.Error(), "a rebase of main is in progress") {
		t.Errorf("Land = %v, want the rebase named", err)
	}
	shell(t, repo, "rebase", "--abort")
	l, err := tree.Land(t.Context(), Merge, "", Author{Message: "m"})
	must(t, err)
	must(t, Do(t.Context(), l.Moves, "land"))
}

func TestALockOfAnotherGitIsNamed(t *testing.T) {
	private(t)
	repo := repository(t, "shop")
	l, err := diverged(t, repo).Land(t.Context(), Merge, "", Author{Message: "m"})
	must(t, err)
	for _, lock := range []string{"index.lock", "refs/heads/main.lock"} {
		file := filepath.Join(repo, ".git", filepath.FromSlash(lock))
		put(t, file, "")
		before := state(t, repo)
		err := Do(t.Context(), l.Moves, "land")
		wantFault(t, "Do", err, "repo_busy")
		if !strings.HasSuffix(fault.Of(err).Message, lock) {
			t.Errorf("Do = %v, want %s named at the end", err, lock)
		}
		os.Remove(file)
		if after := state(t, repo); after != before {
			t.Errorf("with %s, the repository was\n%s\nand is\n%s", lock, before, after)
		}
	}
	must(t, Do(t.Context(), l.Moves, "land"))
}

func TestFinishCompletesWhatAKilledProgramBegan(t *testing.T) {
	private(t)
	for name, c := range map[string]struct {
		interrupt func(t *testing.T, moves []Move)
		done      bool
		code      string
	}{
		"nothing was done":              {func(*testing.T, []Move) {}, false, ""},
		"the files of the first":        {func(t *testing.T, m []Move) { must(t, m[0].files(t.Context(), m[0].Before, m[0].After)) }, false, ""},
		"half of the files, and a lock": {func(t *testing.T, m []Move) { half(t, m[0]) }, false, ""},
		"all of the first":              {func(t *testing.T, m []Move) { must(t, m[0].do(t.Context(), "w", func(Move) error { return nil })) }, true, ""},
		"the first, half of the second": {func(t *testing.T, m []Move) {
			must(t, m[0].do(t.Context(), "w", func(Move) error { return nil }))
			half(t, m[1])
		}, true, ""},
		"all": {func(t *testing.T, m []Move) { must(t, Do(t.Context(), m, "w")) }, true, ""},
		"half, and the user wrote into one of them": {func(t *testing.T, m []Move) {
			half(t, m[0])
			put(t, filepath.Join(m[0].Dir, "src", "a.go"), "mine\n")
		}, false, "target_dirty"},
		"the first, and the user built on the second": {func(t *testing.T, m []Move) {
			must(t, m[0].do(t.Context(), "w", func(Move) error { return nil }))
			shell(t, m[1].Dir, "commit", "-q", "--allow-empty", "-m", "meanwhile")
		}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tree := diverged(t, repository(t, "shop"), repository(t, "lib"))
			l, err := tree.Land(t.Context(), Squash, "", Author{Message: "m"})
			must(t, err)
			c.interrupt(t, l.Moves)
			done, err := Finish(t.Context(), l.Moves, "deskhand: finish")
			if c.code != "" {
				wantFault(t, "Finish", err, c.code)
				return
			}
			if err != nil || done != c.done {
				t.Fatalf("Finish: %v, %v; want %v", done, err, c.done)
			}
			for _, m := range l.Moves {
				want := m.Before
				if c.done {
					want = m.After
				}
				now := shell(t, m.Path, "rev-parse", m.Branch)
				if strings.Contains(name, "built on") && m.Name == "lib" {
					want = now
				}
				if status := shell(t, m.Dir, "status", "--porcelain"); now != want || status != "" {
					t.Errorf("%s is at %s, want %s; status %q", m.Name, now, want, status)
				}
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// half leaves the state of a git command that was killed while it wrote files.
func half(t *testing.T, m Move) {
	t.Helper()
	put(t, filepath.Join(m.Dir, "new.txt"), "new\n")
	put(t, filepath.Join(m.Dir, ".git", "index.lock"), "")
}

func TestAReplayLeavesOutWhatTheTargetHas(t *testing.T) {
	private(t)
	repo := repository(t, "shop")
	tree := diverged(t, repo)
	shell(t, repo, "cherry-pick", tree.Branch+"~1")
	at := shell(t, repo, "rev-parse", "main")
	l, err := tree.Land(t.Context(), Rebase, "", Author{})
	must(t, err)
	must(t, Do(t.Context(), l.Moves, "w"))
	if got := shell(t, repo, "log", "--format=%s", at+"..main"); got != "second of the agent" {
		t.Errorf("main got\n%s", got)
	}
	if got := shell(t, repo, "for-each-ref", "--format=%(refname)"); strings.Contains(got, "kept") {
		t.Errorf("a replay left refs:\n%s", got)
	}
}

func TestNoMergeDriverOfTheRepositoryRuns(t *testing.T) {
	private(t)
	repo := repository(t, "shop")
	tree := diverged(t, repo)
	shell(t, repo, "checkout", "-q", "-b", "elsewhere")
	proof := filepath.Join(t.TempDir(), "ran")
	put(t, filepath.Join(repo, ".gitattributes"), "* merge=evil\n")
	shell(t, repo, "config", "merge.evil.driver", "touch "+proof+"; exit 0")
	put(t, filepath.Join(tree.path(tree.Repos[0]), "readme.md"), "0\none\ntwo\nthree\n")
	shell(t, tree.path(tree.Repos[0]), "-c", "core.hooksPath=/dev/null", "commit", "-q", "-a", "-m", "both changed")
	for _, how := range []How{Merge, Squash, Rebase} {
		_, err := tree.Land(t.Context(), how, "", Author{Message: "m"})
		t.Log(how, err)
		if _, err := os.Stat(proof); err == nil {
			t.Fatalf("%s ran a merge driver that an agent can configure", how)
		}
	}
}
