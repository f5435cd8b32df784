package artifact

import (
	"cmp"
	"math"
	"slices"
)

// Share is one index's share of a search over several. The searches below rank the
// chunks of all shares as if they were in one index, in the order of the shares.
type Share struct {
	*Reader
	// Terms returns the question's terms in this index, weighted for all indexes, and a
	// score that is added to the BM25 score of each chunk. No chunk has a higher score than
	// Bound.
	Terms func() (terms []WeightedTerm, all float64, err error)
	Bound float64
	// Keep restricts the chunks; nil means all.
	Keep func(chunk int) bool
	// Guard calls a function that reads this index; nil means directly.
	Guard func(read func() error) error
}

func (s *Share) guarded(read func() error) error {
	if s.Guard == nil {
		return read()
	}
	return s.Guard(read)
}

// SharedHit is a chunk of one of the shares.
type SharedHit struct {
	// Share is the share's position.
	Share int
	Scored
}

func byShare(x, y SharedHit) int {
	return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Share, y.Share), cmp.Compare(x.Chunk, y.Chunk))
}

// LexicalOver returns the k best chunks of all shares by BM25 with what Terms adds, best
// first. The result is exact. An index whose bound is below the k best is not read.
func LexicalOver(shares []Share, k int) ([]SharedHit, error) {
	var order []int
	for i, s := range shares {
		if s.Bound > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(shares[y].Bound, shares[x].Bound) })
	var all []SharedHit
	best := kBest{k: k}
	for _, i := range order {
		s := &shares[i]
		if s.Bound < float64(best.floor) {
			break
		}
		terms, more, err := s.Terms()
		if err != nil {
			return nil, err
		}
		var found []Scored
		err = s.guarded(func() error {
			found, err = s.lexicalAbove(terms, k, s.Keep, float64(math.Nextafter32(best.floor, 0))-more) // the sum may be rounded up
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			f.Score = float64(float32(f.Score + more))
			if best.add(float32(f.Score)) {
				all = append(all, SharedHit{i, f})
			}
		}
	}
	slices.SortFunc(all, byShare)
	return all[:min(k, len(all))], nil
}

// kBest finds the k-th best of scores.
type kBest struct {
	k     int
	heap  []float32 // of the k best, the least first
	floor float32   // the k-th best so far, or 0
}

// add reports whether a score is not below the k best so far.
func (b *kBest) add(score float32) bool {
	switch {
	case len(b.heap) < b.k:
		b.heap = append(b.heap, score)
		if len(b.heap) < b.k {
			return true
		}
		for i := b.k/2 - 1; i >= 0; i-- {
			sink(b.heap, i)
		}
	case score < b.floor:
		return false
	case score > b.floor:
		b.heap[0] = score
		sink(b.heap, 0)
	}
	b.floor = b.heap[0]
	return true
}

// NearestOver returns the k chunks of all shares that are nearest to query, as Nearest
// does, and the spread of all cosines. Shares without vectors are left out. The vectors
// of the others must be of one model. distinct is from ShareVectors for the same indexes, or
// nil; the result is the same.
func NearestOver(shares []Share, query []float32, k int, distinct *SharedVectors) ([]SharedHit, Spread, error) {
	scan := sharedScan{shares: shares, bases: basesOf(shares), distinct: distinct, near: nearest{k: k + margin, least: float32(math.Inf(-1)), most: float32(math.Inf(-1)), best: -1}}
	for i, s := range shares {
		if s.Dimensions() > 0 {
			if err := shares[i].guarded(func() error { return scan.add(i, query) }); err != nil {
				return nil, Spread{}, err
			}
		}
	}
	if scan.near.best < 0 {
		return nil, Spread{}, nil
	}
	slices.SortFunc(scan.near.heap, func(x, y Scored) int { return cmp.Compare(x.Chunk, y.Chunk) })
	found := make([]SharedHit, len(scan.near.heap))
	for i, s := range scan.near.heap {
		share := scan.shareOf(s.Chunk)
		chunk := s.Chunk - scan.bases[share]
		score, err := scan.cosine(&shares[share], chunk)
		if err != nil {
			return nil, Spread{}, err
		}
		found[i] = SharedHit{share, Scored{chunk, score}}
	}
	slices.SortFunc(found, byShare)
	share := scan.shareOf(scan.near.best)
	most, err := scan.cosine(&shares[share], scan.near.best-scan.bases[share])
	if err != nil {
		return nil, Spread{}, err
	}
	spread := Spread{Mean: scan.sum / float64(max(1, scan.n)), Max: most}
	if len(found) > 0 {
		spread.Max = max(spread.Max, found[0].Score)
	}
	return found[:min(k, len(found))], spread, nil
}

// basesOf returns the number of each share's first chunk if the chunks of all are numbered.
func basesOf(shares []Share) []int {
	bases, chunks := make([]int, len(shares)), 0
	for i, s := range shares {
		bases[i] = chunks
		chunks += s.chunks
	}
	return bases
}

// sharedScan scans the vectors of several indexes. It numbers the chunks of all.
type sharedScan struct {
	shares   []Share
	bases    []int // by share, the number of its first chunk
	distinct *SharedVectors
	near     nearest
	unit     []float32
	query    []int16
	sum      float64 // of the cosines of all chunks with a vector
	n        int     // the number of these chunks
}

func (s *sharedScan) cosine(share *Share, chunk int) (cosine float64, err error) {
	err = share.guarded(func() error {
		cosine = share.vectors().cosine(s.unit, chunk)
		return nil
	})
	return cosine, err
}

// add scans the vectors of a share.
func (s *sharedScan) add(i int, query []float32) (err error) {
	share := &s.shares[i]
	v := share.vectors()
	if s.unit == nil || len(s.unit) != v.dimensions {
		if s.unit, err = v.unit(query); err != nil || s.unit == nil {
			return err
		}
		s.query = v.rounded(s.unit)
	}
	s.sum += float64(v.n) * dot(s.unit, v.mean)
	s.n += v.n
	base := s.bases[i]
	if s.distinct != nil {
		s.near.keep = s.keeps
		s.near.scan(s.distinct.runs[i], s.distinct.next, s.query, 0)
		return nil
	}
	s.near.keep = nil
	if share.Keep != nil {
		s.near.keep = func(chunk int) bool { return share.Keep(chunk - base) }
	}
	if v.chromem == nil {
		s.near.scan(v.runs, v.next, s.query, base)
		return nil
	}
	found, _, err := v.ask(s.unit, s.near.k, share.Keep)
	for _, f := range found {
		s.near.add(base+f.Chunk, float32(f.Score))
	}
	return err
}

// keeps reports whether its share keeps a numbered chunk.
func (s *sharedScan) keeps(chunk int) bool {
	i := s.shareOf(chunk)
	return s.shares[i].Keep == nil || s.shares[i].Keep(chunk-s.bases[i])
}

// shareOf returns the share that a numbered chunk belongs to.
func (s *sharedScan) shareOf(chunk int) int {
	at, _ := slices.BinarySearch(s.bases, chunk+1)
	return at - 1
}
