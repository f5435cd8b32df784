package app

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
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
	if _, err := OpenLibraries(s.Dir, nil, "", search.Options{}, log); err == nil {
		t.Fatal("an empty shelf was opened")
	}
	put(t, s, "first", "1.0", "# First\n\nHow to boil an egg.\n")
	l, err := OpenLibraries(s.Dir, nil, "", search.Options{}, log)
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

// BenchmarkShelf asks 200 libraries of the manual, 146,000 chunks, and one of them. With
// BENCH_SHELF and BENCH_QUERIES, it asks each line of a file, of the libraries in that
// folder and of the first of them.
func BenchmarkShelf(b *testing.B) {
	dir, queries := os.Getenv("BENCH_SHELF"), []string{"how do I retry a call that failed"}
	if file := os.Getenv("BENCH_QUERIES"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		queries = strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	if dir == "" {
		dir = manyManuals(b)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			l, err := OpenLibraries(dir, nil, "", search.Options{}, slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			l.Close()
		}
	})
	l, err := OpenLibraries(dir, nil, "", search.Options{}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	f := l.Federation()
	for _, library := range []string{"", f.Libraries()[0].ID} {
		b.Run("of="+library, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := f.Search(b.Context(), library, search.Query{Text: queries[i%len(queries)]}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// manyManuals returns a shelf with the manual as 200 libraries.
func manyManuals(b *testing.B) string {
	s := shelf.Shelf{Dir: b.TempDir()}
	builtin, err := embed.Open(embed.Default)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 200 {
		if _, err := s.Add(b.Context(), shelf.Options{Source: filepath.Join("..", "..", "corpus"), Name: fmt.Sprintf("lib-%03d", i), Embedder: builtin}); err != nil {
			b.Fatal(err)
		}
	}
	return s.Dir
}
