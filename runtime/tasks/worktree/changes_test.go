package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// worked returns an attempt with one change of every kind, committed and uncommitted.
func worked(t *testing.T) Tree {
	t.Helper()
	tree := attempt(t, repository(t, "app"))
	dir := filepath.Join(tree.Dir, "app")
	put(t, filepath.Join(dir, "committed.txt"), "1\n2\n")
	if n, err := tree.Commit(t.Context(), "first"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	put(t, filepath.Join(dir, "readme.md"), "one\nTWO\nthree\nfour\n")
	put(t, filepath.Join(dir, "staged.txt"), "s\n")
	shell(t, dir, "add", "staged.txt")
	put(t, filepath.Join(dir, "new", "untracked.txt"), "u\n")
	put(t, filepath.Join(dir, "bin.dat"), "\x00\x01\x02")
	os.Remove(filepath.Join(dir, "old.txt"))
	os.Rename(filepath.Join(dir, "moved.txt"), filepath.Join(dir, "renamed.txt"))
	return tree
}

const workedFiles = `app/bin.dat added +0 -0 3 binary
app/committed.txt added +2 -0 4
app/new/untracked.txt added +1 -0 2
app/old.txt deleted +0 -1 14
app/readme.md modified +2 -1 19
app/renamed.txt renamed from app/moved.txt +0 -0 360
app/staged.txt added +1 -0 2
`

func list(files []FileChange) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s %s", f.Path, f.Kind)
		if f.OldPath != "" {
			fmt.Fprintf(&b, " from %s", f.OldPath)
		}
		fmt.Fprintf(&b, " +%d -%d %d", f.Added, f.Deleted, f.Bytes)
		if f.Binary {
			b.WriteString(" binary")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// T-112 to T-116, T-125.
func TestChangesHaveCommittedUncommittedAndUntracked(t *testing.T) {
	private(t)
	tree := worked(t)
	index, err := gitPath(t.Context(), filepath.Join(tree.Dir, "app"), "index")
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(index)
	objects := shell(t, tree.Repos[0].Path, "count-objects")
	for range 2 {
		changes, err := tree.Changes(t.Context(), Balanced, false)
		if err != nil || changes.Blocked != "" {
			t.Fatalf("Changes = %+v, %v", changes, err)
		}
		if got := list(changes.Files); got != workedFiles {
			t.Errorf("Changes:\n%s\nwant\n%s", got, workedFiles)
		}
		if want := (Summary{Files: 7, Added: 6, Deleted: 2, Bytes: 404}); changes.Summary != want {
			t.Errorf("Changes: summary %+v, want %+v", changes.Summary, want)
		}
	}
	if after, _ := os.ReadFile(index); string(after) != string(before) {
		t.Error("the index was written")
	}
	if after := shell(t, tree.Repos[0].Path, "count-objects"); after != objects {
		t.Errorf("objects were written: %s, before %s", after, objects)
	}
}

func TestConfigurationAndEnvironmentOfTheUserDoNotChangeWhatIsSeen(t *testing.T) {
	config := private(t)
	tree := worked(t)
	patch, err := tree.Patch(t.Context(), []string{"app"}, 0, Balanced, false)
	if err != nil || patch.Blocked != "" {
		t.Fatal(patch, err)
	}
	script := filepath.Join(t.TempDir(), "hostile")
	put(t, script, "#!/bin/sh\necho hostile\ntouch '"+script+".ran'\n")
	os.Chmod(script, 0o755)
	put(t, config, strings.ReplaceAll(`[core]
	quotePath = true
	fsmonitor = SCRIPT
	hooksPath = `+filepath.Dir(script)+`
	attributesFile = `+config+`.attributes
	pager = SCRIPT
	splitIndex = true
	untrackedCache = true
[color]
	ui = always
	diff = always
[diff]
	external = SCRIPT
	noprefix = true
	mnemonicPrefix = true
	renames = false
	relative = true
	context = 0
	interHunkContext = 9
	algorithm = patience
	colorMoved = zebra
	orderFile = `+config+`
	submodule = log
	wsErrorHighlight = all
	ignoreSubmodules = all
[diff "upper"]
	textconv = tr a-z A-Z <
	command = SCRIPT
[status]
	showUntrackedFiles = no
	short = true
	branch = true
[commit]
	gpgSign = true
	template = SCRIPT
	verbose = true
[gpg]
	program = SCRIPT
[gc]
	auto = 1
[user]
	useConfigOnly = true
`, "SCRIPT", script))
	put(t, config+".attributes", "*.md diff=upper\n*.txt diff=upper\n")
	other := repository0(t)
	for name, value := range map[string]string{
		"GIT_DIR": filepath.Join(other, ".git"), "GIT_WORK_TREE": other, "GIT_INDEX_FILE": filepath.Join(other, "i"), "GIT_OBJECT_DIRECTORY": other,
		"GIT_EXTERNAL_DIFF": script, "GIT_DIFF_OPTS": "--unified=9", "GIT_PAGER": script, "GIT_TRACE": "2", "GIT_CONFIG_COUNT": "1",
		"GIT_CONFIG_KEY_0": "core.worktree", "GIT_CONFIG_VALUE_0": other, "GIT_NAMESPACE": "n", "GIT_CEILING_DIRECTORIES": "/", "LC_ALL": "de_DE.UTF-8", "GIT_EDITOR": script,
	} {
		t.Setenv(name, value)
	}
	changes, err := tree.Changes(t.Context(), Balanced, false)
	if got := list(changes.Files); err != nil || got != workedFiles {
		t.Errorf("Changes: %v %s\n%s\nwant\n%s", err, changes.Detail, got, workedFiles)
	}
	again, err := tree.Patch(t.Context(), []string{"app"}, 0, Balanced, false)
	if err != nil || again.Text != patch.Text {
		t.Errorf("Patch: %v %+v\nwant\n%s", err, again, patch.Text)
	}
	if n, err := tree.Commit(t.Context(), "all of it"); n != 1 || err != nil {
		t.Errorf("Commit = %d, %v; want 1", n, err)
	}
	if _, err := os.Stat(script + ".ran"); err == nil {
		t.Error("a program of the configuration ran")
	}
}

func repository0(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	shell(t, dir, "init", "-q")
	return dir
}

func TestPatchApplies(t *testing.T) {
	private(t)
	tree := worked(t)
	for _, paths := range [][]string{{"app/readme.md"}, {"app/old.txt", "app/new"}, {"app/renamed.txt"}, {"app/committed.txt", "app/staged.txt"}} {
		patch, err := tree.Patch(t.Context(), paths, 0, Balanced, false)
		if err != nil || patch.Blocked != "" || patch.Text == "" || patch.Truncated {
			t.Errorf("Patch(%q) = %+v, %v", paths, patch, err)
			continue
		}
		check := exec.Command("git", "apply", "--check", "-")
		check.Dir = tree.Repos[0].Path // this repository is at the base
		check.Stdin = strings.NewReader(patch.Text)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("git apply of Patch(%q): %v %s\n%s", paths, err, out, patch.Text)
		}
	}
}

func TestPatchIsBounded(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"), repository(t, "lib"))
	for i := range 30 {
		put(t, filepath.Join(tree.Dir, "app", fmt.Sprintf("f%02d.txt", i)), strings.Repeat("x\n", 1000))
	}
	put(t, filepath.Join(tree.Dir, "lib", "z.txt"), "z\n")
	patch, err := tree.Patch(t.Context(), []string{"app", "lib"}, 10_000, Balanced, true)
	if err != nil || !patch.Truncated || len(patch.Text) > 10_000 || strings.Count(patch.Text, "diff --git") != 3 || len(patch.Omitted) != 28 || patch.Omitted[27] != "lib/z.txt" {
		t.Errorf("Patch = %d bytes, %d files, omitted %v, %v; want 3 files in 10,000 bytes, 28 omitted", len(patch.Text), strings.Count(patch.Text, "diff --git"), patch.Omitted, err)
	}
	if patch, err := tree.Patch(t.Context(), []string{"app/f00.txt"}, 100, Balanced, true); err != nil || patch.Text != "" || !slices.Equal(patch.Omitted, []string{"app/f00.txt"}) {
		t.Errorf("Patch of a file that does not fit = %+v, %v", patch, err)
	}
	for want, call := range map[string]func() (Patch, error){
		TooManyPaths:      func() (Patch, error) { return tree.Patch(t.Context(), make([]string, 101), 0, Balanced, false) },
		SizeExceeded:      func() (Patch, error) { return tree.Patch(t.Context(), []string{"app"}, 3<<20, Balanced, false) },
		OutsideWorkspace:  func() (Patch, error) { return tree.Patch(t.Context(), []string{"other/x"}, 0, Balanced, false) },
		ThresholdExceeded: func() (Patch, error) { return tree.Patch(t.Context(), []string{"app"}, 0, Guard{Files: 5}, false) },
	} {
		if patch, err := call(); err != nil || patch.Blocked != want || patch.Text != "" {
			t.Errorf("Patch = %+v, %v; want blocked by %s", patch, err, want)
		}
	}
}

// T-117, T-122, T-123.
func TestGuardBlocksTheListAndForceShowsIt(t *testing.T) {
	private(t)
	tree := worked(t)
	for _, guard := range []Guard{{Files: 6}, {Lines: 7}, {Bytes: 403}} {
		changes, err := tree.Changes(t.Context(), guard, false)
		if err != nil || changes.Blocked != ThresholdExceeded || len(changes.Files) != 0 || changes.Summary.Files != 7 {
			t.Errorf("Changes(%+v) = %+v, %v; want it blocked", guard, changes, err)
		}
		if changes, err = tree.Changes(t.Context(), guard, true); err != nil || changes.Blocked != "" || len(changes.Files) != 7 {
			t.Errorf("Changes(%+v, force) = %+v, %v; want 7 files", guard, changes, err)
		}
	}
	if changes, err := tree.Changes(t.Context(), Guard{Files: 7, Lines: 8, Bytes: 404}, false); err != nil || changes.Blocked != "" {
		t.Errorf("Changes at the guard = %+v, %v; want it shown", changes, err)
	}
}

// T-124.
func TestSummaryFailureSaysWhichRepository(t *testing.T) {
	private(t)
	for name, breakIt := range map[string]func(dir string){
		"gone":   func(dir string) { os.RemoveAll(dir) },
		"link":   func(dir string) { os.Rename(dir, dir+"2"); os.Symlink("/etc", dir) },
		"unplug": func(dir string) { os.Remove(filepath.Join(dir, ".git")) },
		"other":  func(dir string) { os.RemoveAll(dir); os.Mkdir(dir, 0o755); shell(t, dir, "init", "-q") },
		"index": func(dir string) {
			put(t, shell(t, dir, "rev-parse", "--git-path", "index"), "DIRC is not enough")
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := attempt(t, repository(t, "fine"), repository(t, "app"))
			breakIt(filepath.Join(tree.Dir, "app"))
			changes, err := tree.Changes(t.Context(), Balanced, true)
			if err != nil || changes.Blocked != SummaryFailed || !strings.HasPrefix(changes.Detail, "app: ") || len(changes.Files) > 0 {
				t.Errorf("Changes = %+v, %v; want summary_failed for app", changes, err)
			}
			patch, err := tree.Patch(t.Context(), []string{"app"}, 0, Balanced, true)
			if err != nil || patch.Blocked != SummaryFailed || patch.Text != "" {
				t.Errorf("Patch = %+v, %v; want summary_failed", patch, err)
			}
		})
	}
}

