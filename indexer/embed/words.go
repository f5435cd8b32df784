package embed

import (
	"unicode"
	"unicode/utf8"
)

// maxWordBytes is the maximum length of a word. Longer words, for example keys,
// hashes and blobs, are noise. They are in no vocabulary and are not split into
// pieces.
const maxWordBytes = 40

// Words calls emit for every word of text, in lower case and in order. Both the model
// and its trainer use Words, so they always split text in the same way.
//
// It splits runs of letters and digits at camel-case boundaries: parseURL becomes
// parse, url; HTTPServer becomes http, server; URLs stays whole; base64Encode becomes
// base64, encode. Other digits do not split a run. An identifier of two to four parts
// is also emitted as a whole, with joined set to true. Scripts written without spaces
// are emitted as overlapping pairs of characters. The function emit must not retain
// word. Words longer than 40 bytes are omitted.
func Words(text string, emit func(word []byte, joined bool)) {
	var s splitter
	for i := 0; i < len(text); {
		end, kind := scan(text, i)
		switch kind {
		case wordRun:
			s.run(text[i:end], emit)
		case spacelessRun:
			s.pairs(text[i:end], emit)
		}
		i = end
	}
}

// The kinds of stretches of text.
const (
	gap = iota
	wordRun
	spacelessRun
)

// scan returns the end and the kind of the stretch that begins at text[i].
func scan(text string, i int) (end, kind int) {
	kind = -1
	for i < len(text) {
		size, k := 1, gap
		if c := text[i]; c < utf8.RuneSelf {
			if classes[c] != 0 {
				k = wordRun
			}
		} else {
			var r rune
			r, size = utf8.DecodeRuneInString(text[i:])
			k = kindOf(r)
		}
		if kind >= 0 && k != kind {
			break
		}
		kind = k
		i += size
	}
	return i, kind
}

// kindOf returns the kind of stretch that a non-ASCII rune belongs to.
func kindOf(r rune) int {
	switch {
	case r >= 0x3040 && r <= 0x30ff, r >= 0x3400 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0x20000 && r <= 0x3ffff:
		return spacelessRun
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r):
		return wordRun
	}
	return gap
}

// The classes of bytes within a word. Bytes of non-ASCII letters count as lower case.
const (
	lower = iota + 1
	upper
	digit
)

var classes = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z', c >= utf8.RuneSelf:
			t[c] = lower
		case c >= 'A' && c <= 'Z':
			t[c] = upper
		case c >= '0' && c <= '9':
			t[c] = digit
		}
	}
	return t
}()

// splitter holds the lower-case form of the current run of letters and digits.
type splitter struct {
	room [2 * maxWordBytes]byte
}

func (s *splitter) run(run string, emit func([]byte, bool)) {
	const maxParts = 4
	buf, parts := s.room[:0], 0
	for start := 0; start < len(run); {
		end := start + 1
		for end < len(run) && !camelCut(run, end) {
			end++
		}
		if parts >= maxParts {
			buf = buf[:0]
		}
		from := len(buf)
		buf = appendLower(buf, run[start:end])
		if n := len(buf) - from; n > 0 && n <= maxWordBytes {
			emit(buf[from:], false)
		}
		parts++
		start = end
	}
	if parts > 1 && parts <= maxParts && len(buf) <= maxWordBytes {
		emit(buf, true)
	}
}

// camelCut reports whether a part begins at run[k]. k must be greater than 0.
func camelCut(run string, k int) bool {
	if classes[run[k]] != upper {
		return false
	}
	beforeLower := k+1 < len(run) && classes[run[k+1]] == lower
	switch classes[run[k-1]] {
	case lower:
		return true
	case upper:
		last := k+2 == len(run) && run[k+1] == 's' // the s in a plural like URLs
		return beforeLower && !last
	}
	return beforeLower
}

// appendLower appends part in lower case. If part is too long, it appends only as
// much as is needed to show that.
func appendLower(buf []byte, part string) []byte {
	if len(part) > maxWordBytes {
		part = part[:maxWordBytes+1]
	}
	for i := 0; i < len(part); i++ {
		c := part[i]
		if c >= utf8.RuneSelf {
			return appendLowerRunes(buf, part[i:])
		}
		if classes[c] == upper {
			c += 'a' - 'A'
		}
		buf = append(buf, c)
	}
	return buf
}

func appendLowerRunes(buf []byte, part string) []byte {
	for _, r := range part {
		buf = utf8.AppendRune(buf, unicode.ToLower(r))
	}
	return buf
}

func (s *splitter) pairs(run string, emit func([]byte, bool)) {
	previous := 0
	_, size := utf8.DecodeRuneInString(run)
	if size == len(run) {
		emit(append(s.room[:0], run...), false)
		return
	}
	for i := size; i < len(run); {
		_, size = utf8.DecodeRuneInString(run[i:])
		emit(append(s.room[:0], run[previous:i+size]...), false)
		previous, i = i, i+size
	}
}
