package search

import (
	"runtime"
	"slices"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// gather fills the pools of the parts with the best chunks of all, by keyword and by
// meaning. As in [run.gather], Words is the BM25 score and Meaning the cosine, both
// unscaled.
func (j *joint) gather() error {
	keeps := make([]func(int) bool, len(j.parts))
	err := j.each(func(p *part) (err error) {
		p.run.most = byMeaning
		keeps[p.place], err = p.run.filter()
		return err
	})
	if err != nil {
		return err
	}
	if err := j.bound(); err != nil {
		return err
	}
	own, others := j.shares(keeps, false), j.shares(keeps, true)
	for _, shares := range [][]artifact.Share{own, others} {
		if shares == nil {
			break
		}
		if err := j.addWords(shares); err != nil {
			return err
		}
	}
	return j.addMeaning(own, others)
}

// bound sets the bounds of the parts' BM25 scores.
func (j *joint) bound() error {
	var last []wanted
	var bounds []float64
	for _, p := range j.parts {
		terms := p.run.wanted
		if len(terms) == 0 {
			continue
		}
		if bounds == nil || &terms[0] != &last[0] {
			var err error
			if bounds, err = j.all.bounds(terms); err != nil {
				return err
			}
			last = terms
		}
		p.bound = bounds[p.place]
	}
	return nil
}

// shares returns the shares of the parts: the chunks in the question's language, or
// those in other languages. It returns nil if there are none.
func (j *joint) shares(keeps []func(int) bool, foreign bool) []artifact.Share {
	if foreign && !slices.ContainsFunc(j.parts, func(p *part) bool { return p.run.spoken != nil && len(p.run.spoken.all) > 1 }) {
		return nil
	}
	shares := make([]artifact.Share, 0, len(j.parts))
	for i, p := range j.parts {
		s := artifact.Share{Reader: p.run.reader, Terms: p.run.lookUp, Bound: p.bound, Keep: keeps[i], Guard: p.run.snapshot.guarded}
		switch {
		case p.run.spoken == nil && foreign:
			s.Keep, s.Bound = func(int) bool { return false }, 0
		case p.run.spoken == nil:
		case foreign:
			s.Keep = p.run.othersOnly(keeps[i])
		default:
			s.Keep = p.run.ownOnly(keeps[i])
		}
		shares = append(shares, s)
	}
	return shares
}

// addWords adds the best chunks by keyword.
func (j *joint) addWords(shares []artifact.Share) error {
	if j.parts[0].run.by == Meaning {
		return nil
	}
	depth := byWords
	if j.quotes() {
		depth = phraseLimit
	}
	found, err := artifact.LexicalOver(shares, depth)
	j.cut = j.cut || depth == phraseLimit && len(found) == depth
	for _, h := range found {
		p := j.parts[h.Share]
		p.pool = append(p.pool, ranked{chunk: h.Chunk, evidence: Evidence{Words: h.Score}})
	}
	return err
}

// addMeaning sets the cosines of the chunks found by keyword, and adds the chunks
// found by meaning. Only the cosines of one model can be compared. own and others are
// from [joint.shares].
func (j *joint) addMeaning(own, others []artifact.Share) error {
	seen := map[meaningKey]bool{}
	for _, p := range j.parts {
		if key := p.run.meaningKey(); p.run.vector != nil && !seen[key] {
			seen[key] = true
			if err := j.addMeaningOf(key, p.run.vector, own, others); err != nil {
				return err
			}
		}
	}
	return nil
}

// meaningKey identifies what a vector is of: a text, by a model.
type meaningKey struct{ model, text string }

func (r *run) meaningKey() meaningKey { return meaningKey{r.name, r.meant} }

// means reports whether r.vector is of key.
func (r *run) means(key meaningKey) bool { return r.vector != nil && r.meaningKey() == key }

func (j *joint) addMeaningOf(key meaningKey, vector []float32, own, others []artifact.Share) error {
	var spread artifact.Spread
	near := map[*part][]artifact.Scored{}
	for _, foreign := range []bool{false, true} {
		all := own
		if foreign {
			all = others
		}
		shares, parts := make([]artifact.Share, 0, len(all)), make([]*part, 0, len(all))
		for i, s := range all {
			if p := j.parts[i]; p.run.means(key) && (!foreign || p.run.spoken != nil) {
				shares, parts = append(shares, s), append(parts, p)
			}
		}
		var distinct *artifact.SharedVectors
		if t := j.all.index; t != nil && len(shares) == len(t.of) {
			defer runtime.KeepAlive(t) // distinct is in its mapping
			distinct = t.vectors(shares)
		}
		found, of, err := artifact.NearestOver(shares, vector, byMeaning, distinct)
		if err != nil {
			return err
		}
		if !foreign {
			spread = of
		}
		for _, h := range found {
			near[parts[h.Share]] = append(near[parts[h.Share]], h.Scored)
		}
	}
	for _, p := range j.parts {
		if !p.run.means(key) || spread.Max <= spread.Mean {
			continue
		}
		if err := p.do(func() error { return p.addNear(near[p], spread) }); err != nil {
			return err
		}
	}
	return nil
}

// addNear adds the chunks that are nearest by meaning to the part's pool.
func (p *part) addNear(nearest []artifact.Scored, spread artifact.Spread) (err error) {
	p.run.spread = spread
	if len(p.pool)+len(nearest) == 0 {
		return nil
	}
	if _, _, err := p.run.lookUp(); err != nil {
		return err
	}
	p.pool, err = p.run.join(p.pool, nearest)
	return err
}
