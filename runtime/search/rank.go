package search

import (
	"context"
	"slices"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// poolSize is how many of the best chunks by words are looked at where some are
// left out of the hits: enough for ten after five versions of each collapse.
const poolSize = 50

// rank returns at least want hits in their final order if there are as many.
// The order of the first does not depend on want, so pages do not overlap.
func (r *run) rank(ctx context.Context, want int) ([]artifact.Scored, error) {
	keep, err := r.keep(r.filters)
	if err != nil {
		return nil, err
	}
	k := want
	if len(r.phrases) > 0 || len(r.collapsing()) > 0 {
		k = max(want, poolSize) // some will fall away
	}
	for ; ; k *= 4 {
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
