package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/language"
)

// These thresholds say how sure the search is that the docs answer a question. They
// apply to the cosine of the nearest chunk plus foundShare times the share of the
// question's evidence in the best keyword match. They were measured on eleven
// labelled sets: 1,621 questions with an answer, and 1,100 without one, taken from
// the other sets (docs/ranking.md). Of the questions with an answer, 1.3 % are
// below absentBelow (at most 3.6 % in any set); of those without an answer, 22 %
// are. The figures for unsureBelow are 13 % and 68 %, and below it NDCG@5 is 0.39
// instead of 0.76.
const (
	foundShare  = 0.36
	absentBelow = 0.35
	unsureBelow = 0.5
)

// The best hits disagree if the first one is weak by keyword or by meaning while
// the best keyword match contains less than half of the question. NDCG@5 is 0.50
// for such questions.
const (
	agreeAtLeast  = 0.6
	foundAtLeast  = 0.5
	adviseFrom    = 100 // minimum number of chunks: a smaller index was not measured, and an agent can read list_docs instead
	adviseWords   = 3   // minimum number of words in a question; fewer words are a name to look up
	maxAdvised    = 8
	advisedBytes  = 60
	advisedCosine = 0.3
)

// advice returns a hint on how to ask again if the hits may not answer the
// question, and nil otherwise.
func (r *run) advice(question string, hits []ranked) (*Hint, error) {
	model, ok := r.embedder.(*embed.Static)
	if !ok || r.language != language.English || r.abroad || r.by != Both || r.short || r.vector == nil || r.nearest == 0 || r.reader.Len() < adviseFrom || len(hits) == 0 || len(strings.Fields(question)) < adviseWords {
		return nil, nil
	}
	found := r.best / max(r.total, 1e-9)
	sure := r.nearest + foundShare*found
	first := hits[0].evidence
	disagree := found < foundAtLeast && min(first.Words, first.Meaning) < agreeAtLeast
	if sure >= unsureBelow && !disagree {
		return nil, nil
	}
	terms, err := r.nearTerms(model, hits)
	if err != nil {
		return nil, err
	}
	h := &Hint{Found: FoundUnsure, Suggested: map[string][]string{}}
	again := "search again with the question and two or three phrasings of it in words that these docs use"
	if len(terms) > 0 {
		again += ", for example: " + strings.Join(terms, ", ")
	}
	if sure < absentBelow && len(r.filters) == 0 {
		h.Found = FoundAbsent
		h.Message = "Probably not in these docs: no section is close to the question. If they use another name for it, " + again + "."
	} else {
		h.Message = "These hits may not answer the question. If they do not, " + again + "."
	}
	return h, nil
}

// nearTerms returns terms of the corpus that are near the question but not in it.
// First come the corpus's representative terms that are nearest by vector, then
// the headings and titles of the best hits.
func (r *run) nearTerms(model *embed.Static, hits []ranked) ([]string, error) {
	type near struct {
		term   string
		cosine float64
	}
	var all []near
	vectors := r.vectorsOfTerms(model)
	for i, term := range r.reader.Metadata().Terms {
		if cosine := cosineOf(r.vector, vectors[i]); cosine >= advisedCosine {
			all = append(all, near{term, cosine})
		}
	}
	slices.SortStableFunc(all, func(x, y near) int { return cmp.Compare(y.cosine, x.cosine) })
	var terms []string
	add := func(term string) {
		term = strings.TrimSpace(term)
		same := func(t string) bool { return strings.EqualFold(t, term) }
		if term != "" && len(term) <= advisedBytes && len(terms) < maxAdvised && !slices.ContainsFunc(terms, same) && !r.has(term) {
			terms = append(terms, term)
		}
	}
	for _, n := range all[:min(len(all), maxAdvised/2)] {
		add(n.term)
	}
	for _, hit := range hits[:min(len(hits), maxAdvised/2)] {
		page, err := r.reader.Page(r.reader.PageOf(hit.chunk))
		if err != nil {
			return nil, err
		}
		heading, err := r.reader.Heading(hit.chunk)
		if err != nil {
			return nil, err
		}
		add(heading)
		add(page.Title)
	}
	return terms, nil
}

// vectorsOfTerms returns the vectors of the corpus's representative terms.
func (ed *snapshot) vectorsOfTerms(model *embed.Static) [][]float32 {
	ed.describing.Do(func() {
		for _, term := range ed.reader.Metadata().Terms {
			ed.termVectors = append(ed.termVectors, model.Embed(term))
		}
	})
	return ed.termVectors
}

// has reports whether the query contains every word of text.
func (r *run) has(text string) bool {
	for _, t := range r.analyzer.Terms(text) {
		if r.weights[t.Text] == 0 {
			return false
		}
	}
	return true
}

func cosineOf(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
