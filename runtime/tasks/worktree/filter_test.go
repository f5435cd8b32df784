package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
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
