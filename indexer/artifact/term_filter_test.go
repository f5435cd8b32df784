package artifact

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// filtered returns a reader whose filter of terms is full.
func filtered(t testing.TB, dir string) *Reader {
	r := reopen(t, dir)
	for range filterAfter + len(r.lexical.groups) {
		if _, err := r.AllSimilar("unknown"); err != nil {
			t.Fatal(err)
		}
	}
	if !r.lexical.filter.full.Load() {
		t.Fatalf("the filter has %d of %d groups", r.lexical.filter.added, len(r.lexical.groups))
	}
	return r
}

// oddPages have terms with characters that are neither plain letters nor digits: a version,
// and words with a Cyrillic letter.
var oddPages = []Document{
	page("y.md", "# Odd\n\nSince 12.3 and 4.5.6, a quotя and a яrow are kept, not a дoubleя.\n", nil),
	page("z.md", "# Plain\n\nThe first one.\n", nil),
}

func TestSimilarTermsAreTheSameWithTheFilter(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, append(corpus(80), oddPages...))
	plain, fast := reopen(t, dir), filtered(t, dir)
	if len(fast.lexical.groups) < 2 {
		t.Fatalf("%d groups, want several", len(fast.lexical.groups))
	}
	known, err := plain.lexical.dictionary(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := []string{"quot", "quota", "quoto", "row", "arow", "rowя", "123", "1234", "456", "45.6", "double", "doublea", "adouble", "", "e", "яro"}
	for i, term := range slices.Sorted(maps.Keys(known)) {
		if i%10 > 0 {
			continue
		}
		asked = append(asked, term, term+"x", strings.Replace(term, "r", "", 1), term[1:]+term[:1])
	}
	found, beside := 0, 0
	for _, term := range asked {
		plain.lexical.filter = termFilter{} // looks in the dictionaries
		want, err := plain.AllSimilar(term)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fast.AllSimilar(term)
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("AllSimilar(%q) = %v, %v with the filter, want %v", term, got, err, want)
		}
		found += len(want)
		if IsPlain(term) && !fast.lexical.filter.plainOnly(term) {
			beside++
		}
	}
	if found < len(asked) || beside == 0 || beside > len(asked)/10 {
		t.Errorf("%d terms were found for %d; %d were looked up without the filter, want a few", found, len(asked), beside)
	}
}

func TestTheFilterLacksNoTermAndMostOthers(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, append(corpus(80), oddPages...))
	plain, fast := reopen(t, dir), filtered(t, dir)
	known, err := plain.lexical.dictionary(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for term, n := range known {
		if p, err := fast.Postings(term); err != nil || p.Chunks != int(n) {
			t.Errorf("Postings(%q) = %+v, %v; want %d chunks", term, p, err, n)
		}
	}
	passed, tried := 0, 0
	for i, term := range slices.Sorted(maps.Keys(known)) {
		if i%10 > 0 {
			continue
		}
		for edited := range Edits(term) {
			if known[string(edited)] == 0 {
				if tried++; !fast.lexical.filter.lacks(HashTerm(edited)) {
					passed++
				}
			}
		}
	}
	if passed*20 > tried {
		t.Errorf("the filter may have %d of %d unknown terms, want less than 5 %%", passed, tried)
	}
}

func TestEditsAreOneEditAway(t *testing.T) {
	got := slices.Collect(func(yield func(string) bool) {
		for edited := range Edits("ab1") {
			if !yield(string(edited)) {
				return
			}
		}
	})
	slices.Sort(got)
	got = slices.Compact(got)
	want := map[string]bool{"ab1": true, "b1": true, "a1": true, "ab": true, "ba1": true, "a1b": true}
	for _, c := range plainLetters {
		l := string(c)
		for _, s := range []string{l + "ab1", "a" + l + "b1", "ab" + l + "1", "ab1" + l, l + "b1", "a" + l + "1", "ab" + l} {
			want[s] = true
		}
	}
	if all := slices.Sorted(maps.Keys(want)); !slices.Equal(got, all) {
		t.Errorf("Edits(ab1) = %v, want %v", got, all)
	}
}

func BenchmarkSimilar(b *testing.B) {
	dir := b.TempDir()
	build(b, dir, corpus(400))
	for name, r := range map[string]*Reader{"dictionaries": reopen(b, dir), "filter": filtered(b, dir)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if name == "dictionaries" {
					r.lexical.filter = termFilter{}
				}
				if _, err := r.AllSimilar("konfiguration"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
