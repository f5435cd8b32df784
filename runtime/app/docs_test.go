package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// build writes an edition of a corpus and its index.
func build(t *testing.T, corpus, index string, n int) {
	t.Helper()
	text := fmt.Sprintf("# Edition %d\n\nThe marker of this edition is %s.\n", n, marker(n))
	if err := os.WriteFile(filepath.Join(corpus, "edition.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := indexer.Build(t.Context(), indexer.Options{Dir: corpus, Out: index}); err != nil {
		t.Fatal(err)
	}
}

// marker is a word that no other edition's is a misspelling of.
func marker(n int) string { return "q" + strings.Repeat(string(rune('a'+n)), 8) }

// followed opens an index as serve does, lets change happen, and only then
// follows the folder.
func followed(t *testing.T, index string, change func()) (*docsServer, *waittest.Log) {
	t.Helper()
	log := &waittest.Log{}
	l := &docsServer{dir: index, log: slog.New(slog.NewTextHandler(log, nil))}
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
func (l *docsServer) serves(t *testing.T, n int) {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("edition %d is served", n), func() (bool, any) {
		page, err := l.engine.Search(t.Context(), search.Query{Text: marker(n)})
		return err == nil && len(page.Hits) > 0, err
	})
}

// A build that ends while the server is still starting is not missed.
func TestServeSeesAnIndexReplacedWhileItStarts(t *testing.T) {
	corpus, index := t.TempDir(), filepath.Join(t.TempDir(), "index")
	build(t, corpus, index, 0)
	l, _ := followed(t, index, func() {
		build(t, corpus, index, 1)
	})
	l.serves(t, 1)
}

// An index that cannot be opened is told of once, however often the folder is
// looked at.
func TestServeTellsOnceOfAnIndexThatIsNotWhole(t *testing.T) {
	corpus, index := t.TempDir(), filepath.Join(t.TempDir(), "index")
	build(t, corpus, index, 0)
	l, log := followed(t, index, func() {
		if err := os.WriteFile(filepath.Join(index, "metadata.json"), []byte(`{"index":`), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	told := func() int { return strings.Count(log.String(), "cannot reload the index") }
	waittest.Until(t, "it is logged", func() (bool, any) { return told() > 0, log })
	build(t, corpus, index, 1)
	l.serves(t, 1)
	if n := told(); n != 1 {
		t.Errorf("told %d times, want once: %s", n, log)
	}
}

// A folder that is deleted leaves answers that grow old.
func TestServeTellsOnceOfAnIndexThatIsGone(t *testing.T) {
	corpus, index := t.TempDir(), filepath.Join(t.TempDir(), "index")
	build(t, corpus, index, 0)
	l, log := followed(t, index, func() {})
	if err := os.RemoveAll(index); err != nil {
		t.Fatal(err)
	}
	told := func() int { return strings.Count(log.String(), "the index folder no longer exists") }
	waittest.Until(t, "it is logged", func() (bool, any) { return told() > 0, log })
	l.serves(t, 0)
	build(t, corpus, index, 1)
	l.serves(t, 1)
	if n := told(); n != 1 {
		t.Errorf("told %d times, want once: %s", n, log)
	}
}

func TestAShelfBesideTheIndexIsTold(t *testing.T) {
	corpus, index := t.TempDir(), t.TempDir()
	build(t, corpus, index, 1)
	log := &waittest.Log{}
	l := &docsServer{dir: index, beside: "some/shelf", log: slog.New(slog.NewTextHandler(log, nil))}
	if err := l.open(mcpserver.Options{}); err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if !strings.Contains(log.String(), "deskhand serve --shelf some/shelf") {
		t.Errorf("the log is %s", log)
	}
}
