package artifact

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// Parameters of BM25 as in bluge, without the constant factor k1+1. A reference page is
// not more relevant because it is short, so lengths matter less than usual. In tests on
// four labelled sets, b = 0.6 is better than 0.75 on three sets and equally good on the
// fourth.
const (
	saturation  = 1.2 // k1
	lengthShare = 0.6 // b
)

// Once is what a term adds to the BM25 score of a chunk of average length in which it
// occurs once, as a share of its weight.
const Once = 1 / (1 + saturation)

// Scored is a chunk that a search found, with its score.
type Scored struct {
	// Chunk is the chunk's ordinal in the corpus.
	Chunk int
	Score float64
}

// WeightedTerm is one term of a query. Weight multiplies its contribution to a
// score; zero means 1. A chunk scores at most the share Peak of that; zero means 1.
type WeightedTerm struct {
	*Postings
	Weight float64
	Peak   float64
}

// list holds the postings of one term during a search.
type list struct {
	*Postings
	idf   float32
	bound float64 // maximum score that this term can add to a chunk
}

// Lexical returns the k best chunks by BM25 among the chunks for which keep returns
// true. They are sorted by score, best first, and then in corpus order. If keep is nil,
// it considers all chunks. The result is exact. If a term can no longer bring a new
// chunk into the result, it only adds to the scores of the chunks already found.
func (r *Reader) Lexical(terms []WeightedTerm, k int, keep func(chunk int) bool) ([]Scored, error) {
	return r.lexicalAbove(terms, k, keep, 0)
}

// lexicalAbove works like Lexical, but may leave out chunks with scores below floor.
func (r *Reader) lexicalAbove(terms []WeightedTerm, k int, keep func(chunk int) bool, floor float64) ([]Scored, error) {
	l := r.lexical
	lists := l.weigh(terms)
	if len(lists) == 0 || k <= 0 {
		return nil, nil
	}
	acc := l.accumulator()
	found, err := l.search(acc, lists, k, keep, floor)
	acc.release() // not after a panic, when acc may be inconsistent
	return found, err
}

// search returns the k best chunks by the given lists, best first.
func (l *lexical) search(acc *accumulator, lists []list, k int, keep func(chunk int) bool, floor float64) ([]Scored, error) {
	acc.least = floor
	rest := 0.0 // maximum score that the remaining lists can add to a chunk
	for _, p := range lists {
		rest += p.bound
	}
	for i, p := range lists {
		if floor > rest || float64(acc.top) > rest && acc.kth(acc.touched, k) > rest {
			if err := l.finish(acc, lists[i:], rest, k); err != nil {
				return nil, err
			}
			return acc.best(acc.open, k), nil
		}
		if err := l.addAll(acc, p, keep); err != nil {
			return nil, err
		}
		rest -= p.bound
	}
	return acc.best(acc.touched, k), nil
}

// LexicalOf returns the BM25 scores of the given chunks, which may be in any order. A
// chunk without any of the terms has the score 0. All other scores are bit-identical to
// those from Lexical. LexicalOf is fast for a few hundred chunks, even if the terms are
// common.
func (r *Reader) LexicalOf(terms []WeightedTerm, chunks []int) ([]float64, error) {
	l := r.lexical
	for _, c := range chunks {
		if c < 0 || c >= l.n {
			return nil, fmt.Errorf("chunk %d of %d", c, l.n)
		}
	}
	acc := l.accumulator()
	scores, err := l.scoresOf(acc, terms, chunks)
	acc.release() // not after a panic, as in lexicalAbove
	return scores, err
}

func (l *lexical) scoresOf(acc *accumulator, terms []WeightedTerm, chunks []int) ([]float64, error) {
	for _, c := range chunks {
		acc.touched = append(acc.touched, uint32(c))
	}
	slices.Sort(acc.touched)
	acc.touched = slices.Compact(acc.touched)
	for _, p := range l.weigh(terms) {
		if err := l.addTo(acc.touched, acc, p); err != nil {
			return nil, err
		}
	}
	scores := make([]float64, len(chunks))
	for i, c := range chunks {
		scores[i] = float64(acc.scores[c])
	}
	return scores, nil
}

