package search

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
)

// libraries are two versions of a router, and a database.
func libraries(t testing.TB) *Federation {
	router := func(version string) *Engine {
		files := []file{{path: "guide.md", text: "# Guide\n\n## Timeouts\n\nSet a timeout for each route with WithTimeout.\n\n## Only " + version + "\n\nNew in " + version + ".\n"}}
		for i := range 30 {
			files = append(files, file{path: fmt.Sprintf("route-%02d.md", i), text: fmt.Sprintf("# Route %d\n\nA route matches a path and a method.\n", i)})
		}
		return engine(t, nil, files...)
	}
	database := engine(t, map[string]artifact.Facet{"lang": {Values: []string{"go", "sql"}}},
		file{"timeouts.md", "# Statement timeouts\n\nA statement ends after statement_timeout milliseconds.\n", map[string]string{"lang": "sql"}},
		file{"routing.md", "# Replicas\n\nReads go to a replica.\n", map[string]string{"lang": "go"}})
	return Federate([]Library{
		{ID: "database", Name: "database", Engine: database},
		{ID: "router@1.9", Name: "router", Version: "1.9", Engine: router("1.9")},
		{ID: "router@2.0", Name: "router", Version: "2.0", Engine: router("2.0")},
	})
}

func found(t *testing.T, f *Federation, library string, q Query) (ids []string, page LibraryPage) {
	t.Helper()
	page, err := f.Search(t.Context(), library, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range page.Hits {
		ids = append(ids, h.Library.ID+":"+h.ID)
	}
	return ids, page
}

func TestLibrariesAreSearchedTogether(t *testing.T) {
	f := libraries(t)
	ids, _ := found(t, f, "", Query{Text: "statement_timeout milliseconds"})
	if len(ids) == 0 || !strings.HasPrefix(ids[0], "database:timeouts.md") {
		t.Errorf("the database's section is not first: %v", ids)
	}
	ids, page := found(t, f, "", Query{Text: "timeout for each route WithTimeout"})
	if len(ids) == 0 || !strings.HasPrefix(ids[0], "router@") || !strings.HasSuffix(ids[0], "guide.md#guide/timeouts") {
		t.Fatalf("the router's section is not first: %v", ids)
	}
	if n := len(slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasSuffix(id, "#guide/timeouts") })); n != 1 {
		t.Errorf("one section in two versions is %d hits: %v", n, ids)
	}
	if v := page.Hits[0].Variants["version"]; len(v) != 1 {
		t.Errorf("the other version is not named: %v", page.Hits[0].Variants)
	}
	if ids, _ = found(t, f, "router@2.0", Query{Text: "timeout"}); len(ids) == 0 || slices.ContainsFunc(ids, func(id string) bool { return !strings.HasPrefix(id, "router@2.0:") }) {
		t.Errorf("in one version: %v", ids)
	}
	if ids, _ = found(t, f, "router", Query{Text: "new in 2.0"}); len(ids) == 0 || ids[0] != "router@2.0:guide.md#guide/only-2-0" && !strings.HasPrefix(ids[0], "router@2.0:guide.md#guide/only") {
		t.Errorf("by name: %v", ids)
	}
	if ids, _ = found(t, f, "", Query{Text: "timeout", Filters: map[string]string{"lang": "sql"}}); len(ids) != 1 || !strings.HasPrefix(ids[0], "database:timeouts.md") {
		t.Errorf("filtered: %v", ids)
	}
}

// A library's own words count for each of its sections, so the section that has the other
// words of a question comes before those that only repeat the library's name.
func TestAPageNeedNotRepeatTheNameOfItsLibrary(t *testing.T) {
	var tracer, other []file
	for i := range 20 {
		tracer = append(tracer, file{fmt.Sprintf("news-%02d.md", i), "# Tracer news\n\nTracer by tracer: tracer is here, with tracer tools for tracer.\n", nil})
	}
	tracer = append(tracer, file{"support.md", "# Support\n\nFixes come for a year, which is longer than usual.\n", nil})
	for i := range 1000 {
		text := "# Page\n\nA router sends a request to a handler, and logs it.\n"
		if i%40 == 0 {
			text += "It fixes the path.\n"
		}
		other = append(other, file{fmt.Sprintf("page-%04d.md", i), text, nil})
	}
	f := Federate([]Library{{ID: "other", Name: "other", Engine: engine(t, nil, other...)}, {ID: "tracer", Name: "tracer", Engine: engine(t, nil, tracer...)}})
	const asked = "fixes of tracer"
	alone, _ := found(t, f, "tracer", Query{Text: asked})
	ids, _ := found(t, f, "", Query{Text: asked})
	if len(alone) == 0 || len(ids) == 0 || !strings.HasPrefix(alone[0], "tracer:support.md") || ids[0] != alone[0] {
		t.Errorf("found %v first, and %v in the library alone, want its page on support", ids[:min(2, len(ids))], alone[:min(2, len(alone))])
	}
}

