//go:build unix

package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/waittest"
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

// Phrases that metadata.json beside the docs names lie outside of the folder.
func TestWatchFollowsTheFileOfPhrases(t *testing.T) {
	project := t.TempDir()
	put := func(path, text string) string {
		t.Helper()
		path = filepath.Join(project, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("metadata.json", `{"corpus": "docs", "phrases": "phrases.jsonl"}`)
	put("docs/tides.md", "# Tides\n\nThe sea rises.\n")
	phrases := put("phrases.jsonl", "")
	out := filepath.Join(t.TempDir(), "index")
	w, err := newWatcher(filepath.Join(project, "docs"), out, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	done.Go(func() { w.run(ctx) })
	defer done.Wait()
	defer stop()
	<-w.built
	put("phrases.jsonl", `{"chunk_id": "tides.md#_preamble", "phrases": ["when is high water"]}`+"\n")
	waittest.Until(t, "an index with the new phrase", func() (bool, any) {
		r, err := artifact.Open(out)
		if err != nil {
			return false, err
		}
		defer r.Close()
		p, err := r.Postings("water")
		return err == nil && p.Chunks == 1, err
	})
	for path, want := range map[string]bool{phrases: false, filepath.Join(project, "docs", "new.md"): false, filepath.Join(project, "go.mod"): true} {
		if got := (&watcher{options: w.options, phrases: phrases}).strange(path); got != want {
			t.Errorf("strange(%s) = %v, want %v", path, got, want)
		}
	}
}
