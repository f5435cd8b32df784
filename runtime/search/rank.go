package search

import (
	"context"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// poolSize is how many of the best chunks by words are looked at where some may
// be left out of the hits: enough for ten after five versions of each collapse.
const poolSize = 50

// phraseLimit is how many chunks that hold all words of a phrase are read to see
// whether they hold it in order, the best first. It bounds a query like
// "of the" in a large corpus to a few tenths of a second.
const phraseLimit = 1000

// rank returns at least want hits in their final order if there are as many.
// The order of the first does not depend on want, so pages do not overlap.
func (r *run) rank(ctx context.Context, want int) ([]artifact.Scored, error) {
	keep, err := r.keep()
	if err != nil {
		return nil, err
	}
	pool := want
	if len(r.collapsing()) > 0 {
		pool = max(want, poolSize)
	}
	if len(r.phrases) > 0 {
		pool = phraseLimit
	}
	for all := r.reader.Len(); ; pool *= 4 {
		pool = min(pool, all)
		found, err := r.reader.Lexical(r.terms, pool, keep)
		if err != nil {
			return nil, err
		}
		ranked, err := r.sieve(ctx, found, want)
		if err != nil {
			return nil, err
		}
		if len(r.phrases) > 0 {
			r.cut = len(found) == phraseLimit && len(ranked) < want
			return ranked, nil
		}
		if len(ranked) == want || len(found) < pool || pool == all {
			return ranked, nil
		}
	}
}

// sieve leaves out the chunks that miss a phrase and the variants of one that
// is there. It stops once there are want.
func (r *run) sieve(ctx context.Context, found []artifact.Scored, want int) ([]artifact.Scored, error) {
	variants, err := r.variants()
	if err != nil {
		return nil, err
	}
	var out []artifact.Scored
	for _, s := range found {
		if len(out) == want {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ok, err := r.holdsPhrases(s.Chunk)
		if err == nil && ok {
			ok, err = variants.first(s.Chunk)
		}
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, s)
		}
	}
	return out, nil
}