// weigh returns the lists of terms, weighted by their rarity, rarest first.
func (l *lexical) weigh(terms []WeightedTerm) []list {
	var lists []list
	for _, t := range terms {
		if t.Chunks == 0 {
			continue
		}
		idf := IDF(l.n, t.Chunks)
		if t.Weight > 0 {
			idf *= t.Weight
		}
		lists = append(lists, list{t.Postings, float32(idf), idf * cmp.Or(t.Peak, 1)})
	}
	slices.SortStableFunc(lists, func(x, y list) int { return cmp.Compare(y.idf, x.idf) })
	return lists
}

// IDF returns the weight of a term that occurs in df of n chunks. In bluge v0.2.2,
// the formula lacks the inner parentheses, so nearly every term has the same weight
// there.
func IDF(n, df int) float64 {
	return math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
}

// accumulator is the working memory of one search.
type accumulator struct {
	scores  []float32 // by chunk; 0 if the chunk was not found
	touched []uint32  // the chunks found
	top     float32   // the best score so far, from addAll
	floor   float32   // a lower bound on the k-th best score, which only grows
	least   float64   // scores below this are of no interest
	open    []uint32  // the touched chunks that finish still has to consider
	heap    []float32 // working memory of kth
	decoded []posting
	bits    []uint64 // by chunk; all 0 between calls of sort
}

// accumulators holds the accumulators that are not in use. The indexes of a shelf share
// them: one for each would be several times as much memory, and seldom in a cache.
var accumulators = sync.Pool{New: func() any { return new(accumulator) }}

// accumulator returns an accumulator for l whose scores are all 0. Calling release returns
// it to the pool.
func (l *lexical) accumulator() *accumulator {
	l.measured()
	acc := accumulators.Get().(*accumulator)
	if words := (l.n + 63) / 64; cap(acc.scores) < l.n || cap(acc.bits) < words {
		acc.scores, acc.bits = make([]float32, l.n), make([]uint64, words)
	} else {
		acc.scores, acc.bits = acc.scores[:l.n], acc.bits[:words]
	}
	return acc
}

func (acc *accumulator) release() {
	for _, d := range acc.touched {
		acc.scores[d] = 0
	}
	acc.touched, acc.top, acc.floor = acc.touched[:0], 0, 0
	accumulators.Put(acc)
}

func bm25(idf float32, freq uint32, norm float32) float32 {
	tf := float32(freq)
	return idf * tf / (tf + norm)
}

// addAll adds p's scores to all chunks that contain the term and for which keep
// returns true.
func (l *lexical) addAll(acc *accumulator, p list, keep func(int) bool) error {
	for i := range p.lists {
		list := &p.lists[i]
		g := &l.groups[list.group]
		if err := acc.decode(list, g); err != nil {
			return err
		}
		postings := acc.decoded
		touched := slices.Grow(acc.touched, len(postings)+1)
		n := len(touched)
		touched = touched[:cap(touched)]
		scores, norms := acc.scores[g.first:g.first+g.chunks], l.norms[g.first:g.first+g.chunks]
		top := acc.top
		for _, posting := range postings {
			c := posting.chunk
			was := scores[c]
			if keep != nil && was == 0 && !keep(g.first+int(c)) {
				continue
			}
			now := was + bm25(p.idf, posting.freq, norms[c])
			scores[c], top = now, max(top, now)
			touched[n] = uint32(g.first) + c
			if was == 0 {
				n++
			}
		}
		acc.touched, acc.top = touched[:n], top
	}
	return nil
}

// decode sets acc.decoded to the postings of a list or column.
func (acc *accumulator) decode(list *groupList, g *lexicalGroup) (err error) {
	acc.decoded, err = list.all(acc.decoded[:0], g.chunks)
	return err
}

