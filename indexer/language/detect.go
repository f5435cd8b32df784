package language

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRead is how much of a page is read to see its language: some 2,000 words.
const maxRead = 16 << 10

// What a page must have to be in a language other than English. Code, names and
// quotes of other languages stand in English pages too, so the language must be
// seen in many of its words; a page in a folder of that language needs less.
const (
	leastHits    = 6    // function words of the language
	leastKinds   = 4    // different ones
	leastShare   = 0.10 // of all words
	claimedHits  = 2
	claimedKinds = 2
	claimedShare = 0.03
	// A character of CJK says as much as some letters of a word. A page is in one
	// of their languages if cjkWeight times as many as it has other letters are.
	cjkWeight        = 3
	claimedCJKWeight = 20
	// A Japanese page has kana, a Korean one hangul; Chinese has neither.
	kanaShare   = 0.1
	hangulShare = 0.3
)

// Detect returns the language of a page in Markdown at a path. Its words decide;
// a folder or a file name that claims a language counts for short pages.
// Without evidence of another language it is English.
func Detect(page string, src []byte) Code {
	claim, claimed := OfPath(page)
	e := look(prose(src))
	if c, ok := e.cjk(claim); ok {
		return c
	}
	best, hits := e.best()
	least, kinds, share := leastHits, leastKinds, leastShare
	if claimed && claim != English {
		// Sister languages share words: the claim decides between them.
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

// evidence is what a text shows of its language.
type evidence struct {
	words             int // in letters of alphabets
	letters           int // of these words
	han, kana, hangul int
	hits              map[Code]int    // function words of a language among the words
	met               map[string]bool // the different ones
}

// look reads a text.
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

// kinds is how many different function words of a language were met.
func (e *evidence) kinds(c Code) (n int) {
	for word := range e.met {
		if slices.Contains(functionWords()[word], c) {
			n++
		}
	}
	return n
}

// cjk is the language of a text that is mostly in Chinese, Japanese or Korean
// characters, or to a good part if its path claims one of these.
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

// best is the language other than English with the most words, the first by code
// of equal ones.
func (e *evidence) best() (best Code, hits int) {
	for c, n := range e.hits {
		if c != English && (n > hits || n == hits && c < best) {
			best, hits = c, n
		}
	}
	return best, hits
}

// prose is the beginning of a page without front matter's fences and fenced code:
// code is English wherever the page comes from.
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
