package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/deskhand/deskhand/runtime/waittest"
)

const ann = "[user]\n\tname = Ann\n\temail = ann@example.com\n"

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0000000000000000000000000000000000000000000000000000000000000007\nsize 12\n"

// If LFS filters cannot run, a checkout and a commit report it with a hint, and the
// files stay. If no filter is configured, pointers are ordinary files.
func TestFiltersOfLargeFilesThatDoNotRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: a path without git-lfs is made with links here")
	}
	config := private(t)
	repo := repository(t, "app")
	put(t, filepath.Join(repo, ".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	put(t, filepath.Join(repo, "big.bin"), pointer)
	shell(t, repo, "add", "-A")
	shell(t, repo, "commit", "-qm", "large")
	tree := attempt(t, repo)
	dir := filepath.Join(tree.Dir, "app")
	if got, err := os.ReadFile(filepath.Join(dir, "big.bin")); err != nil || string(got) != pointer {
		t.Fatalf("without filters the file is %q, %v", got, err)
	}

	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() // without git-lfs
	if err := os.Symlink(program, filepath.Join(path, "git")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path)
	put(t, config, ann+"[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n")
	put(t, filepath.Join(dir, "new.bin"), "large\n")
	_, err = tree.Commit(t.Context(), "new")
	wantFault(t, "Commit where git-lfs is not installed", err, FilterFailed)
	if got, err := os.ReadFile(filepath.Join(dir, "new.bin")); err != nil || string(got) != "large\n" {
		t.Errorf("the file of the agent is %q, %v", got, err)
	}
	if err := tree.Remove(t.Context(), false); err == nil {
		t.Error("the folder was removed with what is not committed")
	}
	other := Tree{Dir: filepath.Join(filepath.Dir(tree.Dir), "other"), Branch: "deskhand/other", Repos: tree.Repos}
	_, err = other.Add(t.Context())
	wantFault(t, "Add where git-lfs is not installed", err, FilterFailed)

	put(t, config, ann+"[filter \"lfs\"]\n\tclean = cat\n\tsmudge = cat\n\trequired = true\n")
	t.Setenv("PATH", path+string(os.PathListSeparator)+"/usr/bin"+string(os.PathListSeparator)+"/bin")
	if n, err := tree.Commit(t.Context(), "new"); n != 1 || err != nil {
		t.Errorf("Commit once the filters run = %d, %v", n, err)
	}
}

// A checkout that takes long does not hold up the other attempts of the repository: two
// checkouts run at the same time, and a third attempt can end meanwhile.
func TestSlowCheckoutsRunConcurrently(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the slow filter is a shell script")
	}
	config := private(t)
	repo := repository(t, "app")
	ended := attempt(t, repo)
	put(t, filepath.Join(repo, ".gitattributes"), "*.slow filter=slow\n")
	put(t, filepath.Join(repo, "a.slow"), "a\n")
	shell(t, repo, "add", "-A")
	shell(t, repo, "commit", "-qm", "slow")
	begun, open := t.TempDir(), filepath.Join(t.TempDir(), "open")
	put(t, config, ann+fmt.Sprintf("[filter \"slow\"]\n\tclean = cat\n\tsmudge = \"touch %s/$$; until test -e %s; do sleep 0.02; done; cat\"\n", begun, open))
	results := make(chan error)
	for i := range 2 {
		tree := Tree{Dir: filepath.Join(t.TempDir(), fmt.Sprint(i)), Branch: fmt.Sprint("deskhand/slow", i), Repos: []Repo{{Name: "app", Path: repo, Target: "main"}}}
		go func() {
			_, err := tree.Add(t.Context())
			results <- err
		}()
	}
	waittest.Until(t, "both checkouts have begun", func() (bool, any) {
		files, err := os.ReadDir(begun)
		return len(files) == 2, fmt.Sprint(len(files), err)
	})
	if err := ended.Unlock(t.Context()); err != nil {
		t.Errorf("Unlock during two checkouts: %v", err)
	}
	put(t, open, "")
	for range 2 {
		if err := <-results; err != nil {
			t.Errorf("Add: %v", err)
		}
	}
}

// If git is killed while it brings a worktree back, its files are not complete. Nobody may
// take the missing ones for deletions: the worktree counts as missing until it is whole.
func TestACheckoutThatWasKilledIsRepeated(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the filter that kills git is a shell script")
	}
	config := private(t)
	repo := repository(t, "app")
	put(t, filepath.Join(repo, ".gitattributes"), "m.txt filter=deadly\n")
	put(t, filepath.Join(repo, "m.txt"), "m\n")
	shell(t, repo, "add", "-A")
	shell(t, repo, "commit", "-qm", "more")
	tree := attempt(t, repo)
	if err := tree.Remove(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	put(t, config, ann+"[filter \"deadly\"]\n\tclean = cat\n\tsmudge = \"kill -9 $PPID; cat\"\n")
	if err := tree.Recreate(t.Context()); err == nil {
		t.Fatal("Recreate = nil, although git was killed")
	}
	if _, err := os.Stat(filepath.Join(tree.Dir, "app", ".gitattributes")); err != nil {
		t.Fatalf("the killed checkout has left nothing, so this test shows nothing: %v", err)
	}
	if tree.Present(t.Context()) {
		t.Error("Present = true for half a checkout")
	}
	put(t, config, ann)
	if err := tree.Recreate(t.Context()); err != nil {
		t.Fatalf("Recreate once git lives: %v", err)
	}
	if got := shell(t, filepath.Join(tree.Dir, "app"), "status", "--porcelain"); got != "" || !tree.Present(t.Context()) {
		t.Errorf("status %q, present %v; want a whole worktree", got, tree.Present(t.Context()))
	}
}
