package artifact

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/deskhand/deskhand/indexer/language"
)

// Term is the normalized form of a piece of text. Searches compare terms instead
// of text.
type Term struct {
	Text string
	// Start and End are the term's byte range in the analyzed text.
	Start, End int
	// Joined is true for a whole identifier that is emitted in addition to its parts.
	// For example, "configmap" is the joined term for the parts "config" and "map".
	// Joined terms do not count towards lengths.
	Joined bool
}

// maxTermBytes is the maximum length of a term in bytes. Longer words are truncated.
// Differences after that many bytes, for example in base64 and hashes, do not matter
// for searches.
const maxTermBytes = 64

// maxParts is the maximum number of parts of an identifier. Identifiers with more
// parts are not indexed as a whole.
const maxParts = 8

// defaultStems is the number of stems that a build caches, at about 60 bytes each.
// This is more than the number of words that occur at least twice in a large corpus.
const defaultStems = 1 << 17

// Analyzer converts text to terms, in the same way for documents and queries. Words,
// as defined by Unicode, are converted to lower case, stripped of accents, and stemmed
// for a language. Identifiers become their parts and the joined whole. Runs of CJK
// characters become single characters and pairs. The zero value is ready to use and
// stems English. An Analyzer must not be used concurrently.
type Analyzer struct {
	// Wanted restricts the returned terms to those in Wanted and all CJK terms. Other
	// words are not stemmed. If Wanted is nil, all terms are returned.
	Wanted *Wanted
	// MaxStems limits the size of the stem cache. Zero means 131,072.
	MaxStems int
	speaks   language.Code
	stems    map[string]string                   // stems in the current language
	others   map[language.Code]map[string]string // stems in the languages used earlier
	terms    []Term
	lower    []byte
}

// Speak sets the language for stemming.
func (a *Analyzer) Speak(c language.Code) {
	if c = c.Stemming(); c == a.speaks {
		return
	}
	if a.others == nil {
		a.others = map[language.Code]map[string]string{}
	}
	a.others[a.speaks] = a.stems
	a.speaks, a.stems = c, a.others[c]
	if a.Wanted != nil {
		a.Wanted.forget()
	}
}

// Terms returns the terms of text in order. A joined term follows its parts. The
// returned slice is valid until the next call.
func (a *Analyzer) Terms(text string) []Term {
	a.terms = a.terms[:0]
	if a.Wanted != nil {
		a.wantedTerms(text)
		return a.terms
	}
	a.addTerms(text, 0, len(text))
	return a.terms
}

// addTerms adds the terms that begin in text[i:end]. No term contains a space.
func (a *Analyzer) addTerms(text string, i, end int) {
	for i < end {
		if end, ok := plainWord(text, i); ok {
			if end > i {
				a.emit(text[i:end], i, end, false)
			}
			i = max(end, i+1)
			continue
		}
		class, size := classAt(text, i)
		switch class {
		case wordClass:
			i = a.compound(text, i)
		case cjkClass:
			i = a.cjk(text, i)
		default:
			i += size
		}
	}
}

type runeClass int

const (
	otherClass runeClass = iota
	wordClass
	cjkClass
)

var asciiWord = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return
}()

// asciiTail is the set of ASCII bytes that can continue a word without starting a
// new part.
var asciiTail = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= '0' && c <= '9' || c >= 'a' && c <= 'z'
	}
	return
}()

// plainWord returns the end of the word at i if the word clearly has a single part, as
// most words do. Such a word is ASCII and has no connectors and no capitals after its
// first letter. If i is at an ASCII byte that does not begin a word, the result is i.
// plainWord is only an optimization and does not change which words are found.
func plainWord(s string, i int) (end int, ok bool) {
	if s[i] >= utf8.RuneSelf {
		return 0, false
	}
	if !asciiWord[s[i]] {
		return i, true
	}
	end = i + 1
	for end < len(s) && asciiTail[s[end]] {
		end++
	}
	if end == len(s) {
		return end, true
	}
	switch c := s[end]; {
	case c == ' ', c == ',':
		return end, true
	case c >= utf8.RuneSelf, asciiWord[c], end == i+1 && (c == '+' || c == '#'):
		return 0, false
	}
	return end, connector(s, end) == 0
}

func classAt(s string, i int) (runeClass, int) {
	if i >= len(s) {
		return otherClass, 0
	}
	if c := s[i]; c < utf8.RuneSelf {
		if asciiWord[c] {
			return wordClass, 1
		}
		return otherClass, 1
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return cjkClass, size
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
		return wordClass, size
	}
	return otherClass, size
}

// wordEnd returns the end of the run of word characters that begins at i.
func wordEnd(s string, i int) int {
	for {
		for i < len(s) && s[i] < utf8.RuneSelf && asciiWord[s[i]] {
			i++
		}
		class, size := classAt(s, i)
		if class != wordClass {
			return i
		}
		i += size
	}
}

// connector returns the length of the connector between the word that ends at i and the
// next one (a_b, a-b, a.b, a::b, a:b, a->b, a's), or 0 if there is none.
func connector(s string, i int) int {
	if i >= len(s) || s[i] == ' ' {
		return 0
	}
	n := 0
	switch {
	case s[i] == '_':
		for i+n < len(s) && s[i+n] == '_' {
			n++
		}
	case strings.HasPrefix(s[i:], "::"), strings.HasPrefix(s[i:], "->"):
		n = 2
	case strings.HasPrefix(s[i:], "’"):
		n = len("’")
	case strings.IndexByte("-.:'", s[i]) >= 0:
		n = 1
	}
	if class, _ := classAt(s, i+n); class != wordClass {
		return 0
	}
	return n
}