func TestQuotedWordsThatAreInNoLibrary(t *testing.T) {
	f := libraries(t)
	ids, page := found(t, f, "", Query{Text: `"timeout statement route"`})
	if len(ids) < 2 || page.Hint == nil || !strings.Contains(page.Hint.Message, "quoted text") {
		t.Errorf("found %v with hint %+v, want the hits without the quotes and a hint", ids, page.Hint)
	}
	if ids, page = found(t, f, "", Query{Text: `"zebra quagga"`}); len(ids) != 0 || page.Hint == nil || page.Hint.Found != FoundNothing {
		t.Errorf("found %v with hint %+v, want nothing", ids, page.Hint)
	}
}

// A phrase of common words is found in a long section among many short ones, as in one
// library.
func TestAPhraseIsFoundDeepInALibrary(t *testing.T) {
	var files []file
	for i := range 400 {
		files = append(files, file{fmt.Sprintf("p%03d.md", i), "# P\n\nthe of the in other words to\n", nil})
	}
	files = append(files, file{"q.md", "# Q\n\n" + strings.Repeat("filler ", 500) + "of to the in\n", nil})
	f := Federate([]Library{{ID: "a", Name: "a", Engine: engine(t, nil, files...)}, {ID: "b", Name: "b", Engine: engine(t, nil, files[:2]...)}})
	if ids, page := found(t, f, "", Query{Text: `"of to the in"`}); !slices.Equal(ids, []string{"a:q.md#_preamble"}) || page.Hint != nil {
		t.Errorf("found %v with hint %+v, want q.md alone", ids, page.Hint)
	}
}

