package search

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// snippetLength is the approximate length of a snippet without its marks, and the
// length of the window that is searched for the most evidence, both in characters.
const snippetLength = 220

// snippetStep is the number of a chunk's bytes that are searched first for the
// best window. The number then doubles, up to snippetScan.
const (
	snippetStep = 3 << 9
	snippetScan = 24 << 10
)

// snippet returns the part of the text with the most evidence, on one line, with
// "..." at truncated ends and "**" around found words. It leaves out the heading,
// because a hit shows the heading anyway. near is the evidence in the best
// window, and verbatim that in the best run of words.
func (r *run) snippet(text []byte, heading string) (s string, near, verbatim float64) {
	if rest := bytes.TrimLeft(text, "\n "); len(rest) > len(heading) && string(rest[:len(heading)]) == heading && rest[len(heading)] == '\n' {
		text = rest[len(heading):]
	}
	line, found, from, near, verbatim := r.evidence(text)
	line = r.longEnough(text, line, from)
	if from > 0 {
		from = rowOrBack(text, line, from)
	}
	from = wordStart(line, min(from, back(line, len(line), snippetLength)))
	to := wordStart(line, forth(line, from, snippetLength))
	var b strings.Builder
	b.Grow(to - from + 64) // space for marks and dots
	if from > 0 {
		b.WriteString("...")
	}
	mark(&b, line, from, to, found)
	if to < len(line) {
		b.WriteString("...")
	}
	return b.String(), near, verbatim
}

// rowOrBack returns where a snippet begins whose best window begins at a place in the
// line, which is the beginning of the text on one line. This is the start of the row (a
// paragraph, a list item or a row of a table, which begins with its name) if it is near
// enough, and otherwise some words before the window.
func rowOrBack(text, line []byte, place int) int {
	at := placeIn(text, place)
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	for start > 0 && text[start] >= 'a' && text[start] <= 'z' && at-start < maxRow { // a wrapped line, see eachRow
		before := bytes.LastIndexByte(text[:start-1], '\n') + 1
		if start-1-before < wrappedFrom {
			break
		}
		start = before
	}
	row := place - len(bytes.TrimLeft(appendOneLine(nil, text[start:at]), " "))
	if row >= back(line, place, snippetLength/3) {
		return row
	}
	return back(line, place, snippetLength/6)
}

// placeIn returns the place in text of a place in the text on one line, see
// appendOneLine.
func placeIn(text []byte, place int) int {
	space := true
	for at, c := range text {
		white := c == ' ' || c == '\n' || c == '\t' || c == '\r'
		if white && space {
			continue
		}
		if place == 0 {
			return at
		}
		place, space = place-1, white
	}
	return len(text)
}

// longEnough extends the line, which is the beginning of the text on one line,
// until enough for a snippet follows the given start. It returns the extended
// line. A Chinese character, for example, takes three bytes.
func (r *run) longEnough(text, line []byte, from int) []byte {
	for r.taken < len(text) && forth(line, from, snippetLength) == len(line) {
		next := cutText(text[r.taken:], 4*snippetLength)
		r.line = appendOneLine(r.line, next)
		r.taken += len(next)
		line = bytes.TrimSuffix(r.line, []byte(" "))
	}
	return line
}

// back returns the position in s that is n characters before the given one. forth
// returns the position n characters after it.
func back(s []byte, at, n int) int {
	for ; at > 0 && n > 0; n-- {
		_, size := utf8.DecodeLastRune(s[:at])
		at -= size
	}
	return at
}

func forth(s []byte, at, n int) int {
	for ; at < len(s) && n > 0; n-- {
		_, size := utf8.DecodeRune(s[at:])
		at += size
	}
	return at
}

// rowHolds is how much of the evidence of the best place a row must have to be
// shown instead.
const rowHolds = 0.5

// showRow makes the snippet of a hit begin at its best row, if it has one that
// holds enough of the question's words.
func (r *run) showRow(p *ranked, heading string) (err error) {
	if p.row.to <= p.row.from {
		return nil
	}
	packed, err := r.pack(p)
	if err != nil {
		return err
	}
	if r.text, err = r.reader.UnpackText(r.text, packed); err != nil {
		return err
	}
	start := headingEnd(r.text, heading)
	if p.row.from < start || p.row.to > len(r.text) {
		return nil
	}
	to := max(p.row.to, forth(r.text, p.row.from, snippetLength))
	shown, held, _ := r.snippet(r.text[p.row.from:to], "")
	if held < rowHolds*p.held {
		return nil
	}
	if len(bytes.TrimSpace(r.text[start:p.row.from])) > 0 && !strings.HasPrefix(shown, cutMark) {
		shown = cutMark + shown
	}
	if len(bytes.TrimSpace(r.text[to:])) > 0 && !strings.HasSuffix(shown, cutMark) {
		shown += cutMark
	}
	p.snippet = shown
	return nil
}

