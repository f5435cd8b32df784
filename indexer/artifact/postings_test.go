package artifact

import (
	"bytes"
	"slices"
	"testing"

	"github.com/blugelabs/bluge/index"
)

// openSegment opens the segment of a group as bluge does.
func openSegment(t testing.TB, g *group) *index.Snapshot {
	t.Helper()
	dir := segments{g.bytes(lexicalSection)}
	snapshot, err := index.OpenReader(index.DefaultConfigWithDirectory(func() index.Directory { return &dir }))
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// blugePostings is what a segment says of a term.
func blugePostings(t testing.TB, snapshot *index.Snapshot, term string) []posting {
	t.Helper()
	it, err := snapshot.PostingsIterator([]byte(term), fieldName, true, false, false)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var out []posting
	for {
		p, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			return out
		}
		out = append(out, posting{uint32(p.Number()), uint32(p.Frequency())})
	}
}

// ownPostings is what the postings of a group say of a term.
func ownPostings(t testing.TB, g *lexicalGroup, term string) (out []posting, common bool) {
	t.Helper()
	l, err := findPostings(g.of.bytes(postingSection), term, hashTerm(term), g.chunks)
	if err != nil {
		t.Fatal(err)
	}
	for d, freq := range l.column {
		if freq != 0 {
			out = append(out, posting{uint32(d), uint32(freq)})
		}
	}
	if out, err = l.decode(out, g.chunks); err != nil || len(out) != l.chunks {
		t.Fatalf("decode(%q) = %d postings, %v; its record says %d", term, len(out), err, l.chunks)
	}
	return out, l.column != nil
}

func TestPostingsAreThoseOfBluge(t *testing.T) {
	dir := t.TempDir()
	docs := append(corpus(40), page("zz.md", "# Often\n\n"+string(bytes.Repeat([]byte("often "), 400))+"\n", nil))
	build(t, dir, docs)
	r := reopen(t, dir)
	commons, rares := 0, 0
	for i := range r.lexical.groups {
		g := &r.lexical.groups[i]
		snapshot := openSegment(t, &r.groups[i])
		it, err := snapshot.DictionaryIterator(fieldName, nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for entry, err := it.Next(); entry != nil; entry, err = it.Next() {
			if err != nil {
				t.Fatal(err)
			}
			got, common := ownPostings(t, g, entry.Term())
			if want := blugePostings(t, snapshot, entry.Term()); !slices.Equal(got, want) {
				t.Fatalf("postings of %q in group %d = %v\nbluge has %v", entry.Term(), i, got, want)
			}
			if common {
				commons++
			} else {
				rares++
			}
		}
		if got, _ := ownPostings(t, g, "nothing"); len(got) != 0 {
			t.Errorf("postings of a term that is not there = %v", got)
		}
	}
	if commons == 0 || rares == 0 {
		t.Errorf("%d common terms and %d others were compared, want some of both", commons, rares)
	}
}

// FuzzPostings reads sections that were damaged: errors are fine, chunks outside
// of the group are not.
func FuzzPostings(f *testing.F) {
	var c counter
	var chunks []*counts
	for _, d := range corpus(1) {
		page := pageCounts(&c, d)
		for _, chunk := range d.Chunks {
			c.chunk(page, chunk)
			done := c.out
			chunks = append(chunks, &done)
		}
	}
	whole := encodePostings(chunks)
	f.Add(whole[:256], "page", 3)
	f.Add(encodePostings(nil), "", 0)
	f.Add([]byte("\x01\x00\x00\x00\x08\x00\x00\x00\x01a\x04\x03\x00\x03\x02"), "a", 9)
	f.Fuzz(func(t *testing.T, section []byte, term string, n int) {
		if n < 0 || n > 1<<16 || checkPostings(section) != nil {
			return
		}
		l, err := findPostings(section, term, hashTerm(term), n)
		if err != nil {
			return
		}
		if l.column != nil && len(l.column) != n {
			t.Errorf("column of %d bytes for %d chunks", len(l.column), n)
		}
		postings, _ := l.decode(nil, n)
		for i, p := range postings {
			if int(p.chunk) >= n || p.freq == 0 || i > 0 && p.chunk <= postings[i-1].chunk {
				t.Fatalf("posting %d of %d chunks is %+v after %+v", i, n, p, postings[:i])
			}
		}
	})
}

func BenchmarkPostings(b *testing.B) {
	dir := b.TempDir()
	build(b, dir, corpus(400))
	r := reopen(b, dir)
	words := []string{"word31", "word77", "word500"}
	b.Run("own", func(b *testing.B) {
		for b.Loop() {
			for _, w := range words {
				p, err := r.Postings(w)
				if err != nil {
					b.Fatal(err)
				}
				if err := r.Each(p, func(int) {}); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	var snapshots []*index.Snapshot
	for i := range r.groups {
		snapshots = append(snapshots, openSegment(b, &r.groups[i]))
	}
	b.Run("bluge", func(b *testing.B) {
		for b.Loop() {
			for _, w := range words {
				for _, s := range snapshots {
					blugePostings(b, s, w)
				}
			}
		}
	})
}
