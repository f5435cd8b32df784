package app

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/runtime/fault"
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
	b.Run("first", func(b *testing.B) { // opens the shelf and answers one question
		for b.Loop() {
			l, err := OpenLibraries(dir, nil, "", search.Options{}, slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := l.Federation().Search(b.Context(), "", search.Query{Text: queries[0]}); err != nil {
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

// A project's index and a shelf are searched together. The index is the first library, and
// may be rebuilt.
func TestAnIndexIsServedWithAShelf(t *testing.T) {
	project, s := filepath.Join(t.TempDir(), "shop"), shelf.Shelf{Dir: t.TempDir()}
	docs, own := filepath.Join(project, "docs"), filepath.Join(project, ".deskhand", "index")
	index := func(text string) {
		t.Helper()
		if err := os.MkdirAll(docs, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(docs, "page.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := indexer.Build(t.Context(), indexer.Options{Dir: docs, Out: own}); err != nil {
			t.Fatal(err)
		}
	}
	open := func() (*Libraries, error) {
		return OpenWithIndex(s.Dir, own, nil, "", search.Options{}, slog.New(slog.DiscardHandler))
	}
	if _, err := open(); fault.Of(err) == nil || fault.Of(err).Code != "no_artifact" {
		t.Fatalf("without an index: %v, want fault no_artifact", err)
	}
	index("# Orders\n\nAn order has lines.\n")
	alone, err := open()
	if err != nil || len(alone.Federation().Libraries()) != 1 {
		t.Fatalf("with an empty shelf: %v", err)
	}
	alone.Close()
	put(t, s, "shop", "2.0", "# Shop\n\nA library called shop.\n")
	put(t, s, "alpha", "1.0", "# Alpha\n\nHow to boil an egg.\n")
	l, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	check := func(query, want string) {
		t.Helper()
		page, err := l.Federation().Search(t.Context(), "", search.Query{Text: query})
		if err != nil || len(page.Hits) == 0 || page.Hits[0].Library.ID != want {
			t.Errorf("%q: %+v, %v; want a hit of %s", query, page.Hits, err, want)
		}
	}
	if first := l.Federation().Libraries()[0].ID; first != "project" {
		t.Errorf("the first library is %s, want the project's own under another name than the shelf's shop", first)
	}
	check("order lines", "project")
	check("boil an egg", "alpha@1.0")
	before := l.state()
	index("# Orders\n\nAn order has parcels.\n")
	if l.state() == before {
		t.Error("a rebuilt index is not noticed")
	}
	if err := l.reload(); err != nil {
		t.Fatal(err)
	}
	check("parcels", "project")
	if got := ownName(filepath.Join("x", "my docs")); got != "project" {
		t.Errorf("a folder whose name is no library's is called %s", got)
	}
	if got := ownName(own); got != "shop" {
		t.Errorf("the project is called %s", got)
	}
}
