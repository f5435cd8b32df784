package artifact

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Spread describes the distribution of the cosines of all chunks that have a vector,
// before any filters. It is needed because a given cosine means different things for
// different models and queries.
type Spread struct{ Mean, Max float64 }

// margin is the number of additional chunks that are scored exactly. The scan
// rounds the query to 15 bits, and these chunks compensate for the rounding
// (TestNearestIsExact).
const margin = 20

// Nearest returns the k chunks nearest to query by cosine among the chunks for which
// keep returns true. They are sorted by cosine, best first, and then in corpus order.
// If keep is nil, all chunks are considered. Chunks without a vector are omitted, and a
// query of zeros finds nothing. Nearest calls keep only for a few chunks. It returns an
// error if query and the index have different dimensions, or if chromem fails.
func (r *Reader) Nearest(query []float32, k int, keep func(chunk int) bool) ([]Scored, Spread, error) {
	v := r.vectors()
	unit, err := v.unit(query)
	if unit == nil || k <= 0 {
		return nil, Spread{}, err
	}
	found, best, err := v.search(unit, min(k, r.chunks)+margin, keep)
	if err != nil {
		return nil, Spread{}, err
	}
	spread := Spread{Mean: dot(unit, v.mean)}
	if best >= 0 {
		spread.Max = v.cosine(unit, best)
	}
	slices.SortFunc(found, byScore) // puts twins next to each other
	same := cosines{vectors: v, unit: unit}
	for i := range found {
		found[i].Score = same.of(found[i].Chunk)
	}
	slices.SortFunc(found, byScore)
	if len(found) > 0 { // rounding in the scan may have favoured a slightly worse chunk
		spread.Max = max(spread.Max, found[0].Score)
	}
	return found[:min(k, len(found))], spread, nil
}

// Cosines returns the cosine between query and each of chunks, or 0 for a chunk without
// a vector. It returns an error if query and the index have different dimensions, or if
// a chunk is out of range.
func (r *Reader) Cosines(query []float32, chunks []int) ([]float64, error) {
	v := r.vectors()
	unit, err := v.unit(query)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(chunks))
	same := cosines{vectors: v, unit: unit}
	for i, c := range chunks {
		if c < 0 || c >= r.chunks {
			return nil, fmt.Errorf("chunk %d of %d", c, r.chunks)
		}
		if unit != nil {
			out[i] = same.of(c)
		}
	}
	return out, nil
}

// cosines computes the cosines between one query and consecutive chunks. If a chunk is
// a twin of the previous chunk, cosines reuses the previous result.
type cosines struct {
	*vectors
	unit   []float32
	row    []byte
	cosine float64
}

func (s *cosines) of(chunk int) float64 {
	if row, _ := s.vectors.row(chunk); s.row == nil || !bytes.Equal(row, s.row) {
		s.row, s.cosine = row, s.vectors.cosine(s.unit, chunk)
	}
	return s.cosine
}

// Alike returns the cosine between the vectors of two chunks, or 0 if one has no
// vector. Both chunks must be in range.
func (r *Reader) Alike(a, b int) float64 {
	x, xScale := r.vectors().row(a)
	y, yScale := r.vectors().row(b)
	sum := 0
	for i := range x {
		sum += int(int8(x[i])) * int(int8(y[i]))
	}
	return float64(sum) * float64(xScale) * float64(yScale)
}

// unit returns query scaled to length 1, or nil if all its components are zero.
func (v *vectors) unit(query []float32) ([]float32, error) {
	if len(query) != v.dimensions {
		return nil, fmt.Errorf("the query vector has %d dimensions, but the index has %d", len(query), v.dimensions)
	}
	square := 0.0
	for _, x := range query {
		square += float64(x) * float64(x)
	}
	if !(square > 0 && square <= math.MaxFloat64) {
		return nil, nil
	}
	length, unit := math.Sqrt(square), make([]float32, len(query))
	for i, x := range query {
		unit[i] = float32(float64(x) / length)
	}
	return unit, nil
}

