package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// T-167.
func TestFileReadsBytesAndLines(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	put(t, filepath.Join(tree.Dir, "app", "lines.txt"), "one\ntwo\nthrée\nfour")
	put(t, filepath.Join(tree.Dir, "app", "empty.txt"), "")
	put(t, filepath.Join(tree.Dir, "app", "bin.dat"), "a\x00b")
	put(t, filepath.Join(tree.Dir, "app", "latin.txt"), "caf\xe9\n")
	put(t, filepath.Join(tree.Dir, "app", "big.txt"), strings.Repeat("0123456789abcde\n", 64<<10))
	for _, c := range []struct {
		path string
		s    Slice
		want string
	}{
		{"app/lines.txt", Slice{}, `0 "one\ntwo\nthrée\nfour"`},
		{"app/lines.txt", Slice{Start: 4, MaxBytes: 3}, `4 "two" more`},
		{"app/lines.txt", Slice{MaxBytes: 12}, `0 "one\ntwo\nthr" more`},
		{"app/lines.txt", Slice{Start: 99}, `99 ""`},
		{"app/lines.txt", Slice{Start: -5, MaxBytes: 1}, `0 "o" more`},
		{"app/lines.txt", Slice{StartLine: 2, EndLine: 3}, `4 "two\nthrée\n"`},
		{"app/lines.txt", Slice{StartLine: 4}, `15 "four"`},
		{"app/lines.txt", Slice{EndLine: 1}, `0 "one\n"`},
		{"app/lines.txt", Slice{StartLine: 3, EndLine: 2}, `0 ""`},
		{"app/lines.txt", Slice{StartLine: 9}, `19 ""`},
		{"app/lines.txt", Slice{StartLine: 2, MaxBytes: 5}, `4 "two\nt" more`},
		{"app/empty.txt", Slice{}, `0 ""`},
		{"app/bin.dat", Slice{}, `0 "a\x00b" binary`},
		{"app/latin.txt", Slice{}, `0 "caf\xe9\n" binary`},
		{"app/./src/../lines.txt", Slice{MaxBytes: 3}, `0 "one" more`},
	} {
		file, err := tree.File(t.Context(), c.path, c.s)
		got := fmt.Sprintf("%d %q", file.Start, file.Content)
		if file.Truncated {
			got += " more"
		}
		if file.Binary {
			got += " binary"
		}
		if err != nil || file.Blocked != "" || got != c.want {
			t.Errorf("File(%q, %+v) = %s %+v, %v; want %s", c.path, c.s, got, file.Detail, err, c.want)
		}
	}
	if file, err := tree.File(t.Context(), "app/big.txt", Slice{}); err != nil || len(file.Content) != 64<<10 || !file.Truncated || file.Total != 1<<20 {
		t.Errorf("File(big) = %d of %d bytes, %v; want 64 KiB of 1 MiB", len(file.Content), file.Total, err)
	}
	if file, err := tree.File(t.Context(), "app/big.txt", Slice{MaxBytes: 512<<10 + 1}); err != nil || file.Blocked != SizeExceeded || file.Content != nil {
		t.Errorf("File(big, 512 KiB + 1) = %s, %v; want size_exceeded", file.Blocked, err)
	}
	_, err := tree.File(t.Context(), "app/none.txt", Slice{})
	wantFault(t, "File(none)", err, "not_found")
	_, err = tree.File(t.Context(), "app/lines.txt/x", Slice{})
	wantFault(t, "File(below a file)", err, "not_found")
	_, err = tree.File(t.Context(), "app/src", Slice{})
	wantFault(t, "File(folder)", err, "invalid_argument")
	os.RemoveAll(filepath.Join(tree.Dir, "app"))
	_, err = tree.File(t.Context(), "app/lines.txt", Slice{})
	wantFault(t, "File without worktree", err, "worktree_missing")
}