// cutMark stands where text was left out.
const cutMark = "..."

// scratch holds buffers that queries reuse one after another. The text buffer is
// reused for each chunk.
type scratch struct {
	packed     []byte // the packed text of the chunks read
	text, line []byte
	taken      int // number of the text's bytes that are in line
	found      []termHit
	runs       []reached // working memory of wordOrder.verbatim
	ends       []int
	want       artifact.Wanted // the query's words and the terms in weights
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxScratch is the maximum size in bytes of a buffer that is kept for other
// queries.
const maxScratch = 256 << 10

func (s *scratch) giveBack() {
	s.want.Reset() // it refers to the text of chunks
	s.packed = s.packed[:0]
	if cap(s.packed) <= maxScratch && cap(s.text) <= maxScratch && cap(s.line) <= maxScratch {
		scratches.Put(s)
	}
}

// termHit is an occurrence of a query term in text.
type termHit struct {
	term       int // index among the terms found
	start, end int // in bytes
	from, to   int // the same in characters, set by bestWindow
	weight     float64
}

// evidence returns the beginning of text on one line, the query terms in it, and
// the start and evidence of their best window. It reads only until more than half
// of the query's evidence is found, or further for verbatim, the evidence in the best
// run of the query's words.
func (r *run) evidence(text []byte) (line []byte, found []termHit, from int, sum, verbatim float64) {
	r.analyzer.Wanted = &r.want
	defer func() { r.analyzer.Wanted = nil }()
	terms := make([]string, 0, 8) // the terms found
	r.line, r.found = r.line[:0], r.found[:0]
	r.taken = 0
	at := 0 // the start of the last word in r.line
	enough := false
	for n := snippetStep; ; n *= 2 {
		next := len(cutText(text, n+snippetLength))
		r.line = appendOneLine(r.line, text[r.taken:next])
		r.taken = next
		// No term spans a space, so only the terms of the last word change.
		for len(r.found) > 0 && r.found[len(r.found)-1].end > at {
			r.found = r.found[:len(r.found)-1]
		}
		for _, t := range r.analyzer.Terms(string(r.line[at:])) {
			if weight := r.weights[t.Text]; weight > 0 {
				term := slices.Index(terms, t.Text)
				if term < 0 {
					term, terms = len(terms), append(terms, t.Text)
				}
				r.found = append(r.found, termHit{term: term, start: at + t.Start, end: at + t.End, weight: weight})
			}
		}
		at = bytes.LastIndexByte(r.line, ' ') + 1
		if !enough {
			from, sum = bestWindow(r.line, r.found, len(terms))
			enough = sum > r.total/2
		}
		if n >= min(len(text), snippetScan) || enough && !r.verbatim {
			if r.verbatim {
				verbatim = r.bestRun(terms)
			}
			return bytes.TrimSuffix(r.line, []byte(" ")), r.found, from, sum, verbatim
		}
	}
}

// appendOneLine appends s to the line. Each run of white space becomes one space,
// except at the beginning of the line, where it is dropped. It copies eight bytes
// at a time if they contain no white space except single spaces.
func appendOneLine(line, s []byte) []byte {
	n := len(line)
	space := n == 0 || line[n-1] == ' '
	line = slices.Grow(line, len(s)+8)[:n+len(s)+8]
	for len(s) > 0 {
		if len(s) >= 8 {
			x := binary.LittleEndian.Uint64(s)
			if plainlySpaced(x) && !(space && x&0xff == ' ') {
				binary.LittleEndian.PutUint64(line[n:], x)
				s, n, space = s[8:], n+8, x>>56 == ' '
				continue
			}
		}
		for _, c := range s[:min(8, len(s))] {
			if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
				if space {
					continue
				}
				c, space = ' ', true
			} else {
				space = false
			}
			line[n] = c
			n++
		}
		s = s[min(8, len(s)):]
	}
	return line[:n]
}