func TestChangesAreAgainstWhereTheTargetWasLeft(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	tree := attempt(t, repo)
	put(t, filepath.Join(tree.Dir, "app", "work.txt"), "w\n")
	check := func(when string) {
		t.Helper()
		if changes, err := tree.Changes(t.Context(), Balanced, false); err != nil || list(changes.Files) != "app/work.txt added +1 -0 2\n" {
			t.Errorf("%s: Changes = %+v, %v; want work.txt alone", when, changes, err)
		}
	}
	put(t, filepath.Join(repo, "theirs.txt"), "t\n")
	shell(t, repo, "add", "-A")
	shell(t, repo, "commit", "-qm", "theirs")
	check("the target went on")
	shell(t, filepath.Join(tree.Dir, "app"), "merge", "-q", "main")
	check("the target was merged")
	shell(t, filepath.Join(tree.Dir, "app"), "reset", "-q", "--hard", tree.Repos[0].Base)
	put(t, filepath.Join(tree.Dir, "app", "work.txt"), "w\n")
	shell(t, repo, "checkout", "-q", "-b", "other")
	shell(t, repo, "branch", "-D", "main")
	check("the target was deleted")
	shell(t, filepath.Join(tree.Dir, "app"), "checkout", "-q", "--detach")
	check("the agent detached the head")
	shell(t, repo, "checkout", "-q", "--orphan", "main")
	shell(t, repo, "commit", "-qm", "rewritten")
	check("the target was rewritten")
}

