package artifact

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Spread describes the distribution of the cosines of all chunks with a vector,
// ignoring filters. What a cosine means differs between models and queries.
type Spread struct{ Mean, Max float64 }

// margin is how many chunks beyond those asked for are scored exactly: the scan
// rounds the query to 15 bits and no more is lost by it (TestNearestIsExact).
const margin = 20

// Nearest returns the k chunks nearest to query by cosine among those that keep
// accepts (nil: all), best first, equal ones in corpus order; it leaves out
// chunks without a vector. A query of zeros is near nothing. keep is called for
// few chunks. It fails if query has other dimensions, or if chromem fails.
func (r *Reader) Nearest(query []float32, k int, keep func(chunk int) bool) ([]Scored, Spread, error) {
	v := &r.vectors
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
	slices.SortFunc(found, byScore) // which brings twins together
	same := cosines{vectors: v, unit: unit}
	for i := range found {
		found[i].Score = same.of(found[i].Chunk)
	}
	slices.SortFunc(found, byScore)
	if len(found) > 0 { // the scan may have taken one for the best that is a rounding below it
		spread.Max = max(spread.Max, found[0].Score)
	}
	return found[:min(k, len(found))], spread, nil
}

// Cosines returns the cosine between query and each of chunks; 0 for a chunk
// without a vector. It fails if query has other dimensions or a chunk is out of
// range.
func (r *Reader) Cosines(query []float32, chunks []int) ([]float64, error) {
	v := &r.vectors
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

// cosines are those of one query with chunk after chunk: the twin of the last
// one needs no counting.
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

// Alike returns the cosine between the vectors of two chunks, which must be in
// range; 0 if one has none.
func (r *Reader) Alike(a, b int) float64 {
	x, xScale := r.vectors.row(a)
	y, yScale := r.vectors.row(b)
	sum := 0
	for i := range x {
		sum += int(int8(x[i])) * int(int8(y[i]))
	}
	return float64(sum) * float64(xScale) * float64(yScale)
}

// unit is query at length 1; nil for one of zeros.
func (v *vectors) unit(query []float32) ([]float32, error) {
	if len(query) != v.dimensions {
		return nil, fmt.Errorf("the query has %d dimensions, the vectors of the index %d", len(query), v.dimensions)
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

// cosine is exact but for the rounding of the row. Products of an 8-bit and a
// 24-bit number are exact, so all machines give the same.
func (v *vectors) cosine(unit []float32, chunk int) float64 {
	row, scale := v.row(chunk)
	unit = unit[:len(row)]
	var sum [4]float64 // four, so that one addition need not wait for the one before
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

// byScore orders the best first, equal ones as they stand in the corpus.
func byScore(x, y Scored) int {
	return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Chunk, y.Chunk))
}

// search returns the k chunks with about the best cosine that keep accepts, in
// no order, and the best of all; -1: there is none.
func (v *vectors) search(unit []float32, k int, keep func(int) bool) (found []Scored, best int, err error) {
	if v.chromem != nil {
		return v.ask(unit, k, keep)
	}
	found, best = v.scan(unit, k, keep)
	return found, best, nil
}

// blockRows is how many rows a kernel is given at once: their products stay in
// the first cache, and chunks are told from each other without a call.
const blockRows = 256

// products are the working memory of a scan.
var products = sync.Pool{New: func() any { return new([blockRows]int32) }}

// scan is search over the rows where they lie.
func (v *vectors) scan(unit []float32, k int, keep func(int) bool) (found []Scored, best int) {
	query := v.rounded(unit)
	out := products.Get().(*[blockRows]int32)
	defer products.Put(out)
	near := nearest{k: k, keep: keep, least: float32(math.Inf(-1)), most: float32(math.Inf(-1)), best: -1}
	for i := range v.runs {
		r := &v.runs[i]
		for rows, first := r.rows, 0; len(rows) > 0; {
			n := min(blockRows, len(rows)/v.stride)
			dots(out[:n], query, rows[:n*v.stride])
			for i, p := range out[:n] {
				scale := scaleAt(r.scales, first+i)
				// The best of all is never under the least of the kept.
				if s := float32(p) * scale; s >= near.least && scale != 0 {
					for c := r.first + first + i; ; {
						near.add(c, s)
						if c = v.after(c); c == 0 {
							break
						}
					}
				}
			}
			rows, first = rows[n*v.stride:], first+n
		}
	}
	return near.heap, near.best
}

// rounded is the query in whole numbers, as large as sums over a row of -128
// stay within 32 bits, and zeros up to the stride.
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

// nearest gathers the best of a scan.
type nearest struct {
	k     int
	keep  func(int) bool
	heap  []Scored // the worst first; of equal ones the last of the corpus
	least float32  // what a chunk must reach to get into the heap
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

// worse says whether x comes after y; it is byScore for the heap, which asks
// often.
func worse(x, y Scored) bool { return x.Score < y.Score || x.Score == y.Score && x.Chunk > y.Chunk }

// sink restores the heap below i.
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