// plainlySpaced reports whether eight bytes contain no control characters and no
// two adjacent spaces.
func plainlySpaced(x uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	low := x &^ high
	printable := low + (0x80-' ')*ones | x
	beyond := low + (0x80-' '-1)*ones | x
	spaces := printable &^ beyond & high
	return printable&high == high && spaces&(spaces<<8) == 0
}

// bestWindow returns the start of the snippetLength-long window of the line with the
// most evidence, and the amount of that evidence. Each of the terms counts once.
func bestWindow(line []byte, found []termHit, terms int) (bestAt int, best float64) {
	count := make([]int32, terms)
	sum, first := 0.0, 0
	read := lineReader{line: line}
	for i := range found {
		t := &found[i]
		t.from, t.to = read.charsTo(t.start), read.charsTo(t.end)
		if count[t.term]++; count[t.term] == 1 {
			sum += t.weight
		}
		for t.to-found[first].from > snippetLength && found[first].start < t.start {
			if count[found[first].term]--; count[found[first].term] == 0 {
				sum -= found[first].weight
			}
			first++
		}
		if sum > best+1e-9 {
			best, bestAt = sum, found[first].start
		}
	}
	return bestAt, best
}

// lineReader counts the characters of a line up to places that are near each other.
type lineReader struct {
	line      []byte
	at, chars int // there are so many characters in line[:at]
}

func (r *lineReader) charsTo(at int) int {
	if at >= r.at {
		r.chars += utf8.RuneCount(r.line[r.at:at])
	} else {
		r.chars -= utf8.RuneCount(r.line[at:r.at])
	}
	r.at = at
	return r.chars
}

// wordStart returns the beginning of the word at i. A word of more than 40 bytes is
// split between characters instead, but not within an accented letter or an emoji.
func wordStart(s []byte, i int) int {
	if i >= len(s) {
		return len(s)
	}
	if at := bytes.LastIndexByte(s[max(0, i-40):i], ' '); at >= 0 && i > 0 {
		return max(0, i-40) + at + 1
	}
	for i > 0 && (!utf8.RuneStart(s[i]) || continues(s, i)) {
		i--
	}
	return i
}

const joiner = '\u200d' // zero width: joins emoji into one

// continues reports whether the character at i is part of the one before it.
func continues(s []byte, i int) bool {
	if s[i] < utf8.RuneSelf {
		return false
	}
	c, _ := utf8.DecodeRune(s[i:])
	before, _ := utf8.DecodeLastRune(s[:i])
	return before == joiner || c == joiner || unicode.In(c, unicode.Mn, unicode.Me) || unicode.Is(unicode.Sk, c) && c > 0xffff
}

// markShare is the minimum weight of a marked term, relative to the strongest term
// found. Without this minimum, "the" or "is" in bold would distract from the words
// that matter.
const markShare = 0.25

// mark writes s[from:to] with the found words in bold. It always marks whole words,
// and adjacent words share their marks.
func mark(b *strings.Builder, s []byte, from, to int, found []termHit) {
	strongest := 0.0
	for _, t := range found {
		strongest = max(strongest, t.weight)
	}
	at, start, end := from, -1, -1
	flush := func() {
		if start >= 0 {
			b.Write(s[at:start])
			b.WriteString("**")
			b.Write(s[start:end])
			b.WriteString("**")
			at = end
		}
	}
	for _, t := range found {
		if t.start < from || t.end > to || t.weight < markShare*strongest {
			continue
		}
		wordFrom, wordTo := wholeWord(s, t.start, t.end)
		wordFrom, wordTo = max(wordFrom, from), min(wordTo, to)
		if start >= 0 && (wordFrom <= end || string(s[end:wordFrom]) == " ") {
			end = max(end, wordTo)
			continue
		}
		flush()
		start, end = wordFrom, wordTo
	}
	flush()
	b.Write(s[at:to])
}

// wholeWord widens s[start:end] to the identifier around it.
func wholeWord(s []byte, start, end int) (int, int) {
	part := func(c byte) bool {
		return c == '_' || c == '-' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
	}
	cjk := start < len(s) && s[start] >= 0xe2 // these scripts have no spaces
	for start > 0 && !cjk && part(s[start-1]) {
		start--
	}
	for end < len(s) && !cjk && part(s[end]) {
		end++
	}
	return start, end
}
