package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/language"
)

// maxTerms is the maximum number of a query's terms that are searched: the rarest
// of the first maxLookups terms. Both limits far exceed any real question. They
// limit the cost of a pasted page.
const (
	maxTerms   = 64
	maxLookups = 256
)

// The first maxUnknown unknown words are each replaced by up to maxSimilar words
// that [run.similar] returns. These words have the weight similarWeight. Words
// shorter than minSimilar characters are similar to too many others.
const (
	maxUnknown    = 8
	maxSimilar    = 3
	similarWeight = 0.7
	minSimilar    = 4
)

// run is one query in progress.
type run struct {
	*snapshot
	analyzer *artifact.Analyzer
	filters  map[string]string
	explain  bool
	by       By
	terms    []artifact.WeightedTerm
	// weights holds each term's share of the evidence, for snippets and ranking.
	weights map[string]float64
	total   float64 // sum of weights
	// phrases holds the terms of each quoted phrase, at least two for each
	// phrase; quoted holds the text of the phrases.
	phrases [][]string
	quoted  []string
	*scratch
	// meant is the text to embed: the query with its misspelt words corrected.
	meant string
	// sensible reports whether the embedder knows at least one word of meant. A
	// vector that is built only from pieces of words is near every other vector.
	sensible bool
	vector   []float32 // vector of the text in meant; nil if there is none
	weigh    weights
	best     float64  // BM25 score of the best chunk
	ahead    float64  // how far the nearest chunk's cosine exceeds the average of all; 0 without meaning
	nearest  float64  // the nearest chunk's cosine; 0 without meaning
	keys     []string // the facets that collapse; set when hits are sieved
	seen     []seen
	// all holds the words of the indexes searched together; nil if only this index is
	// searched. place is this index's place among them, and wanted holds the terms
	// that any of them has.
	all    *vocabulary
	place  int
	wanted []wanted
	// common is added to the BM25 score of each chunk of this index when several are
	// searched together. A word that is more common in this index than in all of them
	// counts less where it occurs, as in a search of this index only. Instead, each chunk
	// gets the rest as if the word occurred in it once: a page of a library's docs need
	// not repeat the library's name.
	common float64
	// exact reports that unknown words are not replaced: they are known in another
	// index, where stems differ.
	exact bool
	// most is the maximum number of chunks by meaning in the pool; 0 means as many
	// as there are by keyword.
	most int
	// spoken holds the index's languages; nil if there is only English. own is the
	// index of the question's language in spoken.all. counts holds, for each term,
	// the number of chunks in each language.
	spoken   *languageIndex
	own      int
	language language.Code
	in       map[string][]int
	// elsewhere holds, for each term of the question, itself if any chunk has it, and
	// otherwise the stem of the same word in another language that a chunk has.
	elsewhere map[string]string
	// abroad reports whether the question is in a language that no page has; see
	// [run.isAbroad].
	abroad bool
	// literal reports whether the query is to be taken literally; see [literal].
	literal bool
	// learnt reports that the ranker orders the hits, see [run.unfound]. It is set
	// before the pool is weighed.
	learnt bool
	// spread is the spread of cosines that the pool's cosines are scaled to.
	spread artifact.Spread
	// wordOrder holds the query's terms in order, and verbatim reports whether the
	// texts of candidates are searched for runs of them; see [run.quotes].
	wordOrder wordOrder
	verbatim  bool
	// cut reports whether some chunks with the words of the phrases were not
	// read.
	cut bool
}

