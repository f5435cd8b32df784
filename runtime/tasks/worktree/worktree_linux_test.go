package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/waittest"
	"time"

	"golang.org/x/sys/unix"
)

func TestAPipeDoesNotHang(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	if err := syscall.Mkfifo(filepath.Join(tree.Dir, "app", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := tree.File(t.Context(), "app/pipe", Slice{})
		done <- err
	}()
	select {
	case err := <-done:
		wantFault(t, "File(pipe)", err, "invalid_argument")
	case <-time.After(waittest.Patience):
		t.Fatal("File(pipe) hangs")
	}
	if changes, err := tree.Changes(t.Context(), Balanced, false); err != nil || changes.Blocked != "" {
		t.Errorf("Changes beside a pipe = %+v, %v", changes, err)
	}
}

// Root can read every file, so the reading thread drops this capability.
func TestAFileThatMayNotBeReadIsRefused(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	name := filepath.Join(tree.Dir, "app", "closed.txt")
	put(t, name, "closed")
	if err := os.Chmod(name, 0); err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		none := [2]unix.CapUserData{}
		if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
			read <- err
			return
		}
		_, err := tree.File(t.Context(), "app/closed.txt", Slice{})
		read <- err
	}()
	wantFault(t, "File of mode 0", <-read, "invalid_argument")
}

func TestARepositoryOfAnotherUserSaysWhatToDo(t *testing.T) {
	private(t)
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: only root can give a repository away")
	}
	repo := repository(t, "app")
	if err := os.Chown(repo, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	os.Chown(filepath.Join(repo, ".git"), 12345, 12345)
	put(t, filepath.Join(repo, "docs", "a.md"), "a")
	_, err := Inspect(t.Context(), filepath.Join(repo, "docs"))
	wantFault(t, "Inspect", err, "repo_not_trusted")
	if f := fault.Of(err); f != nil && f.Hint != "git config --global --add safe.directory "+repo {
		t.Errorf("Inspect of a folder in %s hints %q", repo, f.Hint)
	}
	tree := Tree{Dir: filepath.Join(t.TempDir(), "a"), Branch: "x", Repos: []Repo{{Name: "app", Path: repo, Target: "main"}}}
	_, err = tree.Add(t.Context())
	wantFault(t, "Add", err, "repo_not_trusted")
}

func TestAFullDiskLeavesTheRepositoryAsItWas(t *testing.T) {
	private(t)
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("NOT TESTED: a small disk cannot be mounted: %v", err)
	}
	defer syscall.Unmount(small, 0)
	repo := repository(t, "app")
	put(t, filepath.Join(repo, "big.txt"), strings.Repeat("0123456789\n", 50_000))
	shell(t, repo, "add", "-A")
	shell(t, repo, "commit", "-qm", "big")
	before := state(t, repo)
	tree := Tree{Dir: filepath.Join(small, "attempts", "a"), Branch: "deskhand/x", Repos: []Repo{{Name: "app", Path: repo, Target: "main"}}}
	if _, err := tree.Add(t.Context()); err == nil {
		t.Error("Add on a full disk: no error")
	} else {
		t.Logf("Add on a full disk: %v", err)
	}
	if _, err := os.Lstat(tree.Dir); err == nil {
		t.Errorf("%s is still there", tree.Dir)
	}
	if out := shell(t, repo, "branch", "--list", "deskhand/*"); out != "" {
		t.Errorf("branches %q stay", out)
	}
	if after := state(t, repo); after != before {
		t.Errorf("the repository was\n%s\nand is\n%s", before, after)
	}
	shell(t, repo, "fsck")
}

// Other systems reject some of these names.
func TestNamesOfEveryKindAreShownAndFound(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "an app"))
	names := []string{"sp ace.txt", "new\nline.txt", "tab\t.txt", "-dash", `"quoted"`, "caf\xe9.txt", ":(glob)*", "*.md", "ünï.txt", `back\slash`, "#hash", "%41"}
	for _, n := range names {
		put(t, filepath.Join(tree.Dir, "an app", n), "text of "+fmt.Sprintf("%q", n)+"\n")
	}
	for _, stage := range []string{"untracked", "committed", "deleted"} {
		changes, err := tree.Changes(t.Context(), Balanced, false)
		if err != nil || len(changes.Files) != len(names) {
			t.Fatalf("%s: Changes = %+v, %v; want %d files", stage, changes, err, len(names))
		}
		for _, f := range changes.Files {
			file, err := tree.File(t.Context(), f.Path, Slice{})
			if !strings.HasPrefix(string(file.Content), "text of ") {
				t.Errorf("%s: File(%q) = %+v, %v", stage, f.Path, file, err)
			}
			patch, err := tree.Patch(t.Context(), []string{f.Path}, 0, Balanced, false)
			if err != nil || strings.Count(patch.Text, "+text of ") != 1 {
				t.Errorf("%s: Patch(%q) = %+v, %v", stage, f.Path, patch, err)
			}
		}
		if stage == "untracked" {
			if n, err := tree.Commit(t.Context(), "names"); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if stage == "committed" {
			break
		}
	}
}
