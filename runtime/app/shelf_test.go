package app

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/runtime/search"
)

// put adds a library of one page to a shelf.
func put(t testing.TB, s shelf.Shelf, name, version, text string) shelf.Entry {
	t.Helper()
	docs := t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "page.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	builtin, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Add(t.Context(), shelf.Options{Source: docs, Name: name, Version: version, Embedder: builtin})
	if err != nil {
		t.Fatal(err)
	}
	return r.Entry
}

func TestLibrariesComeAndGoWhileTheyAreServed(t *testing.T) {
	s := shelf.Shelf{Dir: t.TempDir()}
	log := slog.New(slog.DiscardHandler)
	if _, err := OpenLibraries(s.Dir, nil, search.Options{}, log); err == nil {
		t.Fatal("an empty shelf was opened")
	}
	put(t, s, "first", "1.0", "# First\n\nHow to boil an egg.\n")
	l, err := OpenLibraries(s.Dir, nil, search.Options{}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	hits := func(query string) (ids []string) {
		t.Helper()
		page, err := l.Federation().Search(t.Context(), "", search.Query{Text: query})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page.Hits {
			ids = append(ids, h.Library.ID)
		}
		return ids
	}
	if got := hits("boil an egg"); len(got) != 1 || got[0] != "first@1.0" {
		t.Fatalf("found %v", got)
	}
	state := l.state()
	second := put(t, s, "second", "", "# Second\n\nHow to peel a carrot.\n")
	if l.state() == state {
		t.Error("the shelf looks the same with one library more")
	}
	old := l.Federation()
	if err := l.reload(); err != nil {
		t.Fatal(err)
	}
	if got := hits("peel a carrot"); len(got) != 1 || got[0] != "second" {
		t.Errorf("after another was added, found %v", got)
	}
	if err := s.Remove(second); err != nil {
		t.Fatal(err)
	}
	if err := l.reload(); err != nil {
		t.Fatal(err)
	}
	if got := hits("peel a carrot"); len(got) != 0 {
		t.Errorf("after it was removed, found %v", got)
	}
	// A call that began before goes on.
	if _, err := old.Search(t.Context(), "", search.Query{Text: "egg"}); err != nil {
		t.Errorf("a federation of before: %v", err)
	}
}

// BenchmarkShelf asks 200 libraries of the manual, 146,000 chunks, and one of
// them.
func BenchmarkShelf(b *testing.B) {
	s := shelf.Shelf{Dir: b.TempDir()}
	builtin, err := embed.Open(embed.Default)
	if err != nil {
		b.Fatal(err)
	}
	first, err := s.Add(b.Context(), shelf.Options{Source: filepath.Join("..", "..", "corpus"), Name: "lib-000", Embedder: builtin})
	if err != nil {
		b.Fatal(err)
	}
	for i := 1; i < 200; i++ {
		dir := filepath.Join(s.Dir, fmt.Sprintf("lib-%03d", i))
		if err := os.CopyFS(dir, os.DirFS(first.Folder)); err != nil {
			b.Fatal(err)
		}
	}
	var all []search.Library
	for i := range 200 {
		name := fmt.Sprintf("lib-%03d", i)
		engine, err := search.Open(filepath.Join(s.Dir, name))
		if err != nil {
			b.Fatal(err)
		}
		defer engine.Close()
		all = append(all, search.Library{ID: name, Name: name, Engine: engine})
	}
	f := search.Federate(all)
	for _, library := range []string{"", "lib-100"} {
		b.Run("of="+library, func(b *testing.B) {
			for b.Loop() {
				if _, err := f.Search(b.Context(), library, search.Query{Text: "how do I retry a call that failed"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