// cosine returns a cosine. Only the rounding of the row affects its precision. The
// product of an 8-bit and a 24-bit number is exact, so the result is the same on all
// machines.
func (v *vectors) cosine(unit []float32, chunk int) float64 {
	row, scale := v.row(chunk)
	unit = unit[:len(row)]
	var sum [4]float64 // four separate sums, so that one addition need not wait for another
	i := 0
	for ; i+4 <= len(row); i += 4 {
		sum[0] += float64(unit[i]) * float64(int8(row[i]))
		sum[1] += float64(unit[i+1]) * float64(int8(row[i+1]))
		sum[2] += float64(unit[i+2]) * float64(int8(row[i+2]))
		sum[3] += float64(unit[i+3]) * float64(int8(row[i+3]))
	}
	for ; i < len(row); i++ {
		sum[0] += float64(unit[i]) * float64(int8(row[i]))
	}
	return (sum[0] + sum[1] + sum[2] + sum[3]) * float64(scale)
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// byScore sorts by score, best first, and then in corpus order.
func byScore(x, y Scored) int {
	return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Chunk, y.Chunk))
}

// search returns the k chunks with approximately the best cosines among those for
// which keep returns true, in no particular order. best is the best chunk of all, or
// -1 if there is none.
func (v *vectors) search(unit []float32, k int, keep func(int) bool) (found []Scored, best int, err error) {
	if v.chromem != nil {
		return v.ask(unit, k, keep)
	}
	found, best = v.scan(unit, k, keep)
	return found, best, nil
}

// blockRows is the number of rows passed to a kernel in one call. The products of this
// many rows fit in the L1 cache, and most chunks can be rejected without a function
// call.
const blockRows = 256

// products holds reusable working memory for scans.
var products = sync.Pool{New: func() any { return new([blockRows]int32) }}

// scan implements search. It reads all rows without copying them.
func (v *vectors) scan(unit []float32, k int, keep func(int) bool) (found []Scored, best int) {
	near := nearest{k: k, keep: keep, least: float32(math.Inf(-1)), most: float32(math.Inf(-1)), best: -1}
	near.scan(v.runs, v.next, v.rounded(unit), 0)
	return near.heap, near.best
}

// scan adds the chunks of runs and their twins, each with base added to its number. A row is
// as long as query.
func (n *nearest) scan(runs []run, next []byte, query []int16, base int) {
	out := products.Get().(*[blockRows]int32)
	defer products.Put(out)
	stride := len(query)
	for i := range runs {
		r := &runs[i]
		for rows, first := r.rows, 0; len(rows) > 0; {
			count := min(blockRows, len(rows)/stride)
			dots(out[:count], query, rows[:count*stride])
			for i, p := range out[:count] {
				scale := scaleAt(r.scales, first+i)
				// The best chunk always passes this test, because its score is at
				// least the heap's minimum.
				if s := float32(p) * scale; s >= n.least && scale != 0 {
					for c := r.first + first + i; ; {
						n.add(base+c, s)
						if c = after(next, c); c == 0 {
							break
						}
					}
				}
			}
			rows, first = rows[count*stride:], first+count
		}
	}
}

// rounded returns the query as integers, padded with zeros to the stride. The integers
// are as large as possible, but small enough that the dot product with a row of -128
// fits in 32 bits.
func (v *vectors) rounded(unit []float32) []int16 {
	most := 0.0
	for _, x := range unit {
		most = max(most, math.Abs(float64(x)))
	}
	largest := float64(min(math.MaxInt16, math.MaxInt32/(128*v.stride)))
	query := make([]int16, v.stride)
	for i, x := range unit {
		query[i] = int16(math.RoundToEven(float64(x) / most * largest))
	}
	return query
}

// nearest collects the best chunks of a scan.
type nearest struct {
	k     int
	keep  func(int) bool
	heap  []Scored // worst chunk first; among equal chunks, last in the corpus first
	least float32  // minimum score to enter the heap
	best  int
	most  float32
}

func (n *nearest) add(chunk int, s float32) {
	if s > n.most || s == n.most && chunk < n.best {
		n.best, n.most = chunk, s
	}
	candidate := Scored{chunk, float64(s)}
	if len(n.heap) == n.k && !worse(n.heap[0], candidate) || n.keep != nil && !n.keep(chunk) {
		return
	}
	if len(n.heap) < n.k {
		n.heap = append(n.heap, candidate)
		if len(n.heap) < n.k {
			return
		}
		for i := n.k/2 - 1; i >= 0; i-- {
			n.sink(i)
		}
	} else {
		n.heap[0] = candidate
		n.sink(0)
	}
	n.least = float32(n.heap[0].Score)
}

// worse reports whether x sorts after y. It is a faster version of byScore for the
// heap.
func worse(x, y Scored) bool { return x.Score < y.Score || x.Score == y.Score && x.Chunk > y.Chunk }

// sink restores the heap below index i.
func (n *nearest) sink(i int) {
	h := n.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && worse(h[c+1], h[c]) {
			c++
		}
		if !worse(h[c], h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
