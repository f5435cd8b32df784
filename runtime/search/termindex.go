package search

import (
	"cmp"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// termIndex tells which of several indexes have a term, how often, and how high a chunk can
// score for it, so that the others need not be read, and which chunks have the same vector. It
// takes 5 bytes for each term of each index, 8 more for each distinct term, and 4 for each
// chunk. Its numbers are little-endian, as in its file.
type termIndex struct {
	of     []*snapshot
	starts []byte // u32 by the first 16 bits of a hash: the number of the first term
	hashes []byte // u32 by term: the next 32 bits of the hash
	ends   []byte // u32 by term: the end of its places
	places []byte // u16, of the indexes, ascending for each term
	counts []byte // u16, the number of chunks; at math.MaxUint16, more
	peaks  []byte // u8, see [artifact.Reader.EachTerm]
	twins  []byte // u32 by chunk of all indexes, see [artifact.SharedTwins]; empty if there are none
	mapped bool   // whether it is a mapped file

	share    sync.Once
	distinct *artifact.SharedVectors
}

// vectors returns the vectors of the indexes for a scan of all of them, or nil. shares are all
// of them, in order.
func (t *termIndex) vectors(shares []artifact.Share) *artifact.SharedVectors {
	t.share.Do(func() {
		t.distinct, _ = artifact.ShareVectors(shares, t.twins) // without, each index is scanned for itself
	})
	return t.distinct
}

// buckets is the number of values of a hash's first 16 bits.
const buckets = 1 << 16

func u32(b []byte, i uint32) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
func u16(b []byte, i uint32) uint16 { return binary.LittleEndian.Uint16(b[2*i:]) }

// find returns where the places of the term with a hash begin and end.
func (t *termIndex) find(hash uint64) (from, to uint32) {
	low, end, next := u32(t.starts, uint32(hash>>48)), u32(t.starts, uint32(hash>>48)+1), uint32(hash>>16)
	for high := end; low < high; {
		if middle := (low + high) / 2; u32(t.hashes, middle) < next {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == end || u32(t.hashes, low) != next {
		return 0, 0
	}
	if low > 0 {
		from = u32(t.ends, low-1)
	}
	return from, u32(t.ends, low)
}

// has reports whether an index has the term with a hash.
func (t *termIndex) has(hash uint64) bool {
	defer runtime.KeepAlive(t)
	from, to := t.find(hash)
	return from < to
}

// having returns the places of the indexes that have a term, and the number of chunks
// and the peak of each.
func (t *termIndex) having(term string) (places, counts []uint16, peaks []byte) {
	defer runtime.KeepAlive(t)
	from, to := t.find(artifact.HashTerm(term))
	for i := from; i < to; i++ {
		places, counts, peaks = append(places, u16(t.places, i)), append(counts, u16(t.counts, i)), append(peaks, t.peaks[i])
	}
	return places, counts, peaks
}

// termIn is a term of one index: the 32 bits behind the first 16 of its hash.
type termIn struct {
	hash          uint32
	place, chunks uint16
	peak          byte
}

// buildTermIndex reads the terms of all indexes, twice, so that it needs no more memory than
// 12 bytes for each.
func buildTermIndex(of []*snapshot) (*termIndex, error) {
	each := func(withPeaks bool, visit func(place uint16, hash uint64, chunks int, peak byte)) error {
		for place, ed := range of {
			err := ed.guarded(func() error {
				return ed.reader.EachTerm(withPeaks, func(hash uint64, chunks int, peak byte) { visit(uint16(place), hash, chunks, peak) })
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	at := make([]uint32, buckets+1)
	if err := each(false, func(_ uint16, hash uint64, _ int, _ byte) { at[hash>>48+1]++ }); err != nil {
		return nil, err
	}
	for i := range buckets {
		at[i+1] += at[i]
	}
	sorted := make([]termIn, at[buckets])
	err := each(true, func(place uint16, hash uint64, chunks int, peak byte) { // keeps the order of the places
		sorted[at[hash>>48]] = termIn{uint32(hash >> 16), place, uint16(min(chunks, math.MaxUint16)), peak}
		at[hash>>48]++
	})
	if err != nil {
		return nil, err
	}
	var twins artifact.SharedTwins
	for _, ed := range of {
		if err := ed.guarded(func() error { return twins.Add(ed.reader) }); err != nil {
			return nil, err
		}
	}
	t := &termIndex{of: of, starts: make([]byte, 4, 4*(buckets+1)), twins: twins.Bytes()}
	from := uint32(0)
	for _, to := range at[:buckets] {
		slices.SortStableFunc(sorted[from:to], func(x, y termIn) int { return cmp.Compare(x.hash, y.hash) })
		t.append(sorted[from:to])
		from = to
	}
	return t, nil
}

// append appends the terms whose hashes begin with the next 16 bits.
func (t *termIndex) append(terms []termIn) {
	little := binary.LittleEndian
	for i, x := range terms {
		if i > 0 && terms[i-1].hash == x.hash {
			if last := len(t.places) - 2; little.Uint16(t.places[last:]) == x.place { // in another group of the index
				n := little.Uint16(t.counts[last:])
				little.PutUint16(t.counts[last:], n+min(x.chunks, math.MaxUint16-n))
				t.peaks[last/2] = max(t.peaks[last/2], x.peak)
				continue
			}
			t.ends = t.ends[:len(t.ends)-4]
		} else {
			t.hashes = little.AppendUint32(t.hashes, x.hash)
		}
		t.places, t.counts = little.AppendUint16(t.places, x.place), little.AppendUint16(t.counts, x.chunks)
		t.peaks = append(t.peaks, x.peak)
		t.ends = little.AppendUint32(t.ends, uint32(len(t.places)/2))
	}
	t.starts = little.AppendUint32(t.starts, uint32(len(t.hashes)/4))
}

// fewIndexes is the number of indexes up to which it is as fast to look in each.
const fewIndexes = 16

// index returns the index of the terms in exactly these indexes, or nil if there is none
// yet.
func (f *Federation) index(of []*snapshot) *termIndex {
	if len(of) <= fewIndexes || len(of) != len(f.usual) {
		return nil
	}
	f.read.Do(func() {
		if t := f.file(of).read(of); t != nil {
			f.words.Store(t)
		}
	})
	if t := f.words.Load(); t != nil && slices.Equal(t.of, of) {
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
	if err != nil {
		return
	}
	if file := f.file(of); file.write(t) {
		if mapped := file.read(of); mapped != nil {
			t = mapped
		}
	}
	f.words.Store(t)
}
