package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/search"
)

// followed opens an index as serve does, lets change happen, and only then
// follows the folder.
func followed(t *testing.T, index string, change func()) (*library, *logged) {
	t.Helper()
	log := &logged{}
	l := &library{dir: index, log: slog.New(slog.NewTextHandler(log, nil))}
	if err := l.open(mcpserver.Options{}); err != nil {
		t.Fatal(err)
	}
	change()
	ctx, stop := context.WithCancel(t.Context())
	var background sync.WaitGroup
	background.Go(func() { l.follow(ctx) })
	t.Cleanup(func() {
		stop()
		background.Wait()
		l.close()
	})
	return l, log
}

// serves waits until the index of an edition is the one that answers.
func (l *library) serves(t *testing.T, n int) {
	t.Helper()
	eventually(t, "reload", func() error {
		page, err := l.engine.Search(t.Context(), search.Query{Text: marker(n)})
		if err != nil || len(page.Hits) == 0 {
			return fmt.Errorf("edition %d is not served: %w", n, err)
		}
		return nil
	})
}

// A build that ends while the server is still starting is not missed.
func TestServeSeesAnIndexReplacedWhileItStarts(t *testing.T) {
	corpus := acme(t, edition(0))
	index := indexed(t, corpus)
	l, _ := followed(t, index, func() {
		write(t, corpus, edition(1))
		done(t, t.TempDir(), "index", corpus, "-o", index)
	})
	l.serves(t, 1)
}

// An index that cannot be opened is told of once, however often the folder is
// looked at.
func TestServeTellsOnceOfAnIndexThatIsNotWhole(t *testing.T) {
	corpus := acme(t, edition(0))
	index := indexed(t, corpus)
	l, log := followed(t, index, func() {
		if err := os.WriteFile(filepath.Join(index, "metadata.json"), []byte(`{"index":`), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	told := func() int { return strings.Count(log.String(), "index not reloaded") }
	eventually(t, "log", func() error {
		if told() == 0 {
			return fmt.Errorf("nothing is logged: %s", log)
		}
		return nil
	})
	write(t, corpus, edition(1))
	done(t, t.TempDir(), "index", corpus, "-o", index)
	l.serves(t, 1)
	if n := told(); n != 1 {
		t.Errorf("told %d times, want once: %s", n, log)
	}
}

// A folder that is deleted leaves answers that grow old.
func TestServeTellsOnceOfAnIndexThatIsGone(t *testing.T) {
	corpus := acme(t, edition(0))
	index := indexed(t, corpus)
	l, log := followed(t, index, func() {})
	if err := os.RemoveAll(index); err != nil {
		t.Fatal(err)
	}
	told := func() int { return strings.Count(log.String(), "index is gone") }
	eventually(t, "log", func() error {
		if told() == 0 {
			return fmt.Errorf("nothing is logged: %s", log)
		}
		return nil
	})
	l.serves(t, 0)
	write(t, corpus, edition(1))
	done(t, t.TempDir(), "index", corpus, "-o", index)
	l.serves(t, 1)
	if n := told(); n != 1 {
		t.Errorf("told %d times, want once: %s", n, log)
	}
}
