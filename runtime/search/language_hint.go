package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/language"
)

// leastEnglish is the share of chunks from which docs count as being in English too.
// Pages without prose count as English, so docs in another language have some.
const leastEnglish = 0.1

// maxLanguages is the maximum number of languages that a hint names.
const maxLanguages = 5

// languageHint returns the hint h, which may be nil, or what to do about a question in
// a language that none of the indexes has. A model that knows the language finds answers
// in other languages, so its hits need no such hint. A model on another machine may know
// any language.
func languageHint(h *Hint, question string, in ...*run) *Hint {
	asked, ok := language.OfQuestion(question)
	if !ok {
		return h
	}
	chunks, all := map[language.Code]int{}, 0
	for _, r := range in {
		if m, static := r.embedder.(*embed.Static); static && m.Speaks(asked) || !static && r.embedder != nil {
			return h
		}
		all += r.reader.Len()
		if r.spoken == nil {
			chunks[language.English] += r.reader.Len()
			continue
		}
		for i, c := range r.spoken.all {
			chunks[c] += r.spoken.chunks[i]
		}
	}
	if float64(chunks[language.English]) < leastEnglish*float64(all) {
		delete(chunks, language.English)
	}
	if chunks[asked] > 0 || len(chunks) == 0 {
		return h
	}
	languages := languagesOf(chunks)
	advice := fmt.Sprintf("The question seems to be in %s, but these docs are in %s. Search again in ", asked.Name(), languages)
	if len(chunks) > 1 {
		languages = "one of these languages"
	}
	advice += languages + "."
	if h != nil && h.Found == FoundNothing {
		h.Message += " " + advice
		return h
	}
	return &Hint{Found: FoundUnsure, Message: advice, Suggested: map[string][]string{}}
}

// languagesOf lists languages by number of chunks, most first.
func languagesOf(chunks map[language.Code]int) string {
	codes := slices.SortedFunc(maps.Keys(chunks), func(x, y language.Code) int {
		return cmp.Or(cmp.Compare(chunks[y], chunks[x]), cmp.Compare(x, y))
	})
	var names []string
	for _, c := range codes[:min(len(codes), maxLanguages)] {
		names = append(names, c.Name())
	}
	if len(codes) > maxLanguages {
		names = append(names, "other languages")
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
