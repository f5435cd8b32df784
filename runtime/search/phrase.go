package search

import (
	"context"
	"slices"
	"strings"
)

// readPhrases collects the phrases in double quotes. It ignores an unpaired quote.
func (r *run) readPhrases(text string) {
	text = strings.NewReplacer("\u201c", `"`, "\u201d", `"`).Replace(text)
	parts := strings.Split(text, `"`)
	for i := 1; i+1 < len(parts); i += 2 {
		if words := r.wordsOf(parts[i]); len(words) > 1 {
			r.phrases = append(r.phrases, words)
			r.quoted = append(r.quoted, parts[i])
		}
	}
}

// rankOrUnquote is like rank. If no chunk contains the query's phrases, it ignores the
// quotes, and unquoted is true if there are hits then.
func (r *run) rankOrUnquote(ctx context.Context, want int) (hits []ranked, unquoted bool, err error) {
	if len(r.phrases) == 0 {
		hits, err = r.rank(ctx, want)
		return hits, false, err
	}
	open := *r
	open.phrases, open.quoted = nil, nil
	if hits, err = r.rank(ctx, want); err != nil || len(hits) > 0 || r.cut {
		return hits, false, err
	}
	*r = open
	hits, err = r.rank(ctx, want)
	return hits, len(hits) > 0, err
}

// unquotedHint adds to h, which may be nil, that the quotes were ignored.
func unquotedHint(h *Hint) *Hint {
	const message = "No section contains the quoted text word for word. The results match its words without the quotes."
	if h == nil {
		return &Hint{Found: FoundUnsure, Message: message, Suggested: map[string][]string{}}
	}
	h.Message = message + " " + h.Message
	return h
}

// wordsOf returns the terms of text in order, without joined forms.
func (r *run) wordsOf(text string) []string {
	var words []string
	for _, t := range r.analyzer.Terms(text) {
		if !t.Joined {
			words = append(words, t.Text)
		}
	}
	return words
}

// holdsPhrases reports whether a chunk's text contains every phrase with its words
// next to each other.
func (r *run) holdsPhrases(chunk int) (bool, error) {
	if len(r.phrases) == 0 {
		return true, nil
	}
	text, err := r.reader.Text(r.text, chunk)
	if err != nil {
		return false, err
	}
	r.text = text
	words := r.wordsOf(string(text))
	return !slices.ContainsFunc(r.phrases, func(p []string) bool { return !contains(words, p) }), nil
}

// contains reports whether words contains phrase as a contiguous sequence.
func contains(words, phrase []string) bool {
	for i := 0; i+len(phrase) <= len(words); i++ {
		if words[i] == phrase[0] && slices.Equal(words[i:i+len(phrase)], phrase) {
			return true
		}
	}
	return false
}

// withAllWords marks the chunks that contain every word of every phrase, stemmed
// for the chunk's language. It returns nil if the query has no phrase.
func (r *run) withAllWords() ([]bool, error) {
	if len(r.phrases) == 0 {
		return nil, nil
	}
	if r.spoken == nil {
		return r.holding(slices.Concat(r.phrases...))
	}
	defer r.analyzer.Speak(r.language)
	all := make([]bool, r.reader.Len())
	for i, c := range r.spoken.all {
		r.analyzer.Speak(c)
		var words []string
		for _, phrase := range r.quoted {
			words = append(words, r.wordsOf(phrase)...)
		}
		with, err := r.holding(words)
		if err != nil {
			return nil, err
		}
		for chunk, of := range r.spoken.of {
			all[chunk] = all[chunk] || int(of) == i && with[chunk]
		}
	}
	return all, nil
}

// holding marks the chunks that contain every given word.
func (r *run) holding(words []string) ([]bool, error) {
	count := make([]uint16, r.reader.Len())
	need := uint16(0)
	seen := map[string]bool{}
	for _, word := range words {
		if seen[word] {
			continue
		}
		seen[word] = true
		p, err := r.reader.Postings(word)
		if err != nil {
			return nil, err
		}
		err = r.reader.Each(p, func(chunk int) {
			if count[chunk] == need {
				count[chunk]++
			}
		})
		if err != nil {
			return nil, err
		}
		need++
	}
	all := make([]bool, len(count))
	for i, n := range count {
		all[i] = n == need
	}
	return all, nil
}

// filter returns the test for the query's filters and phrases, or nil if every
// chunk passes.
func (r *run) filter() (func(chunk int) bool, error) {
	filters, err := r.snapshot.facetFilter(r.filters)
	if err != nil {
		return nil, err
	}
	words, err := r.withAllWords()
	if err != nil || words == nil {
		return filters, err
	}
	return func(chunk int) bool { return words[chunk] && (filters == nil || filters(chunk)) }, nil
}