// finish adds the scores of the lists that cannot bring a new chunk into the k best.
// It considers only chunks that were found before and can still be among the k best.
func (l *lexical) finish(acc *accumulator, lists []list, rest float64, k int) error {
	open := acc.touched
	for i, p := range lists {
		least := max(acc.least, acc.kth(open, k)) - rest
		acc.open = acc.open[:0]
		for _, d := range open {
			if float64(acc.scores[d]) >= least {
				acc.open = append(acc.open, d)
			}
		}
		if open = acc.open; i == 0 {
			acc.sort(open)
		}
		if err := l.addTo(open, acc, p); err != nil {
			return err
		}
		rest -= p.bound
	}
	return nil
}

// addTo adds p's scores to the given chunks. The chunks must be sorted.
func (l *lexical) addTo(chunks []uint32, acc *accumulator, p list) error {
	for i := range p.lists {
		list := &p.lists[i]
		g := &l.groups[list.group]
		from, _ := slices.BinarySearch(chunks, uint32(g.first))
		chunks = chunks[from:]
		n, _ := slices.BinarySearch(chunks, uint32(g.first+g.chunks))
		here := chunks[:n]
		chunks = chunks[n:]
		if n == 0 {
			continue
		}
		if list.column != nil {
			for _, d := range here {
				if freq := list.column[int(d)-g.first]; freq != 0 {
					acc.scores[d] += bm25(p.idf, uint32(freq), l.norms[d])
				}
			}
			continue
		}
		if err := acc.decode(list, g); err != nil {
			return err
		}
		postings := acc.decoded
		for _, d := range here {
			for len(postings) > 0 && uint32(g.first)+postings[0].chunk < d {
				postings = postings[1:]
			}
			if len(postings) == 0 {
				break
			}
			if uint32(g.first)+postings[0].chunk == d {
				acc.scores[d] += bm25(p.idf, postings[0].freq, l.norms[d])
			}
		}
	}
	return nil
}

// sort sorts distinct chunks.
func (a *accumulator) sort(chunks []uint32) {
	if len(chunks) < len(a.bits)/16 {
		slices.Sort(chunks)
		return
	}
	for _, d := range chunks {
		a.bits[d/64] |= 1 << (d % 64)
	}
	chunks = chunks[:0]
	for i, word := range a.bits {
		for ; word != 0; word &= word - 1 {
			chunks = append(chunks, uint32(64*i+bits.TrailingZeros64(word)))
		}
		a.bits[i] = 0
	}
}

// kth returns the k-th best score of chunks, or 0 if there are fewer than k. chunks
// must contain all touched chunks, or at least the k best of them. k must not change
// during a search.
func (a *accumulator) kth(chunks []uint32, k int) float64 {
	best, floor := a.heap[:0], a.floor
	for _, d := range chunks {
		s := a.scores[d]
		if s < floor {
			continue
		}
		if len(best) == k {
			if s == floor {
				continue
			}
			best[0] = s
			sink(best, 0)
			floor = best[0]
			continue
		}
		best = append(best, s)
		if len(best) == k {
			for i := k/2 - 1; i >= 0; i-- {
				sink(best, i)
			}
			floor = best[0]
		}
	}
	a.heap = best
	if len(best) < k {
		return 0
	}
	a.floor = floor
	return float64(floor)
}

// sink restores the min-heap below index i.
func sink(h []float32, i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1] < h[c] {
			c++
		}
		if h[i] <= h[c] {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// best returns the k best of chunks, best first. Chunks with equal scores are in
// corpus order.
func (a *accumulator) best(chunks []uint32, k int) []Scored {
	least := float32(a.kth(chunks, k))
	out := make([]Scored, 0, min(k, len(chunks)))
	for _, d := range chunks {
		if s := a.scores[d]; s >= least {
			out = append(out, Scored{int(d), float64(s)})
		}
	}
	slices.SortFunc(out, func(x, y Scored) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Chunk, y.Chunk))
	})
	return out[:min(k, len(out))]
}
