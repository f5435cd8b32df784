package embed

import (
	"encoding/binary"
	"fmt"
)

// Vocabulary maps words to rows of a model. It is a hash table stored as bytes, so
// opening it takes no time. It may be used concurrently. A token that starts with "##"
// is a piece that continues a word.
type Vocabulary struct {
	rows    int
	slots   []byte // u16 row+1, or 0 if empty; the number of slots is a power of two
	offsets []byte // rows+1 offsets into strings, each a u32
	strings []byte
}

const (
	maxRows = 1<<16 - 1
	// maxProbes limits the time of a lookup in a table that was filled with malicious
	// intent. NewVocabulary doubles the table until no token needs more probes.
	maxProbes = 32
	// continued is the prefix of a token that is not the first piece of its word.
	continued = "##"

	maxPieces     = 12
	maxPieceBytes = 20
)

// NewVocabulary returns a vocabulary in which tokens[i] is row i. It returns an error
// if there are more than 65,535 tokens or if a token is empty, too long (255 bytes) or
// a duplicate. If the problem is a token, the error contains it.
func NewVocabulary(tokens []string) (*Vocabulary, error) {
	if len(tokens) > maxRows {
		return nil, fmt.Errorf("%d tokens; the maximum is %d", len(tokens), maxRows)
	}
	v := &Vocabulary{rows: len(tokens)}
	seen := make(map[string]bool, len(tokens))
	for i, t := range tokens {
		if t == "" || len(t) > 255 || seen[t] {
			return nil, fmt.Errorf("token %d, %q, is empty, too long or a duplicate", i, t)
		}
		seen[t] = true
		v.offsets = binary.LittleEndian.AppendUint32(v.offsets, uint32(len(v.strings)))
		v.strings = append(v.strings, t...)
	}
	v.offsets = binary.LittleEndian.AppendUint32(v.offsets, uint32(len(v.strings)))
	for size := slotsFor(len(tokens)); ; size *= 2 {
		if v.fill(size, 0) {
			return v, nil
		}
	}
}

// With returns the vocabulary with the tokens of v, which keep their rows, and then
// those of added. If both have a token, its row is the one in added. It returns an
// error if there are more than 65,535 rows.
func (v *Vocabulary) With(added *Vocabulary) (*Vocabulary, error) {
	both := &Vocabulary{rows: v.rows + added.rows}
	if both.rows > maxRows {
		return nil, fmt.Errorf("%d tokens; the maximum is %d", both.rows, maxRows)
	}
	for _, part := range []*Vocabulary{v, added} {
		from := uint32(len(both.strings))
		for row := range part.rows {
			both.offsets = binary.LittleEndian.AppendUint32(both.offsets, from+part.start(row))
		}
		both.strings = append(both.strings, part.strings[:part.start(part.rows)]...)
	}
	both.offsets = binary.LittleEndian.AppendUint32(both.offsets, uint32(len(both.strings)))
	for size := slotsFor(both.rows); ; size *= 2 {
		if both.fill(size, v.rows) {
			return both, nil
		}
	}
}

// slotsFor returns the smallest power of two that leaves a third of the table empty.
func slotsFor(rows int) int {
	size := 16
	for size*2 < rows*3 {
		size *= 2
	}
	return size
}

// fill makes a table with the given number of slots: first the rows from first on, and
// then those before it. Of two rows with the same token, the one that is entered first
// is found. It returns false if the table is too small.
func (v *Vocabulary) fill(size, first int) bool {
	v.slots = make([]byte, 2*size)
	for i := range v.rows {
		row := (first + i) % v.rows
		at, ok := v.free(hashWord(hashSeed, v.token(row)))
		if !ok {
			return false
		}
		binary.LittleEndian.PutUint16(v.slots[at:], uint16(row+1))
	}
	return true
}

func (v *Vocabulary) free(hash uint32) (at int, ok bool) {
	for i := range uint32(maxProbes) {
		at := v.slot(hash + i)
		if binary.LittleEndian.Uint16(v.slots[at:]) == 0 {
			return at, true
		}
	}
	return 0, false
}

// slot returns the byte offset in v.slots of a hash's slot.
func (v *Vocabulary) slot(hash uint32) int {
	return 2 * int(hash&uint32(len(v.slots)/2-1))
}

// Len returns the number of rows.
func (v *Vocabulary) Len() int { return v.rows }

