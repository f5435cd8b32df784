package worktree

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// strangelyNamed adds files to an attempt whose patches are hard to tell apart.
func strangelyNamed(t *testing.T, tree Tree) {
	t.Helper()
	dir := filepath.Join(tree.Dir, "app")
	put(t, filepath.Join(dir, "with space b", "x"), "1\n")
	put(t, filepath.Join(dir, "ünï.txt"), "diff --git a/readme.md b/readme.md\n")
	put(t, filepath.Join(dir, "empty"), "")
	put(t, filepath.Join(dir, "blank.txt"), "  one\n")
	if runtime.GOOS != "windows" {
		put(t, filepath.Join(dir, "tab\tand\"quote"), "q\n")
	}
	put(t, filepath.Join(dir, "old.txt", "inside"), "a folder now\n")
}

func TestFilesAreComparedTogetherAsAlone(t *testing.T) {
	private(t)
	tree := worked(t)
	strangelyNamed(t, tree)
	all := func(files []FileChange) []FileChange { return files }
	compare := func(what string, tree Tree) {
		t.Helper()
		for _, space := range []bool{false, true} {
			changes, together, err := tree.ChangesWith(t.Context(), Guard{}, true, space, all)
			if err != nil || changes.Blocked != "" || len(together) != len(changes.Files) || len(together) < 10 {
				t.Fatalf("%s: ChangesWith = %+v, %d files, %v", what, changes, len(together), err)
			}
			for path, got := range together {
				alone, ok, err := tree.Diff(t.Context(), path, space)
				alone.Added, alone.Deleted = got.Added, got.Deleted // Diff does not count
				alone.FileChange.Binary = got.FileChange.Binary
				if err != nil || !ok || !reflect.DeepEqual(got, alone) {
					t.Errorf("%s, space %v: %s together is\n%+v\nand alone, %v, %v,\n%+v", what, space, path, got, ok, err, alone)
				}
				if n := strings.Count("\n"+got.Patch, "\ndiff --git "); n > 1 {
					t.Errorf("%s: the patch of %s has %d files", what, path, n)
				}
			}
		}
	}
	compare("on the disk", tree)
	if _, err := tree.Commit(t.Context(), "work"); err != nil {
		t.Fatal(err)
	}
	if err := tree.Remove(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	tree.Stored = true
	compare("stored", tree)
	d, ok, err := tree.Diff(t.Context(), "app/readme.md", false)
	if err != nil || !ok || string(d.New) != "one\nTWO\nthree\nfour\n" || !strings.HasPrefix(string(d.Old), "one\ntwo") {
		t.Errorf("stored: readme.md is %q, was %q, %v, %v", d.New, d.Old, ok, err)
	}
}

func TestTheLargerGuardIsUsed(t *testing.T) {
	for _, c := range []struct{ a, b, want Guard }{
		{Safe, Relaxed, Relaxed},
		{Guard{}, Relaxed, Guard{}},
		{Guard{Files: 2000, Lines: 1, Bytes: 0}, Relaxed, Guard{2000, 60_000, 0}},
	} {
		if got := c.a.AtLeast(c.b); got != c.want {
			t.Errorf("%v.AtLeast(%v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// Two renames can have patches with the same first line, "diff --git a/p b/q b/r".
func TestPatchesOfRenamesStayApart(t *testing.T) {
	private(t)
	app := repository(t, "app")
	put(t, filepath.Join(app, "p b", "q"), strings.Repeat("the first file\n", 20))
	put(t, filepath.Join(app, "p"), strings.Repeat("the second file\n", 20))
	shell(t, app, "add", "-A")
	shell(t, app, "commit", "-q", "-m", "names")
	tree := attempt(t, app)
	dir := filepath.Join(tree.Dir, "app")
	for _, name := range []string{"p", "p b/q"} {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, "r"), strings.Repeat("the first file\n", 20)+"FIRST\n")
	put(t, filepath.Join(dir, "q b", "r"), strings.Repeat("the second file\n", 20)+"SECOND\n")
	_, found, err := tree.ChangesWith(t.Context(), Guard{}, true, false, func(files []FileChange) []FileChange { return files })
	if err != nil || len(found) != 2 {
		t.Fatalf("ChangesWith = %v, %v", found, err)
	}
	for path, want := range map[string]string{"app/r": "+FIRST\n", "app/q b/r": "+SECOND\n"} {
		if got := found[path].Patch; found[path].OldPath == "" || !strings.Contains(got, want) || strings.Count("\n"+got, "\ndiff --git ") != 1 {
			t.Errorf("%s: %+v has the patch\n%s", path, found[path].FileChange, got)
		}
	}
}

// Git takes a carriage return off the end of each line of its input.
func TestStoredContentIsThatOfTheFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a name cannot have a carriage return")
	}
	private(t)
	tree := attempt(t, repository(t, "app"))
	dir := filepath.Join(tree.Dir, "app")
	put(t, filepath.Join(dir, "run.sh"), "harmless\n")
	put(t, filepath.Join(dir, "run.sh\r"), "harmful\n")
	put(t, filepath.Join(dir, "run\nsh"), "another\n")
	if _, err := tree.Commit(t.Context(), "work"); err != nil {
		t.Fatal(err)
	}
	if err := tree.Remove(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	tree.Stored = true
	_, found, err := tree.ChangesWith(t.Context(), Guard{}, true, false, func(files []FileChange) []FileChange { return files })
	if err != nil || len(found) != 3 {
		t.Fatalf("ChangesWith = %v, %v", found, err)
	}
	for _, d := range found {
		if _, text, _ := strings.Cut(d.Patch, "@@\n+"); text != string(d.New) {
			t.Errorf("%q adds %q, and is %q", d.name, text, d.New)
		}
	}
}
