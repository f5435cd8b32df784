package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/language"
)

// maxTerms is how many terms of a query are looked for: the rarest win of the
// first maxLookups. Both are far above any question and bound the cost of a
// pasted page.
const (
	maxTerms   = 64
	maxLookups = 256
)

// Unknown words, the first maxUnknown of them, are replaced by up to maxSimilar
// words, as [run.similar] finds them, which count similarWeight. Words under
// minSimilar characters are too close to too many.
const (
	maxUnknown    = 8
	maxSimilar    = 3
	similarWeight = 0.7
	minSimilar    = 4
)

// run is one query at work.
type run struct {
	*snapshot
	analyzer *artifact.Analyzer
	filters  map[string]string
	explain  bool
	by       By
	terms    []artifact.WeightedTerm
	// weights is the evidence that a term is, for snippets and ranking.
	weights map[string]float64
	total   float64 // sum of weights
	// phrases are the words in double quotes, each at least two; quoted is the text
	// of each.
	phrases [][]string
	quoted  []string
	*scratch
	// meant is the text to be embedded: the query, misspelt words mended.
	meant string
	// sensible says that the embedder knows a word of it. A vector put together
	// from pieces of words alone is near anything.
	sensible bool
	vector   []float32 // of it; nil: there is none
	weigh    weights
	best     float64  // BM25 of the best chunk
	ahead    float64  // by how much the nearest chunk's cosine is over the average of all; 0: there is no meaning
	nearest  float64  // the nearest chunk's cosine; 0: there is no meaning
	keys     []string // the facets that collapse, once the hits are sieved
	seen     []seen
	// all are the statistics of the indexes searched together; nil: this one is
	// searched by itself.
	all *statistics
	// most bounds the chunks by meaning in the pool; 0: as many as by words.
	most int
	// spoken are the languages of the index; nil: English alone. own is the place
	// of the question's language in them, and in counts the chunks with a term by
	// these places.
	spoken   *languageIndex
	own      int
	language language.Code
	in       map[string][]int
	// spread is what the cosines of the pool are set against.
	spread artifact.Spread
	// cut says that not all chunks with the words of the phrases were read.
	cut bool
}

// read takes the query apart.
func (r *run) read(text string) error {
	if err := r.listen(text); err != nil {
		return err
	}
	r.weights = map[string]float64{}
	seen := map[string]bool{}
	unknown := 0
	var mended []correction
	terms := slices.Clone(r.analyzer.Terms(text))
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
		known, err := r.add(t.Text, named.weight(t))
		if err != nil {
			return err
		}
		if known || t.Joined || utf8.RuneCountInString(t.Text) < minSimilar || unknown == maxUnknown {
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
	if len(r.terms) > maxTerms {
		slices.SortStableFunc(r.terms, func(a, b artifact.WeightedTerm) int { return cmp.Compare(a.Chunks, b.Chunks) })
		r.terms = r.terms[:maxTerms]
	}
	r.readPhrases(text)
	r.meant, r.weigh = apply(mended, text), r.by.weights(text)
	if r.short && r.by == Both {
		r.weigh = textWeights
	}
	return nil
}

// replace takes into the query what a word may mean that no chunk has, and
// returns it as the embedder should read it; empty if it may mean nothing.
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

// add looks a term up and takes it into the query if any chunk has it.
func (r *run) add(text string, weight float64) (known bool, err error) {
	if _, ok := r.weights[text]; ok {
		return true, nil
	}
	p, err := r.reader.Postings(text)
	if err != nil {
		return false, err
	}
	chunks, with, err := r.rarity(text, p)
	if err != nil {
		return false, err
	}
	if with == 0 {
		return false, nil
	}
	r.weights[text] = weight * artifact.IDF(chunks, with)
	r.want.Add(text)
	r.total += r.weights[text]
	if p.Chunks == 0 {
		return true, nil // another index has it
	}
	if r.all != nil || r.spoken != nil { // BM25 counts by this index, the question by all or by its language
		weight *= artifact.IDF(chunks, with) / artifact.IDF(r.reader.Len(), p.Chunks)
	}
	r.terms = append(r.terms, artifact.WeightedTerm{Postings: p, Weight: weight})
	return true, nil
}
