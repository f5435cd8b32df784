package search

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/deskhand/deskhand/indexer/embed"
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

	// From a file, it is the same; a damaged file is none.
	dir := t.TempDir()
	f.KeepIn(dir)
	f.buildIndex()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || !f.words.Load().mapped {
		t.Fatalf("kept %v, %v", files, err)
	}
	path := filepath.Join(dir, files[0].Name())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := Federate(f.Libraries())
	other.KeepIn(dir)
	other.building.Store(true)
	of := f.words.Load().of
	if other.index(of) == nil {
		t.Fatal("the file was not read")
	}
	for i, q := range queries {
		if _, page := found(t, other, "", Query{Text: q, Explain: true}); !reflect.DeepEqual(page, without[i]) {
			t.Errorf("%q finds\n%+v\nfrom the file, and without\n%+v", q, page.Hits, without[i].Hits)
		}
	}
	for at := 0; at < len(whole); at += 1 + len(whole)/100 {
		bad := bytes.Clone(whole)
		bad[at] ^= 4
		for _, text := range [][]byte{bad, whole[:at]} {
			if err := os.WriteFile(path+"x", text, 0o600); err != nil {
				t.Fatal(err)
			}
			if (termFile{dir, filepath.Base(path) + "x"}).read(of) != nil {
				t.Fatalf("a file with byte %d changed, or cut there, was read", at)
			}
		}
	}
	// So is one with the right checksum whose numbers lead out of it, and what is no file.
	terms := len(f.words.Load().hashes) / 4
	starts, ends := termHead, termHead+4*(buckets+1)+4*terms
	places := ends + 4*terms
	for what, at := range map[string]int{"start": starts + 4*buckets/2 + 3, "last start": starts + 4*buckets + 3, "end": ends + 4*(terms/2) + 3, "last end": ends + 4*(terms-1) + 3, "place": places + 1} {
		bad := bytes.Clone(whole)
		bad[at] = 0x7f
		binary.LittleEndian.PutUint32(bad[len(bad)-4:], crc32.Checksum(bad[:len(bad)-4], castagnoli))
		if err := os.WriteFile(path+"x", bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if (termFile{dir, filepath.Base(path) + "x"}).read(of) != nil {
			t.Errorf("a file with a wrong %s was read", what)
		}
	}
	if err := os.Remove(path + "x"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, path+"x"); err == nil && (termFile{dir, filepath.Base(path) + "x"}).read(of) != nil {
		t.Error("a link was read")
	}
	os.Remove(path + "x")
	for i := range 2 * keptTerms {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(termPrefix, i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.buildIndex()
	if files, _ := os.ReadDir(dir); len(files) != keptTerms || other.file(of).read(of) == nil {
		t.Errorf("%d files are kept, want %d with the new one", len(files), keptTerms)
	}
}

// Many libraries of which each has the same sections: a scan reads their vectors once, and
// finds the same, also from the file.
func TestEqualVectorsOfLibrariesAreScannedOnce(t *testing.T) {
	e, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	var all []Library
	for i := range fewIndexes + 4 {
		name := fmt.Sprintf("lib-%02d", i)
		all = append(all, Library{ID: name, Name: name, Engine: retries(t, e)})
	}
	f, dir := Federate(all), t.TempDir()
	f.building.Store(true) // so that no index of terms is built meanwhile
	query := Query{Text: "try failed red requests again", Limit: 30, Explain: true}
	_, without := found(t, f, "", query)
	f.KeepIn(dir)
	f.buildIndex()
	if index := f.words.Load(); index == nil || !index.mapped || len(index.twins) != 4*2*len(all) {
		t.Fatalf("the index of terms is %+v, want one with the twins of %d chunks", index, 2*len(all))
	}
	if _, with := found(t, f, "", query); len(with.Hits) == 0 || !reflect.DeepEqual(with, without) {
		t.Errorf("found\n%+v\nwith each distinct vector once, and otherwise\n%+v", with.Hits, without.Hits)
	}
	if f.words.Load().distinct == nil {
		t.Error("each index was scanned for itself")
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

// No chunk of a library scores more than its bound, and the index of terms makes the bounds
// lower.
func TestBoundsOfLibrariesHold(t *testing.T) {
	f := many(t)
	f.building.Store(true)
	bounds := func(text string) (sum float64) {
		t.Helper()
		j := &joint{q: Query{Text: text}, text: text}
		defer j.release()
		if err := j.open(t.Context(), f, f.Libraries()); err != nil {
			t.Fatal(err)
		}
		if err := j.read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := j.bound(); err != nil {
			t.Fatal(err)
		}
		for _, p := range j.parts {
			words, more, err := p.run.lookUp()
			if err != nil {
				t.Fatal(err)
			}
			found, err := p.run.reader.Lexical(words, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) > 0 && found[0].Score+more > p.bound {
				t.Errorf("%q: a chunk of %s scores %g, its bound is %g", text, p.library.ID, found[0].Score+more, p.bound)
			}
			sum += p.bound
		}
		return sum
	}
	for _, text := range []string{"failed request", "widget3", "kind2 widgets", "install lib-07 and configure its timeouts"} {
		f.words.Store(nil)
		before := bounds(text)
		f.buildIndex()
		if after := bounds(text); after >= 0.9*before {
			t.Errorf("%q: the bounds of all libraries are %g together, and %g without the index of terms", text, after, before)
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