// T-120, T-121.
func TestPathsOfTwoRepositoriesDoNotMeet(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "web"), repository(t, "api"))
	for _, r := range []string{"web", "api"} {
		put(t, filepath.Join(tree.Dir, r, "same.txt"), r+"\n")
	}
	changes, err := tree.Changes(t.Context(), Balanced, false)
	if got, want := list(changes.Files), "api/same.txt added +1 -0 4\nweb/same.txt added +1 -0 4\n"; err != nil || got != want {
		t.Errorf("Changes = %s, %v; want %s", got, err, want)
	}
	patch, err := tree.Patch(t.Context(), []string{"web/same.txt"}, 0, Balanced, false)
	if err != nil || !strings.Contains(patch.Text, "+web") || strings.Contains(patch.Text, "+api") {
		t.Errorf("Patch = %+v, %v", patch, err)
	}
}

func TestARepositoryThatTheAgentMadeIsLeftAlone(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	inner := filepath.Join(tree.Dir, "app", "inner")
	os.Mkdir(inner, 0o755)
	shell(t, inner, "init", "-q")
	put(t, filepath.Join(inner, "x.txt"), "x")
	put(t, filepath.Join(tree.Dir, "app", "work.txt"), "w\n")
	if changes, err := tree.Changes(t.Context(), Balanced, false); err != nil || list(changes.Files) != "app/work.txt added +1 -0 2\n" {
		t.Errorf("Changes = %+v, %v", changes, err)
	}
	if n, err := tree.Commit(t.Context(), "w"); n != 1 || err != nil {
		t.Errorf("Commit = %d, %v", n, err)
	}
	if got := shell(t, filepath.Join(tree.Dir, "app"), "ls-files", "inner"); got != "" {
		t.Errorf("committed %s", got)
	}
}

