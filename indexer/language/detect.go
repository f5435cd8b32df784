package language

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRead is the number of bytes of a page that are read to detect its language. This
// is about 2,000 words.
const maxRead = 16 << 10

// Conditions for a page to be in a language other than English. English pages also
// contain code, names and quotes in other languages, so a large share of the words
// must be in the language. If the page's path claims the language, the constants whose
// names start with claimed apply instead.
const (
	leastHits    = 6    // function words in the language
	leastKinds   = 4    // distinct function words
	leastShare   = 0.10 // share of function words among all words
	claimedHits  = 2
	claimedKinds = 2
	claimedShare = 0.03
	// A CJK character carries as much information as several letters. A page is in a
	// CJK language if it has at least 1/cjkWeight as many CJK characters as other
	// letters.
	cjkWeight        = 3
	claimedCJKWeight = 20
	// A Japanese page contains kana, and a Korean page contains hangul. A Chinese
	// page contains neither.
	kanaShare   = 0.1
	hangulShare = 0.3
)

// Detect returns the language of the Markdown page at a path. The language depends on
// the words on the page. If the page is short, a language that a folder name or the
// file name claims counts as well. If there is no evidence of another language, the
// result is English.
func Detect(page string, src []byte) Code {
	claim, claimed := OfPath(page)
	e := look(prose(src))
	if c, ok := e.cjk(claim); ok {
		return c
	}
	best, hits := e.best()
	least, kinds, share := leastHits, leastKinds, leastShare
	if claimed && claim != English {
		// Related languages share words, so the path's claim decides between
		// them.
		if own := e.hits[claim]; own >= claimedHits && 4*own >= 3*hits {
			best, hits = claim, own
		}
		if best == claim {
			least, kinds, share = claimedHits, claimedKinds, claimedShare
		}
	}
	if best != English && hits >= least && e.kinds(best) >= kinds && float64(hits) >= share*float64(e.words) && 2*hits >= 3*e.hits[English] {
		return best
	}
	return English
}

// evidence counts the signs of each language in text.
type evidence struct {
	words             int // in alphabetic scripts
	letters           int // letters in these words
	han, kana, hangul int
	hits              map[Code]int    // number of function words per language
	met               map[string]bool // the distinct function words found
}

// look collects the evidence in text.
func look(text string) evidence {
	e := evidence{hits: map[Code]int{}, met: map[string]bool{}}
	start := -1
	flush := func(end int) {
		if start >= 0 {
			e.word(text[start:end])
			start = -1
		}
	}
	for i, r := range text {
		switch {
		case r < utf8.RuneSelf:
			if r|0x20 >= 'a' && r|0x20 <= 'z' {
				if start < 0 {
					start = i
				}
				e.letters++
				continue
			}
		case unicode.Is(unicode.Han, r):
			e.han++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			e.kana++
		case unicode.Is(unicode.Hangul, r):
			e.hangul++
		case unicode.IsLetter(r), unicode.IsMark(r):
			if start < 0 {
				start = i
			}
			e.letters++
			continue
		}
		flush(i)
	}
	flush(len(text))
	return e
}

func (e *evidence) word(word string) {
	e.words++
	if len(word) > maxFunctionWord {
		return
	}
	word = strings.ToLower(word)
	of := functionWords()[word]
	for _, c := range of {
		e.hits[c]++
	}
	if of != nil {
		e.met[word] = true
	}
}

// kinds returns the number of distinct function words found in a language.
func (e *evidence) kinds(c Code) (n int) {
	for word := range e.met {
		if slices.Contains(functionWords()[word], c) {
			n++
		}
	}
	return n
}

// cjk returns the language if the text is mostly in Chinese, Japanese or Korean
// characters. If the path claims one of these languages, a smaller share is enough.
func (e *evidence) cjk(claim Code) (Code, bool) {
	all, weight := e.han+e.kana+e.hangul, cjkWeight
	if claim == Chinese || claim == Japanese || claim == Korean {
		weight = claimedCJKWeight
	}
	switch {
	case all == 0 || weight*all < e.letters:
		return English, false
	case float64(e.hangul) >= hangulShare*float64(all):
		return Korean, true
	case float64(e.kana) >= kanaShare*float64(all):
		return Japanese, true
	}
	return Chinese, true
}

// best returns the language other than English with the most function words. If
// several languages have the same number, it returns the one whose code comes
// first.
func (e *evidence) best() (best Code, hits int) {
	for c, n := range e.hits {
		if c != English && (n > hits || n == hits && c < best) {
			best, hits = c, n
		}
	}
	return best, hits
}

// prose returns the beginning of a page without front matter and without fenced
// code, because code is in English on all pages.
func prose(src []byte) string {
	var b strings.Builder
	fence := ""
	for line := range strings.SplitSeq(string(src[:min(len(src), 2*maxRead)]), "\n") {
		trimmed := strings.TrimLeft(line, " \t>")
		mark := ""
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			mark = trimmed[:3]
		}
		switch {
		case mark != "" && fence == "":
			fence = mark
			continue
		case mark == fence && mark != "":
			fence = ""
			continue
		case fence != "":
			continue
		}
		if b.Len()+len(line) > maxRead {
			break
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}
