package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// maxTerms is how many terms of a query are looked for: the rarest win. It is
// far above any question and bounds the cost of a pasted page.
const maxTerms = 64

// Unknown words are replaced by up to maxSimilar words one edit away, which
// count similarWeight. Words under minSimilar bytes are too close to too many.
const (
	maxSimilar    = 3
	similarWeight = 0.7
	minSimilar    = 4
)

// run is one query at work.
type run struct {
	*edition
	analyzer *artifact.Analyzer
	filters  map[string]string
	terms    []artifact.WeightedTerm
	// weights is the evidence that a term is, for snippets and ranking.
	weights map[string]float64
	total   float64          // sum of weights
	want    *artifact.Wanted // the terms in weights; nil: not made yet
	// words are the query's own words in order, without joined forms.
	words []string
	// phrases are the words in double quotes, each at least two.
	phrases [][]string
}

// read takes the query apart.
func (r *run) read(text string) error {
	r.weights = map[string]float64{}
	seen := map[string]bool{}
	for _, t := range slices.Clone(r.analyzer.Terms(text)) {
		if !t.Joined {
			r.words = append(r.words, t.Text)
		}
		if seen[t.Text] {
			continue
		}
		seen[t.Text] = true
		known, err := r.add(t.Text, 1)
		if err != nil {
			return err
		}
		if known || t.Joined || len(t.Text) < minSimilar {
			continue
		}
		similar, err := r.reader.Similar(t.Text, maxSimilar)
		if err != nil {
			return err
		}
		for _, s := range similar {
			if _, err := r.add(s, similarWeight); err != nil {
				return err
			}
		}
	}
	if len(r.terms) > maxTerms {
		slices.SortStableFunc(r.terms, func(a, b artifact.WeightedTerm) int { return cmp.Compare(a.Chunks, b.Chunks) })
		for _, t := range r.terms[maxTerms:] {
			t.Close()
		}
		r.terms = r.terms[:maxTerms]
	}
	r.readPhrases(text)
	return nil
}

// add looks a term up and takes it into the query if any chunk has it.
func (r *run) add(text string, weight float64) (known bool, err error) {
	if _, ok := r.weights[text]; ok {
		return true, nil
	}
	p, err := r.reader.Postings(text)
	if err != nil {
		return false, err
	}
	if p.Chunks == 0 {
		p.Close()
		return false, nil
	}
	r.weights[text] = weight * artifact.IDF(r.reader.Len(), p.Chunks)
	r.total += r.weights[text]
	r.terms = append(r.terms, artifact.WeightedTerm{Postings: p, Weight: weight})
	return true, nil
}

// close gives up what the query holds.
func (r *run) close() {
	for _, t := range r.terms {
		t.Close()
	}
}

// readPhrases finds what stands in double quotes; an odd quote is none.
func (r *run) readPhrases(text string) {
	text = strings.NewReplacer("“", `"`, "”", `"`).Replace(text)
	parts := strings.Split(text, `"`)
	for i := 1; i+1 < len(parts); i += 2 {
		if words := r.wordsOf(parts[i]); len(words) > 1 {
			r.phrases = append(r.phrases, words)
		}
	}
}

// wordsOf are the terms of text in order, without joined forms.
func (r *run) wordsOf(text string) []string {
	var words []string
	for _, t := range r.analyzer.Terms(text) {
		if !t.Joined {
			words = append(words, t.Text)
		}
	}
	return words
}

// contains says whether phrase stands in words.
func contains(words, phrase []string) bool {
	for i := 0; i+len(phrase) <= len(words); i++ {
		if words[i] == phrase[0] && slices.Equal(words[i:i+len(phrase)], phrase) {
			return true
		}
	}
	return false
}
