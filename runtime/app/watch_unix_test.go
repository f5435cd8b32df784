//go:build unix

package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deskhand/deskhand/indexer"
)

// An index below the folder that is watched is no reason to build again.
func TestWatchKnowsWhatABuildWrites(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	w := &watcher{options: indexer.Options{Dir: dir, Out: filepath.Join(link, "sub", "index")}}
	for path, want := range map[string]bool{
		"sub/index/metadata.json": true,
		"sub/index/index-1.idx":   true,
		"sub/index/.build-123":    true,
		"sub/index/.lock":         true,
		"sub/index/page.md":       false,
		"sub/metadata.json":       false,
		"index-1.md":              false,
		"sub":                     false,
	} {
		if got := w.writes(filepath.Join(dir, filepath.FromSlash(path))); got != want {
			t.Errorf("a build writes %s: %v, want %v", path, got, want)
		}
	}
}
