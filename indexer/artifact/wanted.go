package artifact

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Wanted is the set of terms that one search looks for in texts. It rejects
// most other words by their first two characters, which a stem keeps, and
// caches the result for the rest, because a corpus repeats its words. It must
// not be used concurrently.
type Wanted struct {
	begins [1 << 10]bool
	terms  map[string]bool
	seen   [1 << 8]struct{ word, term string } // by hash; term is empty if it is not wanted
}

// Reset removes all terms.
func (w *Wanted) Reset() {
	clear(w.begins[:])
	clear(w.terms)
	clear(w.seen[:])
}

// forget drops what words stand for: in another language it may be another term.
func (w *Wanted) forget() { clear(w.seen[:]) }

// Add adds a term.
func (w *Wanted) Add(term string) {
	w.AddBeginning(term)
	if w.terms == nil {
		w.terms = map[string]bool{}
	}
	w.terms[term] = true
}

// AddBeginning declares that a wanted term may appear as a word with this
// beginning, because a stem may begin differently than its word ("dying").
func (w *Wanted) AddBeginning(word string) {
	if at, ok := beginning(word); ok {
		w.begins[at] = true
	}
}

// mayBe says whether word may stand for a wanted term; one that is not ASCII
// always may, since accents come off.
func (w *Wanted) mayBe(word string) bool {
	at, ok := beginning(word)
	return !ok || w.begins[at]
}

// term is the wanted term that word stands for; empty if it is none.
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

// beginning is a number for the first two characters of a word, the same for
// both cases; ok is false if they are not ASCII.
func beginning(word string) (n int, ok bool) {
	first, second := word[0], byte(' ')
	if len(word) > 1 {
		second = word[1]
	}
	return int(first&0x1f)<<5 | int(second&0x1f), first < utf8.RuneSelf && second < utf8.RuneSelf
}

// wantedTerms adds the terms of text that may be wanted. Most words of a text
// begin otherwise than any that is, which is seen without finding where they
// end: 64 bytes at a time are told apart by kind, and what stands between two
// spaces is read only if a part of a word in it begins as a wanted one.
func (a *Analyzer) wantedTerms(text string) {
	w := a.Wanted
	done := 0           // text[:done] was read
	before := uint64(0) // 1 if the block before ends in a word
	var block [64]byte
	for base := 0; base < len(text); base += len(block) {
		if n := copy(block[:], text[base:]); n < len(block) {
			clear(block[n:])
		}
		word, upper, odd := kinds(&block)
		// A part of a word begins at a capital or where a word does; anything may
		// begin at what is not ASCII.
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

// mayBegin says whether a wanted term may begin at i, where a part of a word
// does. It is true of too many rather than of too few.
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
	default: // a part of one letter, or the first of something joined
		return w.begins[at|' '&0x1f] || second > ' ' && !asciiWord[second]
	}
}

// kinds has a bit for each byte of block: whether it is a letter or digit of
// ASCII, a capital of ASCII, and none of ASCII.
func kinds(block *[64]byte) (word, upper, odd uint64) {
	const ones = 0x0101010101010101
	for i := range 8 {
		x := binary.LittleEndian.Uint64(block[8*i:])
		high := x & (0x80 * ones)
		x &^= 0x80 * ones
		// from is the high bit of each byte of x from one up.
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

// gather makes one byte of the high bits of eight.
func gather(x uint64) uint64 { return (x & 0x8080808080808080 >> 7) * 0x0102040810204080 >> 56 }