// read parses the query.
func (r *run) read(text string) error {
	if err := r.listen(text); err != nil {
		return err
	}
	r.weights = map[string]float64{}
	seen := map[string]bool{}
	unknown := 0
	var mended []correction
	terms := slices.Clone(r.analyzer.Terms(text))
	r.wordOrder = orderOf(text, terms)
	named := nameFirst(text)
	for _, t := range terms {
		if seen[t.Text] || len(seen) == maxLookups {
			continue
		}
		seen[t.Text] = true
		if r.grammar(t.Text) {
			continue
		}
		r.want.AddBeginning(text[t.Start:t.End])
		sensible := !t.Joined && r.knows(text[t.Start:t.End])
		r.sensible = r.sensible || sensible
		known, err := r.add(cmp.Or(r.elsewhere[t.Text], t.Text), named.weight(t))
		if err != nil {
			return err
		}
		if known || r.exact || t.Joined || utf8.RuneCountInString(t.Text) < minSimilar || unknown == maxUnknown {
			continue
		}
		unknown++
		meant, err := r.replace(t.Text, text[t.Start:t.End])
		if err != nil {
			return err
		}
		if meant != "" && !sensible {
			mended = append(mended, correction{t.Start, t.End, meant})
			r.sensible = true
		}
	}
	if err := r.addJoined(text, terms); err != nil {
		return err
	}
	r.cutTerms()
	r.readPhrases(text)
	r.literal = len(r.filters) > 0 || literal(text)
	r.meant, r.weigh = apply(mended, text), r.by.weights(text)
	if r.short && r.by == Both {
		r.weigh = textWeights
	}
	if r.abroad = r.isAbroad(text); r.abroad {
		r.weigh = r.weigh.abroad()
	}
	return nil
}

// cutTerms keeps the rarest maxTerms terms.
func (r *run) cutTerms() {
	if len(r.terms) > maxTerms {
		slices.SortStableFunc(r.terms, func(a, b artifact.WeightedTerm) int { return cmp.Compare(a.Chunks, b.Chunks) })
		r.terms = r.terms[:maxTerms]
	}
}

// replace adds to the query the words that an unknown word may mean. It returns the
// word that the embedder should read instead, or "" if there is none.
func (r *run) replace(stem, word string) (meant string, err error) {
	similar, err := r.similar(stem, word)
	if err != nil {
		return "", err
	}
	if len(similar) > 0 {
		meant = r.wordOf(similar[0])
	} else {
		halves, err := r.halves(word)
		if err != nil {
			return "", err
		}
		meant = strings.Join(halves, " ")
		for _, half := range halves {
			similar = append(similar, r.analyzer.Stem(half))
		}
	}
	for _, s := range similar {
		if _, err := r.add(s, similarWeight); err != nil {
			return "", err
		}
	}
	return meant, nil
}

// add looks a term up and adds it to the query if any chunk has it.
func (r *run) add(text string, weight float64) (known bool, err error) {
	if _, ok := r.weights[text]; ok {
		return true, nil
	}
	if r.all != nil {
		e, err := r.all.entry(text)
		if err != nil || e.with == 0 {
			return false, err
		}
		r.wanted = append(r.wanted, wanted{text, weight})
		r.weighTerm(text, weight*artifact.IDF(r.all.chunks, e.with))
		return true, nil
	}
	p, err := r.reader.Postings(text)
	if err != nil {
		return false, err
	}
	chunks, with, err := r.rarity(text, p)
	if err != nil || with == 0 {
		return false, err
	}
	r.weighTerm(text, weight*artifact.IDF(chunks, with))
	return true, r.addTerm(wanted{text, weight}, p, 0)
}

func (r *run) weighTerm(text string, weight float64) {
	r.weights[text] = weight
	r.want.Add(text)
	r.total += weight
}

// addTerm adds a term's postings in this index, if it has any. For peak, see
// [artifact.WeightedTerm].
func (r *run) addTerm(t wanted, p *artifact.Postings, peak float64) error {
	if p.Chunks == 0 { // only another index has it
		return nil
	}
	if r.all != nil || r.spoken != nil { // BM25 uses the counts of this index; the question uses those of all indexes or of its language
		chunks, with, err := r.rarity(t.text, p)
		if err != nil {
			return err
		}
		own, asked := artifact.IDF(r.reader.Len(), p.Chunks), artifact.IDF(chunks, with)
		if r.all != nil && own < asked { // a word of this library: all its chunks are about it
			r.common += t.weight * (asked - own) * artifact.Once
			asked = own
		}
		t.weight *= asked / own
	}
	r.terms = append(r.terms, artifact.WeightedTerm{Postings: p, Weight: t.weight, Peak: peak})
	return nil
}
