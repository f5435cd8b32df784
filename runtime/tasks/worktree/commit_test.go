package worktree

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// After a commit, git finds no uncommitted changes, however files and folders were
// replaced by each other or by links.
func TestCommitTakesWhatIsOnTheDisk(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	dir := filepath.Join(tree.Dir, "app")
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		var did []string
		for i := range 1 + random.IntN(10) {
			did = append(did, disturb(random, dir, i))
		}
		if _, err := tree.Changes(t.Context(), Guard{}, true); err != nil {
			t.Errorf("seed %d: Changes after %q: %v", seed, did, err)
		}
		if _, err := tree.Commit(t.Context(), "x"); err != nil {
			t.Fatalf("seed %d: Commit after %q: %v", seed, did, err)
		}
		if left := shell(t, dir, "status", "--porcelain"); left != "" {
			t.Fatalf("seed %d: after %q these are not committed:\n%s", seed, did, left)
		}
	}
}

// disturb changes a file or folder in dir, and describes the change.
func disturb(random *rand.Rand, dir string, i int) string {
	var files, folders []string
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case d.Name() == ".git" || path == dir:
		case d.IsDir():
			folders = append(folders, path)
		default:
			files = append(files, path)
		}
		return err
	})
	new := filepath.Join(dir, fmt.Sprint("new", i%3), fmt.Sprint("file", random.IntN(9)))
	if len(files) == 0 || len(folders) == 0 || random.IntN(3) == 0 {
		os.MkdirAll(filepath.Dir(new), 0o755)
		os.WriteFile(new, []byte(fmt.Sprint(random.Uint64())), 0o644)
		return "write " + new
	}
	file, folder := files[random.IntN(len(files))], folders[random.IntN(len(folders))]
	switch random.IntN(7) {
	case 0:
		os.Remove(file)
		return "remove " + file
	case 1:
		os.Remove(file)
		os.Mkdir(file, 0o755)
		return "empty folder for " + file
	case 2:
		os.Remove(file)
		os.Mkdir(file, 0o755)
		os.WriteFile(filepath.Join(file, "in"), nil, 0o644)
		return "folder for " + file
	case 3:
		os.RemoveAll(folder)
		os.WriteFile(folder, []byte("was a folder"), 0o644)
		return "file for " + folder
	case 4:
		os.RemoveAll(folder)
		os.Symlink("..", folder)
		return "link for " + folder
	case 5:
		os.Remove(file)
		os.Symlink("nowhere", file)
		return "link for " + file
	}
	os.WriteFile(file, []byte(fmt.Sprint(random.Uint64())), 0o644)
	return "change " + file
}

// A file that git never adds is left out, and does not prevent the commit of the
// others.
func TestANameThatGitDoesNotTakeIsLeftOut(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	dir := filepath.Join(tree.Dir, "app")
	for _, name := range []string{"git~1/config", "src/GIT~1", `a\.git`, `git~1\x`, "good.txt"} {
		put(t, filepath.Join(dir, name), "x")
	}
	c, err := tree.Changes(t.Context(), Balanced, false)
	if err != nil || c.Blocked != "" || len(c.Files) != 1 || c.Files[0].Path != "app/good.txt" {
		t.Errorf("Changes = %+v, %v; want app/good.txt", c, err)
	}
	if _, err := tree.Commit(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if got := shell(t, dir, "diff", "--name-only", tree.Repos[0].Base, "HEAD"); got != "good.txt" {
		t.Errorf("committed %q, want good.txt", got)
	}
}

// Files outside a sparse checkout are committed like others.
func TestFilesOutsideOfASparseCheckoutAreCommitted(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	shell(t, repo, "sparse-checkout", "set", "src")
	tree := attempt(t, repo)
	dir := filepath.Join(tree.Dir, "app")
	shell(t, dir, "sparse-checkout", "set", "src")
	put(t, filepath.Join(dir, "docs", "new.md"), "new")
	put(t, filepath.Join(dir, "src", "b.go"), "package a\n")
	if _, err := tree.Commit(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(shell(t, dir, "diff", "--name-only", tree.Repos[0].Base, "HEAD")); fmt.Sprint(got) != "[docs/new.md src/b.go]" {
		t.Errorf("committed %q, want docs/new.md and src/b.go alone", got)
	}
}

func BenchmarkChangesOf50000NewFiles(b *testing.B) {
	private(b)
	tree := attempt(b, repository(b, "app"))
	for i := range 50_000 {
		put(b, filepath.Join(tree.Dir, "app", "new", fmt.Sprint(i%100), fmt.Sprint(i)), "")
	}
	for b.Loop() {
		if c, err := tree.Changes(b.Context(), Balanced, false); err != nil || c.Summary.Files != 50_000 {
			b.Fatalf("Changes = %+v, %v", c.Summary, err)
		}
	}
}