func FuzzReadDiff(f *testing.F) {
	f.Add(":000000 100644 0000 1111 A\x00a\x00", "1\t0\ta\x00")
	f.Add(":100644 100644 0000 1111 R100\x00a\x00b\x00", "0\t0\t\x00a\x00b\x00")
	f.Fuzz(func(t *testing.T, listed, counted string) {
		var raw rawReader
		for _, part := range fields([]byte(listed)) {
			if _, _, err := raw.next(part); err != nil {
				break
			}
		}
		var numbers numstatReader
		for _, part := range fields([]byte(counted)) {
			if _, _, err := numbers.next(part); err != nil {
				break
			}
		}
	})
}

// The promised time is less than 0.6 s.
func BenchmarkChangesOf5000Files(b *testing.B) {
	private(b)
	dir := filepath.Join(b.TempDir(), "app")
	os.Mkdir(dir, 0o755)
	shell(b, dir, "init", "-q", "-b", "main")
	for i := range 5000 {
		put(b, filepath.Join(dir, fmt.Sprintf("d%02d", i%50), fmt.Sprintf("f%04d.go", i)), strings.Repeat(fmt.Sprintf("line %d of a file\n", i), 100))
	}
	shell(b, dir, "add", "-A")
	shell(b, dir, "commit", "-q", "-m", "first")
	tree := attempt(b, dir)
	for i := range 300 {
		put(b, filepath.Join(tree.Dir, "app", fmt.Sprintf("d%02d", i%50), fmt.Sprintf("f%04d.go", i)), strings.Repeat("another line\n", 90))
	}
	for i := range 50 {
		put(b, filepath.Join(tree.Dir, "app", "new", fmt.Sprintf("n%d.go", i)), strings.Repeat("new\n", 100))
	}
	for b.Loop() {
		if changes, err := tree.Changes(b.Context(), Guard{}, false); err != nil || changes.Summary.Files != 350 {
			b.Fatal(changes.Summary, changes.Detail, err)
		}
	}
}
