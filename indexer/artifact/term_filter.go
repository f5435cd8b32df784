package artifact

import (
	"encoding/binary"
	"iter"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// termFilter knows most terms that no chunk has, by a Bloom filter. An unknown word has
// some hundreds of spellings, and to look one up in all groups reads two places of the file
// in each.
//
// The filter is filled by the groups one after the other, so that no search waits for all
// of them, and it is of use only when it has all.
type termFilter struct {
	mu    sync.Mutex
	asked int
	added int // number of groups
	bits  []uint64
	read  []byte // working memory: the postings of a group
	full  atomic.Bool
}

const (
	// filterAfter is the number of searches for similar terms before the filter is begun:
	// a program that answers a few questions is done before it is of use.
	filterAfter = 8
	// filterBits is the number of bits for each slot of a group's hash table, of which a
	// third to two thirds have a term. Groups share most terms, so few of several groups'
	// bits are set.
	filterBits    = 8
	maxFilterBits = 1 << 23
	leastFilter   = 1 << 10
)

// learn adds the terms of the next group. If it cannot be read, the filter never becomes
// full, and the terms are looked up without it.
func (f *termFilter) learn(r *Reader) {
	if f.full.Load() || !f.mu.TryLock() {
		return
	}
	defer f.mu.Unlock()
	groups := r.lexical.groups
	if f.asked++; f.asked <= filterAfter || f.added == len(groups) {
		return
	}
	if f.bits == nil {
		f.bits = make([]uint64, filterSize(groups)/64)
	}
	g := &groups[f.added]
	var err error
	if f.read, err = r.readPostings(f.read, g); err == nil {
		err = eachTerm(f.read, g.chunks, func(term []byte, _ *groupList) error { f.add(term); return nil })
	}
	if err != nil {
		f.asked, f.read = math.MinInt, nil
		return
	}
	if f.added++; f.added == len(groups) {
		f.read = nil
		f.full.Store(true)
	}
}

func filterSize(groups []lexicalGroup) int {
	slots, size := 0, leastFilter
	for i := range groups {
		slots += int(binary.LittleEndian.Uint32(groups[i].of.bytes(postingSection)))
	}
	for size < filterBits*slots && size < maxFilterBits {
		size *= 2
	}
	return size
}

// add adds a term. If it has one character that is not plain, it also adds the rest of it.
func (f *termFilter) add(term []byte) {
	f.set(HashTerm(term))
	if at, n := oddCharacter(term); n > 0 {
		f.set(oddHash(term[:at], term[at+n:]))
	}
}

// oddCharacter returns the place and length of the only character of a term that is not a
// plain letter or digit. If there are none or several, n is 0.
func oddCharacter(term []byte) (at, n int) {
	for i := 0; i < len(term); {
		if asciiTail[term[i]] {
			i++
			continue
		}
		if n > 0 {
			return 0, 0
		}
		at = i
		_, n = utf8.DecodeRune(term[i:])
		i += n
	}
	return at, n
}

// oddHash returns the hash of a term without its odd character.
func oddHash[text string | []byte](before, after text) uint64 {
	return hashMore(hashMore(hashStart^'?', before), after)
}

func (f *termFilter) set(hash uint64) {
	for range 2 {
		at := hash & uint64(64*len(f.bits)-1)
		f.bits[at/64] |= 1 << (at % 64)
		hash >>= 32
	}
}

// lacks reports that no chunk has the term with a hash. If it returns false, there may be
// one.
func (f *termFilter) lacks(hash uint64) bool {
	if !f.full.Load() {
		return false
	}
	for range 2 {
		at := hash & uint64(64*len(f.bits)-1)
		if f.bits[at/64]&(1<<(at%64)) == 0 {
			return true
		}
		hash >>= 32
	}
	return false
}

// plainOnly reports that all terms that are one edit away from a term are plain, that is, of
// letters a to z and digits.
func (f *termFilter) plainOnly(term string) bool {
	if !f.full.Load() || !IsPlain(term) || !f.lacks(oddHash(term, "")) {
		return false
	}
	for i := range len(term) {
		if !f.lacks(oddHash(term[:i], term[i+1:])) {
			return false
		}
	}
	return true
}

const plainLetters = "abcdefghijklmnopqrstuvwxyz0123456789"

// IsPlain reports whether a term has only the letters a to z and digits.
func IsPlain(term string) bool { return strings.Trim(term, plainLetters) == "" }

// Edits returns the plain terms that are one edit away from a plain term, or none: a letter
// more, less or another one, or two neighbours swapped. Some occur several times. The slice
// is valid until the next one.
func Edits(term string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b := make([]byte, 0, 2*maxTermBytes)
		for i := range len(term) + 1 {
			before, after := term[:i], term[i:]
			if after != "" && !yield(append(append(b, before...), after[1:]...)) {
				return
			}
			if len(after) > 1 && !yield(append(append(append(append(b, before...), after[1]), after[0]), after[2:]...)) {
				return
			}
			more := append(append(append(b, before...), 0), after...)
			for _, c := range []byte(plainLetters) {
				if more[i] = c; !yield(more) {
					return
				}
			}
			if after == "" {
				continue
			}
			other := append(append(b, before...), after...)
			for _, c := range []byte(plainLetters) {
				if other[i] = c; !yield(other) {
					return
				}
			}
		}
	}
}

// similarBy returns what AllSimilar does for a term whose neighbours are all plain.
func (r *Reader) similarBy(f *termFilter, term string) (map[string]uint64, error) {
	found := map[string]uint64{}
	for edited := range Edits(term) {
		if f.lacks(HashTerm(edited)) {
			continue
		}
		if _, known := found[string(edited)]; known {
			continue
		}
		p, err := r.Postings(string(edited))
		if err != nil {
			return nil, err
		}
		if p.Chunks > 0 {
			found[string(edited)] = uint64(p.Chunks)
		}
	}
	return found, nil
}
