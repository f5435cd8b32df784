package artifact

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Wanted is the set of terms that one search looks for in text. It rejects most other
// words by their first two characters, because stemming does not change these
// characters. It caches its results for the remaining words, because words recur in a
// corpus. It must not be used concurrently.
type Wanted struct {
	begins [1 << 10]bool
	terms  map[string]bool
	seen   [1 << 8]struct{ word, term string } // by hash; term is empty if the word is not wanted
}

// Reset removes all terms.
func (w *Wanted) Reset() {
	clear(w.begins[:])
	clear(w.terms)
	clear(w.seen[:])
}

// forget clears the cache, because a word may have a different term in another
// language.
func (w *Wanted) forget() { clear(w.seen[:]) }

// Add adds a term.
func (w *Wanted) Add(term string) {
	w.AddBeginning(term)
	if w.terms == nil {
		w.terms = map[string]bool{}
	}
	w.terms[term] = true
}

// AddBeginning declares that the text may contain a wanted term as a word that begins
// like the given word. It is needed because a stem may begin differently from its word
// ("dying").
func (w *Wanted) AddBeginning(word string) {
	if at, ok := beginning(word); ok {
		w.begins[at] = true
	}
}

// mayBe reports whether word could be a wanted term. It returns true for every word
// that is not ASCII, because accents are removed later.
func (w *Wanted) mayBe(word string) bool {
	at, ok := beginning(word)
	return !ok || w.begins[at]
}

// term returns the wanted term for word, or "" if word is not wanted.
func (w *Wanted) term(word string, a *Analyzer) string {
	if !w.mayBe(word) {
		return ""
	}
	seen := &w.seen[hashTerm(word)%uint32(len(w.seen))]
	if seen.word != word {
		seen.word, seen.term = word, a.stem(word)
		if !w.terms[seen.term] {
			seen.term = ""
		}
	}
	return seen.term
}

// beginning returns a number for the first two characters of a word, ignoring case. If
// they are not ASCII, ok is false.
func beginning(word string) (n int, ok bool) {
	first, second := word[0], byte(' ')
	if len(word) > 1 {
		second = word[1]
	}
	return int(first&0x1f)<<5 | int(second&0x1f), first < utf8.RuneSelf && second < utf8.RuneSelf
}

// wantedTerms adds the terms of text that may be wanted. Most words begin differently
// from all wanted terms, and are rejected without finding their end. wantedTerms
// classifies 64 bytes at a time. It reads the text between two spaces only if one of
// its word parts begins like a wanted term.
func (a *Analyzer) wantedTerms(text string) {
	w := a.Wanted
	done := 0           // text[:done] has been read
	before := uint64(0) // 1 if the previous block ends in a word
	var block [64]byte
	for base := 0; base < len(text); base += len(block) {
		if n := copy(block[:], text[base:]); n < len(block) {
			clear(block[n:])
		}
		word, upper, odd := kinds(&block)
		// A word part begins at a capital letter or at the start of a word. It may
		// also begin at any non-ASCII byte.
		for begins := word&^(word<<1|before) | upper | odd; begins != 0; begins &= begins - 1 {
			i := base + bits.TrailingZeros64(begins)
			if i < done || !w.mayBegin(text, i) {
				continue
			}
			from, to := i, i+1
			for from > done && text[from-1] > ' ' {
				from--
			}
			for to < len(text) && text[to] > ' ' {
				to++
			}
			a.addTerms(text, from, to)
			done = to
		}
		before = word >> 63
	}
}

// mayBegin reports whether a wanted term may begin at i, the start of a word part. It
// may return true even if no wanted term begins there, but never returns false if one
// does.
func (w *Wanted) mayBegin(text string, i int) bool {
	first, second := text[i], byte(' ')
	if i+1 < len(text) {
		second = text[i+1]
	}
	switch at := int(first&0x1f) << 5; {
	case first >= utf8.RuneSelf, second >= utf8.RuneSelf, w.begins[at|int(second&0x1f)]:
		return true
	case asciiTail[second]:
		return false
	default: // a one-letter part, or the first part of a joined word
		return w.begins[at|' '&0x1f] || second > ' ' && !asciiWord[second]
	}
}

// kinds returns three masks with a bit for each byte of block: ASCII letters and
// digits, ASCII capitals, and non-ASCII bytes.
func kinds(block *[64]byte) (word, upper, odd uint64) {
	const ones = 0x0101010101010101
	for i := range 8 {
		x := binary.LittleEndian.Uint64(block[8*i:])
		high := x & (0x80 * ones)
		x &^= 0x80 * ones
		// Adding 0x80-c sets the high bit of each byte that is at least c.
		small := x | 0x20*ones
		letter := (small + (0x80-'a')*ones) &^ (small + (0x80-'z'-1)*ones)
		digit := (x + (0x80-'0')*ones) &^ (x + (0x80-'9'-1)*ones)
		capital := (x + (0x80-'A')*ones) &^ (x + (0x80-'Z'-1)*ones)
		word |= gather((letter|digit)&^high) << (8 * i)
		upper |= gather(capital&^high) << (8 * i)
		odd |= gather(high) << (8 * i)
	}
	return word, upper, odd
}

// gather collects the high bits of eight bytes into one byte.
func gather(x uint64) uint64 { return (x & 0x8080808080808080 >> 7) * 0x0102040810204080 >> 56 }
