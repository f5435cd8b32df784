package search

import "strings"

// mend is a misspelt word of a query, text[start:end], and what it may mean.
type mend struct {
	start, end int
	word       string
}

// apply returns text with the words mended.
func apply(mends []mend, text string) string {
	if len(mends) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range mends {
		if m.start >= at {
			b.WriteString(text[at:m.start])
			b.WriteString(m.word)
			at = m.end
		}
	}
	b.WriteString(text[at:])
	return b.String()
}

// knower is an embedder that can tell the words it has a vector for from those
// that it puts together from pieces. Others are left to make sense of misspelt
// words themselves.
type knower interface{ Knows(word string) bool }

// knows says whether the embedder makes sense of a word.
func (ed *edition) knows(word string) bool {
	k, ok := ed.embedder.(knower)
	return !ok || k.Knows(word)
}

// wordOf is a word that the embedder knows and that has this stem, or the stem.
func (ed *edition) wordOf(stem string) string {
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
