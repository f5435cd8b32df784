package indexer

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// corpus writes files, by path, into a new folder.
func corpus(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, dir, name, text)
	}
	return dir
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// walked walks dir and returns the paths of its pages.
func walked(t *testing.T, dir string, pick selection, gitIgnore bool) (pages []string, f *found) {
	t.Helper()
	root, err := resolveRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	pick.gitIgnore = gitIgnore
	f, err = walk(t.Context(), root, pick, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.pages {
		pages = append(pages, p.path)
	}
	return pages, f
}

func wantPaths(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s = %q, want %q", what, got, want)
	}
}

// wantProblems compares problems as lines.
func wantProblems(t *testing.T, got []Problem, want ...string) {
	t.Helper()
	var lines []string
	for _, p := range got {
		lines = append(lines, p.String())
	}
	if !slices.Equal(lines, want) {
		t.Errorf("problems:\n  %s\nwant:\n  %s", strings.Join(lines, "\n  "), strings.Join(want, "\n  "))
	}
}

func wantFault(t *testing.T, err error, code, message string) {
	t.Helper()
	f := fault.Of(err)
	if f == nil || f.Code != code || !strings.Contains(f.Message, message) {
		t.Errorf("err = %v (%+v), want fault %q with %q", err, f, code, message)
		return
	}
	if f.Hint == "" {
		t.Errorf("fault %q has no hint", f.Code)
	}
}

func mustBe(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("err = %v, want %v", err, want)
	}
}
