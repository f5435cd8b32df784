package search

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// snippetBytes is about how long a snippet is before its marks.
const snippetBytes = 220

// snippetStep is how much of a chunk is searched for the best place at a time,
// snippetScan how much at the most.
const (
	snippetStep = 3 << 9
	snippetScan = 24 << 10
)

// snippet is the piece of text with the most evidence, on one line, cut sides
// marked by "..." and words that were found by "**". The heading is left out:
// a hit shows it anyway.
func (r *run) snippet(text []byte, heading string) string {
	if rest := bytes.TrimLeft(text, "\n "); len(rest) > len(heading) && string(rest[:len(heading)]) == heading && rest[len(heading)] == '\n' {
		text = rest[len(heading):]
	}
	line, found, from := r.evidence(text)
	if from > 0 {
		from = max(0, from-snippetBytes/6)
	}
	from = wordStart(line, max(0, min(from, len(line)-snippetBytes)))
	to := wordStart(line, min(len(line), from+snippetBytes))
	var b strings.Builder
	if from > 0 {
		b.WriteString("...")
	}
	r.mark(&b, line, from, to, found)
	if to < len(line) {
		b.WriteString("...")
	}
	return b.String()
}

// evidence is the beginning of text on one line, the terms of the query in it
// and where the best window of them begins. It reads on only while most of the
// query was not seen.
func (r *run) evidence(text []byte) (line string, found []artifact.Term, from int) {
	r.analyzer.Wanted = r.want
	defer func() { r.analyzer.Wanted = nil }()
	for n := snippetStep; ; n *= 2 {
		line, found = oneLine(cutText(text, n+snippetBytes)), found[:0]
		for _, t := range r.analyzer.Terms(line) {
			if t.Text != "" && r.weights[t.Text] > 0 {
				found = append(found, t)
			}
		}
		from, sum := r.bestWindow(found)
		if n >= min(len(text), snippetScan) || sum > r.total/2 {
			return line, found, from
		}
	}
}

// oneLine is s with each run of white space as one space, and none around.
func oneLine(s []byte) string {
	line := make([]byte, len(s))
	n, space := 0, true // space: the last byte of line is one, or there is none
	for _, c := range s {
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
	if n > 0 && space {
		n--
	}
	return string(line[:n])
}

// bestWindow is where the snippetBytes begin that hold the most evidence, each
// term counted once, and how much that is.
func (r *run) bestWindow(found []artifact.Term) (bestAt int, best float64) {
	count := map[string]int{}
	sum, i := 0.0, 0
	for _, t := range found {
		if count[t.Text]++; count[t.Text] == 1 {
			sum += r.weights[t.Text]
		}
		for t.End-found[i].Start > snippetBytes && found[i].Start < t.Start {
			if count[found[i].Text]--; count[found[i].Text] == 0 {
				sum -= r.weights[found[i].Text]
			}
			i++
		}
		if sum > best+1e-9 {
			best, bestAt = sum, found[i].Start
		}
	}
	return bestAt, best
}

// wordStart is the beginning of the word at i, or near it: a very long word is
// cut between characters.
func wordStart(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	if at := strings.LastIndexByte(s[max(0, i-40):i], ' '); at >= 0 && i > 0 {
		return max(0, i-40) + at + 1
	}
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// markShare is the share of the strongest term's evidence under which a term is
// not marked: "the" and "is" in bold would hide the words that matter.
const markShare = 0.25

// mark writes s[from:to] with the words found in bold, whole words always;
// neighbours share their marks.
func (r *run) mark(b *strings.Builder, s string, from, to int, found []artifact.Term) {
	strongest := 0.0
	for _, t := range found {
		strongest = max(strongest, r.weights[t.Text])
	}
	at, start, end := from, -1, -1
	flush := func() {
		if start >= 0 {
			b.WriteString(s[at:start])
			b.WriteString("**" + s[start:end] + "**")
			at = end
		}
	}
	for _, t := range found {
		if t.Start < from || t.End > to || r.weights[t.Text] < markShare*strongest {
			continue
		}
		wordFrom, wordTo := wholeWord(s, t.Start, t.End)
		wordFrom, wordTo = max(wordFrom, from), min(wordTo, to)
		if start >= 0 && (wordFrom <= end || s[end:wordFrom] == " ") {
			end = max(end, wordTo)
			continue
		}
		flush()
		start, end = wordFrom, wordTo
	}
	flush()
	b.WriteString(s[at:to])
}

// wholeWord widens s[start:end] to the identifier around it.
func wholeWord(s string, start, end int) (int, int) {
	part := func(c byte) bool {
		return c == '_' || c == '-' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
	}
	cjk := start < len(s) && s[start] >= 0xe2 // no spaces there: as found
	for start > 0 && !cjk && part(s[start-1]) {
		start--
	}
	for end < len(s) && !cjk && part(s[end]) {
		end++
	}
	return start, end
}