// compound emits the word at start together with all words that connectors join to
// it. It returns the end of the last word.
func (a *Analyzer) compound(s string, start int) int {
	whole := make([]byte, 0, maxTermBytes)
	words, parts, end := 0, 0, start
	for i := start; ; {
		end = wordEnd(s, i)
		parts += a.word(s, i, end)
		words++
		whole = append(whole, s[i:end]...)
		n := connector(s, end)
		if n == 0 {
			break
		}
		next := end + n
		if s[end] == '\'' || n == len("’") && s[end] == "’"[0] {
			if tail := wordEnd(s, next); tail-next == 1 && (s[next] == 's' || s[next] == 'S') {
				end = tail
				if n = connector(s, end); n == 0 {
					break
				}
				next = end + n
			}
		}
		if s[end] == '.' && s[end-1] >= '0' && s[end-1] <= '9' && s[next] >= '0' && s[next] <= '9' {
			whole = append(whole, '.')
		}
		i = next
	}
	if parts == 1 {
		if n := suffixOfLanguage(s, start, end); n > 0 {
			a.emit(s[start:end+n], start, end+n, true)
			return end + n
		}
		return end
	}
	// The method word has already emitted the joined form of a camelCase word without
	// connectors.
	if words > 1 && parts <= maxParts && len(whole) <= maxTermBytes {
		a.emit(string(whole), start, end, true)
	}
	return end
}

// suffixOfLanguage returns the length of the suffix in c++, c# and f#, or 0 if there
// is none. The suffix is recognized only after a single letter.
func suffixOfLanguage(s string, start, end int) int {
	if end-start != 1 {
		return 0
	}
	switch rest := s[end:]; {
	case strings.HasPrefix(rest, "++"):
		return 2
	case strings.HasPrefix(rest, "#"):
		return 1
	}
	return 0
}

// word emits the word s[start:end], which has no connectors. It emits the word's
// camelCase parts and, if there are several parts, the joined word. It returns the
// number of parts.
func (a *Analyzer) word(s string, start, end int) int {
	parts, from := 0, start
	for i := start + 1; i < end; i++ {
		if isUpper(s[i]) && (isLower(s[i-1]) || isDigit(s[i-1]) || isUpper(s[i-1]) && i+1 < end && isLower(s[i+1]) && !pluralAt(s, i, end)) {
			a.emit(s[from:i], from, i, false)
			parts, from = parts+1, i
		}
	}
	a.emit(s[from:end], from, end, false)
	parts++
	if parts > 1 && parts <= maxParts && end-start <= maxTermBytes {
		a.emit(s[start:end], start, end, true)
	}
	return parts
}

// pluralAt reports whether s[i:end] is the end of a plural like "APIs", which
// means the last capital and the letter s.
func pluralAt(s string, i, end int) bool { return i+2 == end && s[i+1] == 's' }

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// cjk emits the run of CJK characters that starts at i as single characters and
// pairs. The pairs are joined terms, so that the length of a run is the number of
// its characters.
func (a *Analyzer) cjk(s string, i int) int {
	prev := -1
	for {
		class, size := classAt(s, i)
		if class != cjkClass {
			return i
		}
		a.terms = append(a.terms, Term{Text: s[i : i+size], Start: i, End: i + size})
		if prev >= 0 {
			a.terms = append(a.terms, Term{Text: s[prev : i+size], Start: prev, End: i + size, Joined: true})
		}
		prev = i
		i += size
	}
}

func (a *Analyzer) emit(word string, start, end int, joined bool) {
	var text string
	if a.Wanted == nil {
		text = a.stem(word)
	} else if text = a.Wanted.term(word, a); text == "" {
		return
	}
	a.terms = append(a.terms, Term{Text: text, Start: start, End: end, Joined: joined})
}

// Stem returns the lower-case stem of a single word. It is the term that
// [Analyzer.Terms] returns for the word.
func (a *Analyzer) Stem(word string) string { return a.stem(word) }

// stem returns the lower-case stem of word in the analyzer's language. The language
// has no rules for words in other scripts, so these words remain almost unchanged.
func (a *Analyzer) stem(word string) string {
	if len(word) > maxTermBytes {
		word = cutRunes(word, maxTermBytes)
	}
	key := a.lower[:0]
	ascii := true
	for i := 0; i < len(word); i++ {
		c := word[i]
		if isUpper(c) {
			c += 'a' - 'A'
		}
		ascii = ascii && c < utf8.RuneSelf
		key = append(key, c)
	}
	a.lower = key
	if s, ok := a.stems[string(key)]; ok {
		return s
	}
	if a.stems == nil || len(a.stems) >= cmp.Or(a.MaxStems, defaultStems) {
		a.stems = map[string]string{}
	}
	base := string(key)
	s := base
	switch {
	case a.speaks == language.English:
		if !ascii {
			s = foldAccents(strings.ToLower(word))
		}
		s = strings.Clone(language.English.Stem(s))
	case ascii:
		s = foldAccents(a.speaks.Stem(base))
	default: // a language's stemming rules depend on accents
		s = foldAccents(a.speaks.Stem(norm.NFC.String(strings.ToLower(word))))
	}
	if s == "" {
		s = base
	}
	a.stems[base] = s
	return s
}

// foldAccents normalizes compatibility forms and removes the accents from Latin
// letters. It keeps marks in other scripts, because they carry meaning.
func foldAccents(s string) string {
	var b strings.Builder
	latin := false
	for _, r := range norm.NFKD.String(s) {
		if !unicode.IsMark(r) {
			latin = unicode.Is(unicode.Latin, r)
		} else if latin {
			continue
		}
		b.WriteRune(r)
	}
	return cutRunes(norm.NFC.String(b.String()), maxTermBytes)
}

// cutRunes truncates s to at most n bytes at a character boundary.
func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