// A federation of one library ranks as its engine does.
func TestOneLibraryRanksAsByItself(t *testing.T) {
	f := libraries(t)
	for _, l := range f.Libraries() {
		alone := Federate([]Library{l})
		for _, text := range []string{"timeout", "how do I set a timeout for each route", "statement_timeout", "replica reads", `"matches a path"`, "tiemout"} {
			want, err := l.Engine.Search(t.Context(), Query{Text: text, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			_, got := found(t, alone, "", Query{Text: text, Explain: true})
			for i, h := range want.Hits {
				if i >= len(got.Hits) || got.Hits[i].ID != h.ID || got.Hits[i].Score != h.Score {
					t.Errorf("%s, %q: hit %d is not %s, %v", l.ID, text, i+1, h.ID, h.Score)
					break
				}
			}
		}
	}
}

func TestPagesOfAFederationDoNotOverlap(t *testing.T) {
	f := libraries(t)
	q := Query{Text: "route path method", Limit: 7}
	seen := map[string]bool{}
	for n := 0; ; n++ {
		ids, page := found(t, f, "", q)
		for _, id := range ids {
			if seen[id] {
				t.Errorf("%s comes twice", id)
			}
			seen[id] = true
		}
		if page.Next == "" {
			break
		}
		if n > 20 {
			t.Fatal("pages do not end")
		}
		q.Cursor = &page.Next
	}
	if len(seen) < 30 {
		t.Errorf("%d hits in all", len(seen))
	}
	if _, err := f.Search(t.Context(), "database", q); q.Cursor != nil && (fault.Of(err) == nil || fault.Of(err).Code != "invalid_argument") {
		t.Errorf("a cursor of another question: %v", err)
	}
}

func TestIDsOfAFederation(t *testing.T) {
	f := libraries(t)
	for id, want := range map[string]string{
		"database:timeouts.md": "database timeouts.md", "router@1.9:guide.md": "router@1.9 guide.md", "router:guide.md": "router@2.0 guide.md",
		"timeouts.md": "database timeouts.md",
	} {
		if l, rest, err := f.Split(id); err != nil || l.ID+" "+rest != want {
			t.Errorf("%s is %s %s, %v", id, l.ID, rest, err)
		}
	}
	if _, _, err := f.Split("guide.md"); err == nil || !strings.Contains(err.Error(), "router@1.9:guide.md") {
		t.Errorf("an id that two libraries have: %v", err)
	}
	if _, _, err := f.Split("none.md"); fault.Of(err) == nil || fault.Of(err).Code != "chunk_not_found" {
		t.Errorf("an id that none has: %v", err)
	}
	if _, err := f.Search(t.Context(), "ruoter", Query{Text: "x"}); err == nil || !strings.Contains(err.Error(), "router@1.9") {
		t.Errorf("a misspelt library: %v", err)
	}
	if _, err := f.Search(t.Context(), "", Query{Text: "x", Filters: map[string]string{"none": "x"}}); err == nil || !strings.Contains(err.Error(), "Unexpected field 'none'") {
		t.Errorf("an unknown facet: %v", err)
	}
}

func TestTheLockedVersionIsSearched(t *testing.T) {
	all := libraries(t).Libraries()
	all = append(slices.Clone(all), Library{ID: "router", Name: "router", Engine: engine(t, nil, file{path: "own.md", text: "# Our routes\n\nOur own notes on timeouts.\n"})})
	all[1].Locked = true
	f := Federate(all)
	var order []string
	for _, l := range f.Libraries() {
		order = append(order, l.ID)
	}
	if got := strings.Join(order, " "); got != "router@1.9 database router router@2.0" || len(f.Usual()) != 3 {
		t.Errorf("libraries %s, %d usual", got, len(f.Usual()))
	}
	other := func(id string) bool { return strings.HasPrefix(id, "router@2.0:") }
	ids, page := found(t, f, "", Query{Text: "timeout for each route WithTimeout"})
	if len(ids) == 0 || !strings.HasPrefix(ids[0], "router@1.9:guide.md") || slices.ContainsFunc(ids, other) || page.Hits[0].Variants["version"] != nil {
		t.Errorf("of all, found %v, %v", ids, page.Hits)
	}
	if ids, _ = found(t, f, "router@2.0", Query{Text: "timeout"}); len(ids) == 0 || !other(ids[0]) {
		t.Errorf("another version, named, has %v", ids)
	}
	for id, want := range map[string]string{"guide.md": "router@1.9", "router@2.0:guide.md": "router@2.0"} {
		if l, _, err := f.Split(id); err != nil || l.ID != want {
			t.Errorf("%s is of %s, %v", id, l.ID, err)
		}
	}
	all[3].ID, all[3].Name = "notes", "notes" // so that the name is of the versions only
	f = Federate(all)
	if named := f.Named("router"); len(named) != 1 || named[0].ID != "router@1.9" {
		t.Errorf("the name is of %v", named)
	}
	if l, _, err := f.Split("router:guide.md"); err != nil || l.ID != "router@1.9" {
		t.Errorf("router:guide.md is of %s, %v", l.ID, err)
	}
}

// The damage of one library is reported as its own, and the others answer.
func TestADamagedLibraryLeavesTheOthersInService(t *testing.T) {
	for _, by := range []By{Both, Words} {
		var all []Library
		for _, name := range []string{"good", "damaged"} {
			var files []file
			for i := range 50 {
				files = append(files, file{fmt.Sprintf("p%02d.md", i), "# P\n\n" + strings.Repeat(fmt.Sprintf("alpha %s%d ", name, i), 300), nil})
			}
			all = append(all, Library{ID: name, Name: name, Engine: engine(t, nil, files...)})
		}
		bad := all[1].Engine
		if err := os.Truncate(filepath.Join(bad.dir, bad.Metadata().Index.Path), 4096); err != nil {
			t.Fatal(err)
		}
		f := Federate(all)
		for range 2 { // when the damage is found, and when it is known
			page, err := f.Search(t.Context(), "", Query{Text: "alpha", By: by})
			if err != nil || len(page.Hits) == 0 || page.Hits[0].Library.ID != "good" || page.Hint == nil || !strings.Contains(page.Hint.Message, "library damaged was not searched") || !strings.Contains(page.Hint.Message, bad.dir) {
				t.Fatalf("by %v: %d hits with hint %+v, %v; want those of the good library and the damage of %s", by, len(page.Hits), page.Hint, err, bad.dir)
			}
		}
		if _, err := f.Search(t.Context(), "damaged", Query{Text: "alpha", By: by}); err == nil || !strings.Contains(err.Error(), bad.dir) {
			t.Errorf("by %v: the damaged library: %v, want its damage", by, err)
		}
		if _, err := Federate(all[1:]).Search(t.Context(), "", Query{Text: "alpha", By: by}); err == nil {
			t.Errorf("by %v: a shelf whose only library is damaged has no error", by)
		}
		if _, err := all[0].Engine.Search(t.Context(), Query{Text: "alpha"}); err != nil {
			t.Errorf("by %v: the other library: %v", by, err)
		}
	}
}
