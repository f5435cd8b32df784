package search

import (
	"maps"
	"strings"
	"unicode/utf8"
)

// similar returns the terms that an unknown word may mean. It returns the terms
// that are one edit away from the word's stem. If there are none, it returns the
// terms of words that are one edit away near the end, because a misspelt ending is
// not stemmed ("embeddngs" has the stem "embeddng", which is near no stem). If
// there are none either, it returns the terms that begin with the stem.
func (r *run) similar(stem, word string) ([]string, error) {
	found, err := r.oneEditAway(stem)
	if err != nil || len(found) > 0 {
		return found, err
	}
	chunks := map[string]int{} // by term
	for edited := range endings(strings.ToLower(word)) {
		term := r.analyzer.Stem(edited)
		if _, looked := chunks[term]; looked || utf8.RuneCountInString(term) < minSimilar-1 {
			continue
		}
		n, err := r.count(term)
		if err != nil {
			return nil, err
		}
		chunks[term] = n
	}
	maps.DeleteFunc(chunks, func(_ string, n int) bool { return n == 0 })
	if len(chunks) == 0 {
		return r.beginning(stem)
	}
	return mostFrequent(chunks, maxSimilar), nil
}

// endingLen is the maximum length of an English ending and the letter before it
// ("ation", "ments"). The first keptLen letters of a word are never edited.
const (
	endingLen = 6
	keptLen   = 3
)

// endings yields the words that are one edit away from a word of ASCII letters,
// with the edit in its last letters. For any other word, it yields none.
func endings(word string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if strings.ContainsFunc(word, func(c rune) bool { return c < 'a' || c > 'z' }) {
			return
		}
		for i := len(word); i >= max(keptLen, len(word)-endingLen); i-- {
			before, after := word[:i], word[i:]
			if after != "" && !yield(before+after[1:]) {
				return
			}
			if len(after) > 1 && !yield(before+after[1:2]+after[:1]+after[2:]) {
				return
			}
			for c := byte('a'); c <= 'z'; c++ {
				if !yield(before+string(c)+after) || after != "" && !yield(before+string(c)+after[1:]) {
					return
				}
			}
		}
	}
}

// correction is a misspelt word of a query, text[start:end], and the word that
// was probably meant.
type correction struct {
	start, end int
	word       string
}

func apply(corrections []correction, text string) string {
	if len(corrections) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range corrections {
		if m.start >= at {
			b.WriteString(text[at:m.start])
			b.WriteString(m.word)
			at = m.end
		}
	}
	b.WriteString(text[at:])
	return b.String()
}

// dictionary is an embedder that can tell whether it has a vector for a word or
// builds one from pieces of the word. Other embedders get misspelt words unchanged.
type dictionary interface{ Knows(word string) bool }

// knows reports whether the embedder has a vector for word. Embedders without a
// dictionary are assumed to know every word.
func (ed *snapshot) knows(word string) bool {
	k, ok := ed.embedder.(dictionary)
	return !ok || k.Knows(word)
}

// wordOf returns a word with this stem that the embedder knows, or the stem if
// there is none.
func (ed *snapshot) wordOf(stem string) string {
	forms := []string{stem, stem + "e", stem + "s", stem + "ing", stem + "ion"}
	if root, ok := strings.CutSuffix(stem, "i"); ok {
		forms = append(forms, root+"y")
	}
	for _, word := range forms {
		if ed.knows(word) {
			return word
		}
	}
	return stem
}
