package artifact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// shelf is several indexes with some of the documents of corpus each, and with vectors, of
// which some are the same in several.
func shelf(t *testing.T, n int) []*Reader {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 8))
	docs := corpus(2 * n)
	var all []*Reader
	var vectors []Vector
	for i := range n {
		own := docs[2*i : 2*i+1+i%2]
		for d := range own {
			for range own[d].Chunks {
				v := make(Vector, 64)
				for x := range v {
					v[x] = int8(random.IntN(255) - 127)
				}
				if vectors = append(vectors, v); random.IntN(3) == 0 {
					v = vectors[random.IntN(len(vectors))]
				}
				own[d].Vectors = append(own[d].Vectors, v)
			}
		}
		dir := t.TempDir()
		buildWith(t, dir, own, Model{Provider: "test", Name: "random"})
		all = append(all, reopen(t, dir))
	}
	return all
}

// A search over several indexes finds what the best of each of them are.
func TestSharesAreSearchedAsOne(t *testing.T) {
	readers := shelf(t, 9)
	query := make([]float32, 64)
	query[3], query[9] = 1, -0.5
	for _, k := range []int{1, 5, 40, 10000} {
		var shares []Share
		var lexical, near []SharedHit
		for i, r := range readers {
			words := terms(t, r, "word31", "word1", "section")
			bound := 0.0
			for _, w := range words {
				if w.Chunks > 0 {
					bound += IDF(r.Len(), w.Chunks)
				}
			}
			more := float64(i%4) / 3
			var keep func(int) bool
			if i%3 == 1 {
				keep = func(chunk int) bool { return chunk%2 == 0 }
			}
			shares = append(shares, Share{Reader: r, Terms: func() ([]WeightedTerm, float64, error) { return words, more, nil }, Bound: bound + more, Keep: keep})
			found, err := r.Lexical(words, k, keep)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range found {
				s.Score = float64(float32(s.Score + more))
				lexical = append(lexical, SharedHit{i, s})
			}
			nearest, _, err := r.Nearest(query, k, keep)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range nearest {
				near = append(near, SharedHit{i, s})
			}
		}
		slices.SortFunc(lexical, byShare)
		slices.SortFunc(near, byShare)
		if got, err := LexicalOver(shares, k); err != nil || !slices.Equal(got, lexical[:min(k, len(lexical))]) {
			t.Errorf("the best %d by words are %v, %v; want %v", k, got, err, lexical[:min(k, len(lexical))])
		}
		got, spread, err := NearestOver(shares, query, k, nil)
		if err != nil || !slices.Equal(got, near[:min(k, len(near))]) {
			t.Errorf("the nearest %d are %v, %v; want %v", k, got, err, near[:min(k, len(near))])
		}
		if again, same, err := NearestOver(shares, query, k, distinctOf(t, shares)); err != nil || !slices.Equal(again, got) || same != spread {
			t.Errorf("each distinct row once: the nearest %d are %v, %+v, %v; want %v, %+v", k, again, same, err, got, spread)
		}
		if _, one, _ := readers[0].Nearest(query, 1, nil); spread.Max < one.Max || math.Abs(spread.Mean) > 0.1 {
			t.Errorf("spread %+v; one index has %+v", spread, one)
		}
	}
}

func distinctOf(t *testing.T, shares []Share) *SharedVectors {
	t.Helper()
	var twins SharedTwins
	rows := 0
	for _, s := range shares {
		if err := twins.Add(s.Reader); err != nil {
			t.Fatal(err)
		}
		for _, r := range s.vectors().runs {
			rows += len(r.rows)
		}
	}
	distinct, err := ShareVectors(shares, twins.Bytes())
	if err != nil || distinct == nil {
		t.Fatalf("%v, %v", distinct, err)
	}
	for _, runs := range distinct.runs {
		for _, r := range runs {
			rows -= len(r.rows)
		}
	}
	if rows <= 0 {
		t.Error("the indexes have rows in common, but as many are scanned as without knowing")
	}
	return distinct
}

// EachTerm visits the terms that the dictionary has, with the best that a chunk scores for
// each, rounded up.
func TestEachTermIsVisited(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, corpus(60))
	r := reopen(t, dir)
	want, err := r.lexical.dictionary(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, peaks := map[uint64]uint64{}, map[uint64]float64{}
	if err := r.EachTerm(true, func(hash uint64, chunks int, peak byte) {
		got[hash] += uint64(chunks)
		peaks[hash] = max(peaks[hash], PeakShare(peak))
	}); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("%d terms are visited, the dictionary has %d", len(got), len(want))
	}
	for term, n := range want {
		if got[HashTerm(term)] != n {
			t.Errorf("%s is in %d chunks, the dictionary says %d", term, got[HashTerm(term)], n)
		}
		found, err := r.Lexical(terms(t, r, term), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		best, peak := found[0].Score/IDF(r.Len(), int(n)), peaks[HashTerm(term)]
		if peak < best || peak > best+1.1/math.MaxUint8 {
			t.Errorf("%s: a chunk scores %g of its weight, the peak is %g", term, best, peak)
		}
	}
}

// More indexes than files are open, and each can be read, even if another has taken
// its place on disk.
func TestFewFilesAreOpen(t *testing.T) {
	var readers []*Reader
	var dirs []string
	for i := range maxOpen + 5 {
		dir := t.TempDir()
		build(t, dir, []Document{page("a.md", fmt.Sprintf("# Page\n\nThis is index %d.\n", i), nil)})
		readers, dirs = append(readers, reopen(t, dir)), append(dirs, dir)
	}
	if n := filePool.open.Len(); n > maxOpen {
		t.Errorf("%d files are open, at most %d may be", n, maxOpen)
	}
	if err := os.RemoveAll(dirs[0]); err != nil { // its file is closed
		t.Skip(err) // this system does not delete what is mapped
	}
	for i, r := range readers {
		text, err := r.Text(nil, 0)
		if want := fmt.Sprintf("This is index %d.", i); err != nil || !slices.Contains([]string{"Page\n" + want, "Page\n\n" + want, want}, string(text)) {
			t.Errorf("index %d: %q, %v", i, text, err)
		}
	}
}