// T-172.
func TestNothingOutsideIsRead(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"), repository(t, "lib"))
	secret := filepath.Join(filepath.Dir(tree.Dir), "secret.txt")
	put(t, secret, "SECRET")
	dir := filepath.Join(tree.Dir, "app")
	for name, target := range map[string]string{
		"absolute": secret, "up": "../../../secret.txt", "folder": filepath.Dir(tree.Dir), "gitfile": ".git", "loop": "loop",
		"gitdir": filepath.Join(tree.Repos[0].Path, ".git"), "inner": "made/.git/config", "chain": "up", "marker": "../.deskhand-attempt",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skipf("NOT TESTED: no symbolic links here: %v", err)
		}
	}
	os.Mkdir(filepath.Join(dir, "made"), 0o755)
	shell(t, filepath.Join(dir, "made"), "init", "-q")
	for _, path := range []string{
		"", "/", ".", "..", "app/../..", "../secret.txt", "app/../../secret.txt", "/etc/passwd", secret, "app/absolute", "app/up", "app/folder/secret.txt",
		"app/.git", "app/.GIT", "app/.git/config", "app/.git/../../x", "app/gitfile", "app/gitdir/config", "app/inner", "app/made/.git/config", "app/chain",
		"app/loop", "app/git~1", "app/.git.", "app/.g\u200cit", "app/.git::$INDEX_ALLOCATION", "none/x", "app\x00/x", "app/marker", marker, strings.Repeat("a/", 3000),
		"\"app/\\056git\"", "\"app/\\056\\056/\\056\\056/secret.txt\"", "\"app", "\"app/\\9\"",
	} {
		file, err := tree.File(t.Context(), path, Slice{})
		if err != nil || file.Blocked != OutsideWorkspace || len(file.Content) > 0 {
			t.Errorf("File(%q) = %+v, %v; want path_outside_workspace", path, file, err)
		}
	}
	os.Symlink("src/a.go", filepath.Join(dir, "inside"))
	os.Symlink("../../lib/readme.md", filepath.Join(dir, "src", "sibling"))
	for _, path := range []string{"app/inside", "app/src/sibling"} {
		if file, err := tree.File(t.Context(), path, Slice{}); err != nil || file.Blocked != "" || len(file.Content) == 0 {
			t.Errorf("File(%q) = %+v, %v; want what the link leads to", path, file, err)
		}
	}
	changes, err := tree.Changes(t.Context(), Balanced, false)
	if err != nil || changes.Blocked != "" {
		t.Fatal(changes, err)
	}
	patch, err := tree.Patch(t.Context(), []string{"app"}, 0, Balanced, true)
	if err != nil || strings.Contains(patch.Text, "SECRET") {
		t.Errorf("Patch shows what links lead to: %+v, %v", patch, err)
	}
	put(t, filepath.Join(dir, "src", "b.go"), "package b\n")
	os.Symlink("src", filepath.Join(dir, "sources"))
	for path, want := range map[string]struct{ blocked, has string }{
		"app/folder":            {"", "+" + filepath.Dir(tree.Dir)}, // the link itself
		"app/folder/secret.txt": {OutsideWorkspace, ""},
		"app/folder/not/there":  {OutsideWorkspace, ""},
		"app/gitdir/config":     {OutsideWorkspace, ""},
		"app/loop/x":            {OutsideWorkspace, ""},
		"app/sources/b.go":      {"", "+package b"},
		"app/nothing/there":     {"", ""},
	} {
		patch, err := tree.Patch(t.Context(), []string{path}, 0, Balanced, true)
		if err != nil || patch.Blocked != want.blocked || !strings.Contains(patch.Text, want.has) || want.has == "" && patch.Text != "" {
			t.Errorf("Patch(%q) = %+v, %v; want blocked %q and %q", path, patch, err, want.blocked, want.has)
		}
	}
}

