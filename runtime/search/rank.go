package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// poolSize is how many of the best chunks by words are looked at closely.
const poolSize = 50

// rank returns at least want hits in their final order if there are as many.
// The order of the first does not depend on want, so pages do not overlap.
func (r *run) rank(ctx context.Context, want int) ([]artifact.Scored, error) {
	keep, err := r.keep(r.filters)
	if err != nil {
		return nil, err
	}
	for k := max(want, poolSize); ; k *= 4 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := r.reader.Lexical(r.terms, k, keep)
		if err != nil {
			return nil, err
		}
		ranked := found
		if len(r.phrases) > 0 {
			if ranked, err = r.withPhrases(found); err != nil {
				return nil, err
			}
		}
		if ranked, err = r.rerank(ranked); err != nil {
			return nil, err
		}
		if ranked, err = r.collapse(ranked, want); err != nil {
			return nil, err
		}
		if len(ranked) >= want || len(found) < k {
			return ranked, nil
		}
	}
}

// withPhrases leaves the chunks that hold every phrase.
func (r *run) withPhrases(found []artifact.Scored) ([]artifact.Scored, error) {
	var out []artifact.Scored
	for _, s := range found {
		_, text, err := r.reader.Content(s.Chunk)
		if err != nil {
			return nil, err
		}
		words := r.wordsOf(text)
		if !slices.ContainsFunc(r.phrases, func(p []string) bool { return !contains(words, p) }) {
			out = append(out, s)
		}
	}
	return out, nil
}

// rerank orders the pool by more than the words; what is beyond it follows in
// its old order.
func (r *run) rerank(found []artifact.Scored) ([]artifact.Scored, error) {
	pool := found[:min(poolSize, len(found))]
	slices.SortFunc(pool, func(a, b artifact.Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Chunk, b.Chunk))
	})
	return found, nil
}
