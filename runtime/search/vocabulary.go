package search

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// vocabulary is the words of the indexes that are searched together.
type vocabulary struct {
	of     []*snapshot
	chunks int
	terms  map[string]*entry
	index  *termIndex // nil until it is built
}

// entry is a term of a vocabulary.
type entry struct {
	with     int                  // number of chunks that have the term
	places   []uint16             // of the indexes that have it
	counts   []uint16             // as places: the number of chunks; at math.MaxUint16, more
	peaks    []byte               // as places, see [artifact.Reader.EachTerm]; nil if unknown
	postings []*artifact.Postings // as places; nil if the index of terms has the term
}

func newVocabulary() *vocabulary { return &vocabulary{terms: map[string]*entry{}} }

func (v *vocabulary) add(ed *snapshot) {
	v.of, v.chunks = append(v.of, ed), v.chunks+ed.reader.Len()
}

// entry looks a term up in all indexes.
func (v *vocabulary) entry(term string) (*entry, error) {
	if e := v.terms[term]; e != nil {
		return e, nil
	}
	e := new(entry)
	v.terms[term] = e
	if v.index != nil {
		e.places, e.counts, e.peaks = v.index.having(term)
		for i, n := range e.counts {
			if n < math.MaxUint16 {
				e.with += int(n)
				continue
			}
			p, err := v.of[e.places[i]].postings(term)
			if err != nil {
				return nil, err
			}
			e.with += p.Chunks
		}
		return e, nil
	}
	for i, ed := range v.of {
		p, err := ed.postings(term)
		if err != nil {
			return nil, err
		}
		if p.Chunks > 0 {
			e.places, e.postings = append(e.places, uint16(i)), append(e.postings, p)
			e.with += p.Chunks
		}
	}
	return e, nil
}

// in returns a term's postings in one of the indexes, and its peak there, see
// [artifact.WeightedTerm].
func (v *vocabulary) in(term string, place int) (p *artifact.Postings, peak float64, err error) {
	e, err := v.entry(term)
	if err != nil {
		return nil, 0, err
	}
	i, ok := slices.BinarySearch(e.places, uint16(place))
	switch {
	case !ok:
		return noPostings, 0, nil
	case e.postings != nil:
		return e.postings[i], 0, nil
	}
	p, err = v.of[place].postings(term)
	return p, artifact.PeakShare(e.peaks[i]), err
}

var noPostings = new(artifact.Postings)

// similar does the same as [artifact.Reader.Similar] over all indexes. Only edits of plain
// letters and digits count, so that the result is the same with and without the index of
// terms. In many indexes, other words have no similar terms: opening each dictionary
// takes too long.
func (v *vocabulary) similar(term string, limit int) ([]string, error) {
	found := map[string]int{}
	if !artifact.IsPlain(term) && len(v.of) > fewIndexes {
		return nil, nil
	}
	if v.index != nil && artifact.IsPlain(term) {
		for edited := range artifact.Edits(term) {
			if !v.index.has(artifact.HashTerm(edited)) {
				continue
			}
			e, err := v.entry(string(edited))
			if err != nil {
				return nil, err
			}
			if e.with > 0 {
				found[string(edited)] = e.with
			}
		}
		return mostFrequent(found, limit), nil
	}
	for _, ed := range v.of {
		err := ed.guarded(func() error {
			similar, err := ed.reader.AllSimilar(term)
			for t, n := range similar {
				if artifact.IsPlain(t) || !artifact.IsPlain(term) {
					found[t] += int(n)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return mostFrequent(found, limit), nil
}

// begun does the same as [artifact.Reader.Begun] over a few indexes. In many, no term
// begins with a word that none of them has.
func (v *vocabulary) begun(term string, limit int) ([]string, error) {
	if len(v.of) > fewIndexes {
		return nil, nil
	}
	found := map[string]int{}
	for _, ed := range v.of {
		err := ed.guarded(func() error {
			begun, err := ed.reader.AllBegun(term)
			for t, n := range begun {
				found[t] += int(n)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return mostFrequent(found, limit), nil
}

// mostFrequent returns at most limit terms that are in the most chunks.
func mostFrequent(found map[string]int, limit int) []string {
	all := slices.SortedFunc(maps.Keys(found), func(x, y string) int {
		return cmp.Or(cmp.Compare(found[y], found[x]), cmp.Compare(x, y))
	})
	return all[:min(limit, len(all))]
}

// count returns the number of chunks, in all indexes searched together, that have a term.
func (r *run) count(term string) (int, error) {
	if r.all != nil {
		if r.all.index != nil {
			if !r.all.index.has(artifact.HashTerm(term)) {
				return 0, nil
			}
		}
		e, err := r.all.entry(term)
		if err != nil {
			return 0, err
		}
		return e.with, nil
	}
	p, err := r.reader.Postings(term)
	if err != nil {
		return 0, err
	}
	return p.Chunks, nil
}

// oneEditAway and beginning return at most maxSimilar terms of the indexes searched
// together.
func (r *run) oneEditAway(term string) ([]string, error) {
	if r.all != nil {
		return r.all.similar(term, maxSimilar)
	}
	return r.reader.Similar(term, maxSimilar)
}

func (r *run) beginning(term string) ([]string, error) {
	if r.all != nil {
		return r.all.begun(term, maxSimilar)
	}
	return r.reader.Begun(term, maxSimilar)
}

// wanted is a term of a question that some of the indexes searched together have.
type wanted struct {
	text   string
	weight float64
}

// follow takes over the question that first read. Both indexes are in English and have
// the same model, so only the postings differ.
func (r *run) follow(first *run) {
	r.weights, r.total, r.phrases, r.quoted = first.weights, first.total, first.phrases, first.quoted
	r.meant, r.sensible, r.weigh, r.literal, r.wanted, r.abroad = first.meant, first.sensible, first.weigh, first.literal, first.wanted, first.abroad
	r.language = first.language
}

// lookUp sets the terms of an index that is searched together with others, if they are
// not set yet. It returns them with r.common.
func (r *run) lookUp() ([]artifact.WeightedTerm, float64, error) {
	if r.terms != nil {
		return r.terms, r.common, nil
	}
	for _, t := range r.wanted {
		p, peak, err := r.all.in(t.text, r.place)
		if err != nil {
			return nil, 0, err
		}
		if err := r.addTerm(t, p, peak); err != nil {
			return nil, 0, err
		}
	}
	r.cutTerms()
	return r.terms, r.common, nil
}

// onceShare is artifact.Once, with some room for the rounding of scores with 32 bits.
const onceShare = artifact.Once * (1 + 1e-5)

// bounds returns, by place, a bound of the scores that [run.addTerm] and BM25 lead to in the
// indexes that have these terms.
func (v *vocabulary) bounds(terms []wanted) ([]float64, error) {
	sums := make([]float64, len(v.of))
	for _, t := range terms {
		e, err := v.entry(t.text)
		if err != nil {
			return nil, err
		}
		most := t.weight * artifact.IDF(v.chunks, e.with)
		for i, place := range e.places {
			sums[place] += most
			if e.peaks == nil || e.counts[i] == math.MaxUint16 {
				continue
			}
			// A chunk has at most the peak of what the term weighs here, and all chunks have the rest once.
			own := min(most, t.weight*artifact.IDF(v.of[place].reader.Len(), int(e.counts[i])))
			sums[place] -= own*(1-artifact.PeakShare(e.peaks[i])) + (most-own)*(1-onceShare)
		}
	}
	return sums, nil
}
