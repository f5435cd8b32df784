package search

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// many is a federation of more than fewIndexes libraries.
func many(t testing.TB) *Federation {
	var all []Library
	for i := range fewIndexes + 4 {
		name := fmt.Sprintf("lib-%02d", i)
		e := engine(t, nil,
			file{"start.md", "# Start\n\nInstall " + name + " and configure its timeouts.\n\n## Retries\n\nA failed request is sent again.\n", nil},
			file{"own.md", fmt.Sprintf("# Widget%d\n\nWidgets of kind%d are assembled here.\n", i, i%5), nil})
		all = append(all, Library{ID: name, Name: name, Engine: e})
	}
	return Federate(all)
}

// The index of terms changes nothing but the time.
func TestTheIndexOfTermsFindsTheSame(t *testing.T) {
	f := many(t)
	queries := []string{"failed request", "timeuots", "configre the timeout", "widget3", "kind2 widgets", "requst sent agian", "log in", "zzzz", `"configure its timeouts"`}
	ask := func() (all []LibraryPage) {
		for _, q := range queries {
			_, page := found(t, f, "", Query{Text: q, Explain: true})
			all = append(all, page)
		}
		return all
	}
	f.building.Store(true) // so that none is built meanwhile
	without := ask()
	f.buildIndex()
	if f.words.Load() == nil {
		t.Fatal("no index was built")
	}
	for i, page := range ask() {
		if !reflect.DeepEqual(page, without[i]) {
			t.Errorf("%q finds\n%+v\nwithout the index\n%+v", queries[i], page.Hits, without[i].Hits)
		}
	}
	if ids, _ := found(t, f, "", Query{Text: "timeuots"}); len(ids) == 0 {
		t.Error("a misspelt word finds nothing")
	}
}

// A word that many libraries have is as rare in each as in all of them.
func TestAVocabularyCountsInAllIndexes(t *testing.T) {
	f := many(t)
	v := newVocabulary()
	for _, l := range f.Libraries() {
		ed, release, err := l.Engine.use()
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		v.add(ed)
	}
	for _, indexed := range []bool{false, true} {
		if indexed {
			f.buildIndex()
			v.index, v.terms = f.index(v.of), map[string]*entry{}
		}
		for term, want := range map[string]int{"retri": len(v.of), "widget3": 1, "kind2": 4, "nothing": 0} {
			e, err := v.entry(term)
			if err != nil || e.with != want || len(e.places) != want {
				t.Errorf("index %v: %s is in %d chunks of %d libraries, %v; want %d", indexed, term, e.with, len(e.places), err, want)
			}
		}
		if got, err := v.similar("widgt", 3); err != nil || !slices.Contains(got, "widget") {
			t.Errorf("index %v: similar to widgt: %v, %v", indexed, got, err)
		}
	}
}

// In a scope of one library, the hits are those of its engine.
func TestANamedLibraryRanksAsByItself(t *testing.T) {
	f := libraries(t)
	for _, l := range f.Libraries() {
		for _, text := range []string{"timeout", "how do I set a timeout for each route", "replica reads", "tiemout"} {
			want, err := l.Engine.Search(t.Context(), Query{Text: text, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			_, got := found(t, f, l.ID, Query{Text: text, Explain: true})
			var hits []Hit
			for _, h := range got.Hits {
				hits = append(hits, h.Hit)
			}
			if !reflect.DeepEqual(hits, want.Hits) {
				t.Errorf("%s, %q: %+v; alone %+v", l.ID, text, hits, want.Hits)
			}
		}
	}
}