// Token returns the token of a row. row must be in [0, Len()).
func (v *Vocabulary) Token(row int) string { return string(v.token(row)) }

// token returns the token of a row, or nil if a damaged file points outside its
// strings.
func (v *Vocabulary) token(row int) []byte {
	from, to := v.start(row), v.start(row+1)
	if from > to || int64(to) > int64(len(v.strings)) {
		return nil
	}
	return v.strings[from:to]
}

// start returns the offset of a row's token in the strings.
func (v *Vocabulary) start(row int) uint32 { return binary.LittleEndian.Uint32(v.offsets[4*row:]) }

// Row returns the row of a token, or -1 if the token has no row. The token must be
// spelled as in the vocabulary.
func (v *Vocabulary) Row(token string) int {
	hash := hashToken(token)
	for i := range uint32(maxProbes) {
		row := int(binary.LittleEndian.Uint16(v.slots[v.slot(hash+i):])) - 1
		if row < 0 {
			break
		}
		if row < v.rows && string(v.token(row)) == token {
			return row
		}
	}
	return -1
}

// find does the same as Row, but takes a word whose hash is known. piece is true if the
// word is a piece that continues a word.
func (v *Vocabulary) find(hash uint32, word []byte, piece bool) int {
	for i := range uint32(maxProbes) {
		row := int(binary.LittleEndian.Uint16(v.slots[v.slot(hash+i):])) - 1
		if row < 0 {
			break
		}
		if row >= v.rows {
			continue
		}
		t := v.token(row)
		if piece {
			if len(t) < len(continued) || string(t[:len(continued)]) != continued {
				continue
			}
			t = t[len(continued):]
		}
		if string(t) == string(word) {
			return row
		}
	}
	return -1
}

// AppendWord appends the rows of one word to rows. The word must come from Words. If
// it has a row, AppendWord appends that row, or else the rows of the longest pieces
// into which the word can be split. Numbers and words outside ASCII are not split. If
// there are no rows for the word, nothing is appended.
func (v *Vocabulary) AppendWord(rows []uint16, word []byte, joined bool) []uint16 {
	if len(word) > maxWordBytes {
		return rows
	}
	if row := v.find(hashWord(hashSeed, word), word, false); row >= 0 {
		return append(rows, uint16(row))
	}
	if joined || !divisible(word) {
		return rows
	}
	return v.appendPieces(rows, word)
}

// divisible reports whether an unknown word can be split. It must be ASCII and
// contain a letter.
func divisible(word []byte) bool {
	letters := false
	for _, c := range word {
		if c >= 0x80 {
			return false
		}
		letters = letters || classes[c] != digit
	}
	return letters
}

func (v *Vocabulary) appendPieces(rows []uint16, word []byte) []uint16 {
	first := true
	for range maxPieces {
		if len(word) == 0 {
			break
		}
		row, n := v.longest(word, first)
		if row >= 0 {
			rows = append(rows, uint16(row))
		}
		word, first = word[n:], false
	}
	return rows
}

// longest returns the row and length of the longest token that is a prefix of word. If
// there is no such token, row is -1 and n is 1, the number of bytes to skip. In a word
// of three or more letters, the first piece never has exactly two letters.
func (v *Vocabulary) longest(word []byte, first bool) (row, n int) {
	var hashes [maxPieceBytes + 1]uint32
	most := min(len(word), maxPieceBytes)
	hashes[0] = hashSeed
	if !first {
		hashes[0] = hashWord(hashSeed, []byte(continued))
	}
	for i, c := range word[:most] {
		hashes[i+1] = (hashes[i] ^ uint32(c)) * hashFactor
	}
	for n := most; n > 0; n-- {
		if first && n == 2 && len(word) > 2 {
			continue
		}
		if row := v.find(hashes[n], word[:n], !first); row >= 0 {
			return row, n
		}
	}
	return -1, 1
}

// Constants of 32-bit FNV-1a. While a word is hashed, the hash of each prefix
// becomes known.
const (
	hashSeed   = 2166136261
	hashFactor = 16777619
)

func hashWord(hash uint32, word []byte) uint32 {
	for _, c := range word {
		hash = (hash ^ uint32(c)) * hashFactor
	}
	return hash
}

func hashToken(token string) uint32 { return hashWord(hashSeed, []byte(token)) }
