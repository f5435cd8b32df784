package search

import (
	"context"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/ranker"
)

// Candidate is a chunk of the pool that a question is ranked over, as a ranker is
// trained on it.
type Candidate struct {
	Hit
	// Before is the candidate's place, from 0, in the order that the hits have
	// without the ranker.
	Before int
	// Variant is the place of the candidate that it is a variant of, its own if it is
	// none: a search shows one of them.
	Variant int
	ranker.Candidate
}

// Pool returns the candidates of a question in the order of their sums, or nil if
// the ranker cannot order them. ordered reports whether it does in a search, see
// docs/ranking.md. Pool ignores Limit, Cursor and By of q.
func (e *Engine) Pool(ctx context.Context, q Query) (pool []Candidate, ordered bool, err error) {
	ed, release, err := e.use()
	if err != nil {
		return nil, false, err
	}
	defer release()
	defer recoverAs(&err, ed)
	text := strings.TrimSpace(q.Text)
	if text == "" {
		return nil, false, invalid("query must be a non-empty string")
	}
	if err := ed.checkFilters(q.Filters); err != nil {
		return nil, false, err
	}
	r := &run{snapshot: ed, filters: q.Filters, by: Both, scratch: scratches.Get().(*scratch)}
	defer r.giveBack()
	err = e.withAnalyzer(ctx, r, func() error {
		if err := r.read(cutText(text, maxQueryBytes)); err != nil {
			return err
		}
		if r.sensible {
			r.vector, _ = ed.vector(ctx, r.meant)
		}
		pool, err = r.poolOf()
		ordered = r.unfound()
		return err
	})
	return pool, ordered, err
}

// orders returns the pool in the order without the ranker, and in that of the sums
// that the ranker starts from.
func (r *run) orders() (before, found []ranked, err error) {
	keep, err := r.filter()
	if err != nil {
		return nil, nil, err
	}
	if found, _, err = r.gather(r.each(), keep); err != nil {
		return nil, nil, err
	}
	r.best = r.bestOf(found)
	before, weigh := slices.Clone(found), r.weigh
	if err := r.sum(before); err != nil {
		return nil, nil, err
	}
	r.weigh, r.learnt = weigh, true
	return before, found, r.sum(found)
}

func (r *run) poolOf() ([]Candidate, error) {
	before, found, err := r.orders()
	if err != nil || r.teachable() == nil {
		return nil, err
	}
	places := map[int]int{}
	for i, p := range before {
		places[p.chunk] = i
	}
	found = found[:min(len(found), reranked)]
	seen, err := r.candidates(found)
	if err != nil {
		return nil, err
	}
	variants, err := r.variants()
	if err != nil {
		return nil, err
	}
	var pool []Candidate
	var shown []int
	for i, p := range found {
		of, err := variants.of(p.chunk, true)
		if err != nil {
			return nil, err
		}
		c := Candidate{Variant: i, Before: places[p.chunk], Candidate: seen[i]}
		if of < 0 {
			shown = append(shown, i)
		} else {
			c.Variant = shown[of]
		}
		if c.Hit, err = r.hit(p); err != nil {
			return nil, err
		}
		pool = append(pool, c)
	}
	return pool, nil
}
