package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/ranker"
)

// embedded is an engine over pages, with the vectors of the built-in model.
func embedded(t testing.TB, pages map[string]string) *Engine {
	t.Helper()
	docs, out := t.TempDir(), filepath.Join(t.TempDir(), "index")
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	model, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := indexer.Build(context.Background(), indexer.Options{Dir: docs, Out: out, Embedder: model}); err != nil {
		t.Fatal(err)
	}
	e, err := Open(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

var flagPages = map[string]string{
	"flags.md": "# Flags\n\nAll flags of the server, with what each of them does and the value that it has by default.\n\n" +
		"| Flag | Meaning |\n| --- | --- |\n" +
		"| `--colour` | paint what is printed to a terminal |\n" +
		"| `--verbose` | print more about each request while it runs |\n" +
		"| `--retention` | how many days old backups are kept before they are deleted |\n" +
		"| `--listen` | the address that the server listens on |\n",
	"backups.md": "# Backups\n\nThe server copies its data every night. A backup holds all of it and is encrypted.\n",
	"users.md":   "# Users\n\nWho may sign in stands in a list, one name a line. Names are in small letters.\n",
	"network.md": "# Network\n\nThe server listens on one address. Put a proxy in front of it for certificates.\n",
}

func TestAHitInATableShowsItsRow(t *testing.T) {
	page, err := embedded(t, flagPages).Search(context.Background(), Query{Text: "how many days are backups kept before they are deleted", Explain: true})
	if err != nil || len(page.Hits) == 0 {
		t.Fatalf("%+v, %v", page, err)
	}
	hit := page.Hits[0]
	if hit.Path != "flags.md" || !strings.HasPrefix(hit.Snippet, "...") || !strings.Contains(hit.Snippet[:20], "--retention") {
		t.Errorf("the first hit is %s with the snippet %q, want the table's row --retention", hit.Path, hit.Snippet)
	}
	why := hit.Evidence
	if why.Row <= 0 || why.Each <= 0 || len(why.Learnt) != len(ranker.Groups()) {
		t.Errorf("the evidence is %+v, want a row, words one by one and each group that was learnt", why)
	}
}

func TestTheRankerHasNoSayByOneKindOfEvidence(t *testing.T) {
	e := embedded(t, flagPages)
	for _, by := range []By{Words, Meaning} {
		page, err := e.Search(context.Background(), Query{Text: "server address", By: by, Explain: true})
		if err != nil || len(page.Hits) == 0 {
			t.Fatalf("by %s: %+v, %v", by, page, err)
		}
		if why := page.Hits[0].Evidence; why.Learnt != nil || why.Row != 0 || page.Hits[0].Score != 1 {
			t.Errorf("by %s the first hit has %+v and the score %g, want nothing learnt and 1", by, why, page.Hits[0].Score)
		}
	}
}

func TestSeveralLibrariesAreRankedAsOnePool(t *testing.T) {
	whole := embedded(t, flagPages)
	apart := func(id string, names ...string) Library {
		pages := map[string]string{}
		for _, name := range names {
			pages[name] = flagPages[name]
		}
		return Library{ID: id, Name: id, Engine: embedded(t, pages)}
	}
	libraries := []Library{apart("one", "backups.md", "network.md"), apart("two", "flags.md", "users.md")}
	q := Query{Text: "how many days are backups kept before they are deleted", Explain: true}
	one, err := whole.Search(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	many, err := Federate(libraries).Search(context.Background(), "", q)
	if err != nil || len(many.Hits) == 0 {
		t.Fatalf("%+v, %v", many, err)
	}
	if got, want := many.Hits[0], one.Hits[0]; got.Path != want.Path || got.Snippet != want.Snippet || got.Evidence.Learnt == nil {
		t.Errorf("apart the first hit is %s %q, together %s %q; want the same, by the ranker", got.Path, got.Snippet, want.Path, want.Snippet)
	}
	for i := range many.Hits[1:] {
		if many.Hits[i].Score < many.Hits[i+1].Score {
			t.Errorf("hit %d has a lower score than the one behind it", i)
		}
	}
}

// A library that the ranker cannot read, here one without vectors, does not keep it from
// the others. The scores still fall from hit to hit.
func TestTheRankerOrdersTheHitsItCanRead(t *testing.T) {
	silent := engine(t, nil, file{path: "kept.md", text: "# Kept for days\n\nWhat backups are kept, and how many days.\n"}, file{path: "other.md", text: "# Other\n\nNothing of that.\n"})
	f := Federate([]Library{{ID: "silent", Name: "silent", Engine: silent}, {ID: "flags", Name: "flags", Engine: embedded(t, flagPages)}})
	page, err := f.Search(t.Context(), "", Query{Text: "how many days are old backups held until the server removes them", Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	learnt, other := 0, 0
	for i, h := range page.Hits {
		if h.Evidence.Learnt != nil {
			learnt++
		} else {
			other++
		}
		if (h.Evidence.Learnt != nil) != (h.Library.ID == "flags") {
			t.Errorf("a hit of %s has the evidence %+v", h.Library.ID, h.Evidence)
		}
		if i > 0 && h.Score > page.Hits[i-1].Score {
			t.Errorf("hit %d has a higher score than the one before it: %g", i, h.Score)
		}
	}
	if learnt < 2 || other == 0 {
		t.Errorf("%d hits by the ranker and %d others, want both", learnt, other)
	}
}

func TestThePoolOfAQuestionIsWhatTheRankerSees(t *testing.T) {
	pool, _, err := embedded(t, flagPages).Pool(context.Background(), Query{Text: "address of the server"})
	if err != nil || len(pool) < 3 {
		t.Fatalf("%d candidates, %v; want the sections about a server", len(pool), err)
	}
	for i, c := range pool {
		if c.Variant != i || len(c.Inputs) != ranker.Count || c.Inputs[ranker.InSum] != float32(c.Sum) || i > 0 && c.Sum > pool[i-1].Sum {
			t.Errorf("candidate %d: variant of %d, %d inputs, sum %g; want itself, all inputs, in order", i, c.Variant, len(c.Inputs), c.Sum)
		}
	}
}

func TestWrappedLinesAreOneRow(t *testing.T) {
	text := "a line of a paragraph that was wrapped at eighty columns, and\ngoes on here.\nshort\nitems\n"
	var rows []string
	eachRow(text, func(from, to int) { rows = append(rows, text[from:to]) })
	if want := "a line of a paragraph that was wrapped at eighty columns, and\ngoes on here.|short|items"; strings.Join(rows, "|") != want {
		t.Errorf("rows are %q, want %q", rows, want)
	}
}

// BenchmarkRanker asks a question whose first 24 candidates, most of some 400 words,
// are read and ranked, and the same question by the sum alone.
func BenchmarkRanker(b *testing.B) {
	pages := map[string]string{}
	for i := range 60 {
		var text strings.Builder
		fmt.Fprintf(&text, "# Subject %d\n\n", i)
		for j := range 20 {
			fmt.Fprintf(&text, "The server keeps record %d of archive %d for some days, and then a job removes it from disk %d.\n\n", j*i, i, j)
		}
		pages[fmt.Sprintf("p%d.md", i)] = text.String()
	}
	const asked = "how long until stale snapshots vanish from my machine"
	for i, word := range strings.Fields(asked) { // one section each, so that none has half of the question
		pages[fmt.Sprintf("w%d.md", i)] = fmt.Sprintf("# Glossary %d\n\nThis entry explains %s.\n", i, word)
	}
	e := embedded(b, pages)
	for _, question := range []string{asked, asked + ` ""`} {
		b.Run(map[bool]string{true: "sum", false: "ranker"}[literal(question)], func(b *testing.B) {
			for b.Loop() {
				page, err := e.Search(context.Background(), Query{Text: question, Explain: true})
				if err != nil || len(page.Hits) == 0 || (page.Hits[0].Evidence.Learnt == nil) != literal(question) {
					b.Fatalf("%+v, %v", page, err)
				}
			}
		})
	}
}