// A folder that was replaced by a link is deleted for git. The content of the link's
// target does not belong to it.
func TestAPatchOfAFolderThatBecameALink(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	dir, outside := filepath.Join(tree.Dir, "app"), t.TempDir()
	put(t, filepath.Join(outside, "a.go"), "SECRET")
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "src")), os.Symlink(outside, filepath.Join(dir, "src"))); err != nil {
		t.Skipf("NOT TESTED: no symbolic links here: %v", err)
	}
	patch, err := tree.Patch(t.Context(), []string{"app/src/a.go"}, 0, Balanced, true)
	if err != nil || patch.Blocked != "" || !strings.Contains(patch.Text, "deleted file") || strings.Contains(patch.Text, "SECRET") {
		t.Errorf("Patch = %+v, %v; want the deletion", patch, err)
	}
}

// A folder and a file that are repeatedly swapped for links never reveal content from
// outside.
func TestNothingOutsideIsReadInARace(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	outside := filepath.Join(filepath.Dir(tree.Dir), "outside")
	put(t, filepath.Join(outside, "f.txt"), "SECRET")
	dir := filepath.Join(tree.Dir, "app")
	put(t, filepath.Join(dir, "d", "f.txt"), "inside")
	put(t, filepath.Join(dir, "f.txt"), "inside")
	if err := os.Symlink(outside, filepath.Join(dir, "d.link")); err != nil {
		t.Skipf("NOT TESTED: no symbolic links here: %v", err)
	}
	os.Symlink(filepath.Join(outside, "f.txt"), filepath.Join(dir, "f.link"))
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		swap := func(a, b string) {
			os.Rename(filepath.Join(dir, a), filepath.Join(dir, "tmp"))
			os.Rename(filepath.Join(dir, b), filepath.Join(dir, a))
			os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, b))
		}
		for !stop.Load() {
			swap("d", "d.link")
			swap("f.txt", "f.link")
		}
	}()
	seen := map[string]int{}
	for i := range 4000 {
		file, err := tree.File(t.Context(), []string{"app/d/f.txt", "app/f.txt"}[i%2], Slice{})
		if strings.Contains(string(file.Content), "SECRET") {
			t.Fatalf("File gave %q, %v", file.Content, err)
		}
		if f := fault.Of(err); err != nil && (f == nil || f.Code != "not_found") {
			t.Errorf("File: %v, want none but not_found", err)
		}
		seen[string(file.Content)+file.Blocked]++
	}
	stop.Store(true)
	<-done
	if seen["inside"] == 0 || seen[OutsideWorkspace] == 0 {
		t.Errorf("the race was not one: %v", seen)
	}
}

func FuzzInside(f *testing.F) {
	for _, s := range []string{"app/x", "../x", `"app/\056git"`, "app/.git/x", "app//./x/../y"} {
		f.Add(s)
	}
	tree := Tree{Dir: "/d", Repos: []Repo{{Name: "app"}}}
	f.Fuzz(func(t *testing.T, path string) {
		clean, _, err := tree.inside(path)
		if err != nil {
			return
		}
		if !strings.HasPrefix(clean+"/", "app/") || strings.Contains("/"+clean+"/", "/../") || strings.Contains(strings.ToLower("/"+clean+"/"), "/.git/") {
			t.Errorf("inside(%q) = %q", path, clean)
		}
		if again, _, err := tree.inside(quote(clean)); err != nil || again != clean {
			t.Errorf("inside(quote(%q)) = %q, %v", clean, again, err)
		}
	})
}

func TestOnOneLineKeepsANameOnOneLine(t *testing.T) {
	for path, want := range map[string]string{
		"shop/a b.txt":      "shop/a b.txt",
		"shop/grün":         "shop/grün",
		`shop/a"b`:          `shop/a"b`,
		"shop/a\n- b":       `"shop/a\012- b"`,
		"shop/\x1b[31mred":  `"shop/\033[31mred"`,
		"shop/\xff":         `"shop/\377"`,
		"\"shop\"/a":        `"\"shop\"/a"`,
		"shop/tab\tand\x7f": `"shop/tab\011and\177"`,
	} {
		got := OnOneLine(quote(path))
		if got != want {
			t.Errorf("OnOneLine(quote(%q)) = %s, want %s", path, got, want)
		}
		if back, err := unquote(got); err != nil || back != path {
			t.Errorf("unquote(%s) = %q, %v; want %q", got, back, err, path)
		}
	}
}
