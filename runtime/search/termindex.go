package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// termIndex tells which of several indexes have a term, and how often, so that the others
// need not be read. It takes 4 bytes for each term of each index, and 8 more for each
// distinct term.
type termIndex struct {
	of     []*snapshot
	starts []uint32 // by the first 16 bits of a hash: the number of the first term
	hashes []uint32 // by term: the next 32 bits of the hash
	ends   []uint32 // by term: the end of its places
	places []uint16 // of the indexes, ascending for each term
	counts []uint16 // the number of chunks; at math.MaxUint16, more
}

// having returns the places of the indexes that have a term, and the number of chunks
// of each.
func (t *termIndex) having(term string) (places, counts []uint16) {
	hash := artifact.HashTerm(term)
	from, to := t.starts[hash>>48], t.starts[hash>>48+1]
	i, ok := slices.BinarySearch(t.hashes[from:to], uint32(hash>>16))
	if !ok {
		return nil, nil
	}
	at := from + uint32(i)
	start := uint32(0)
	if at > 0 {
		start = t.ends[at-1]
	}
	return t.places[start:t.ends[at]], t.counts[start:t.ends[at]]
}

// termIn is a term of one index.
type termIn struct {
	hash   uint64 // its first 16 bits, then the next 32
	place  uint16
	chunks uint16
}

// buildTermIndex reads the terms of all indexes.
func buildTermIndex(of []*snapshot) (*termIndex, error) {
	var all []termIn
	for place, ed := range of {
		err := ed.guarded(func() error {
			return ed.reader.EachTerm(func(hash uint64, chunks int) {
				all = append(all, termIn{hash >> 16, uint16(place), uint16(min(chunks, math.MaxUint16))})
			})
		})
		if err != nil {
			return nil, err
		}
	}
	t := &termIndex{of: of, starts: make([]uint32, 1<<16+1)}
	at := make([]uint32, 1<<16+1) // by the first 16 bits
	for _, x := range all {
		at[x.hash>>32+1]++
	}
	for i := range 1 << 16 {
		at[i+1] += at[i]
	}
	sorted := make([]termIn, len(all))
	for _, x := range all { // keeps the order of the places
		sorted[at[x.hash>>32]] = x
		at[x.hash>>32]++
	}
	from := uint32(0)
	for begin, to := range at[:1<<16] {
		slices.SortStableFunc(sorted[from:to], func(x, y termIn) int { return cmp.Compare(x.hash, y.hash) })
		t.append(begin, sorted[from:to])
		from = to
	}
	t.hashes, t.ends = slices.Clip(t.hashes), slices.Clip(t.ends)
	t.places, t.counts = slices.Clip(t.places), slices.Clip(t.counts)
	return t, nil
}

// append appends the terms whose hashes begin with the given bits.
func (t *termIndex) append(begin int, terms []termIn) {
	for i, x := range terms {
		n := len(t.places)
		if i > 0 && terms[i-1].hash == x.hash {
			if t.places[n-1] == x.place { // in another group of the index
				t.counts[n-1] += min(x.chunks, math.MaxUint16-t.counts[n-1])
				continue
			}
			t.ends[len(t.ends)-1]++
		} else {
			t.hashes, t.ends = append(t.hashes, uint32(x.hash)), append(t.ends, uint32(n+1))
		}
		t.places, t.counts = append(t.places, x.place), append(t.counts, x.chunks)
	}
	t.starts[begin+1] = uint32(len(t.hashes))
}

// fewIndexes is the number of indexes up to which it is as fast to look in each.
const fewIndexes = 16

// index returns the index of the terms in exactly these indexes, or nil if there is none
// yet.
func (f *Federation) index(of []*snapshot) *termIndex {
	if t := f.words.Load(); t != nil && len(of) > fewIndexes && slices.Equal(t.of, of) {
		return t
	}
	return nil
}

// learnWords builds the index of terms in the background if a search of all libraries
// was without. The first search does not wait for it.
func (f *Federation) learnWords(v *vocabulary) {
	if v.index != nil || len(v.of) <= fewIndexes || len(v.of) > math.MaxUint16 || len(v.of) != len(f.usual) {
		return
	}
	if f.building.CompareAndSwap(false, true) {
		go func() {
			defer f.building.Store(false)
			f.buildIndex()
		}()
	}
}

// buildIndex builds the index of the terms in the usual libraries. After an error there is
// none: searches report the error when they meet it.
func (f *Federation) buildIndex() {
	var of []*snapshot
	for _, l := range f.usual {
		ed, release, err := l.Engine.use()
		if err != nil {
			return
		}
		defer release()
		of = append(of, ed)
	}
	t, err := buildTermIndex(of)
	if err == nil {
		f.words.Store(t)
	}
}
