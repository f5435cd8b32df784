package artifact

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/philippgille/chromem-go"
)

// Vector is the direction of a chunk's embedding, rounded to 8 bits per dimension.
// Its length has no meaning. If all components are zero, the chunk has no vector,
// and Nearest never returns it.
type Vector []int8

// MaxDimensions is the maximum number of dimensions of a vector. The largest models
// have a fraction of this number.
const MaxDimensions = 8192

// NewVector scales v so that its largest component is 127, and rounds the
// components. It returns an error if a component of v is infinite or not a
// number.
func NewVector(v []float32) (Vector, error) {
	most := 0.0
	for _, x := range v {
		if !(math.Abs(float64(x)) <= math.MaxFloat32) {
			return nil, fmt.Errorf("a component of a vector is %g", x)
		}
		most = max(most, math.Abs(float64(x)))
	}
	row := make(Vector, len(v))
	if most > 0 {
		for i, x := range v {
			row[i] = int8(math.RoundToEven(float64(x) / most * 127))
		}
	}
	return row, nil
}

// The vectors of a group are stored as follows:
//
//	rows    stride bytes per chunk: its Vector and zeros
//	scales  f32 per chunk: scales its row to length 1, or 0 for a row of zeros
//	u32     number of chunks whose row is not all zeros
//	f32     per dimension: the sum of the rows at length 1
//
// The offset of each row in the file and its length are multiples of rowAlign. Kernels
// are faster on aligned rows, and need no code for a remainder.
const rowAlign = 64

// stride returns the size of a row in bytes.
func stride(dimensions int) int { return (dimensions + rowAlign - 1) / rowAlign * rowAlign }

// vectorBytes returns the size in bytes of the vectors of the given number of
// chunks.
func vectorBytes(dimensions, chunks int) uint64 {
	if dimensions == 0 || chunks == 0 {
		return 0
	}
	return uint64(chunks)*uint64(stride(dimensions)+4) + 4 + 4*uint64(dimensions)
}

// encodeVectors encodes the vectors of docs. Either all chunks or no chunks have a
// vector. If none have, dimensions is 0.
func encodeVectors(docs []Document) (section []byte, dimensions int, err error) {
	chunks, vectors := 0, 0
	for _, d := range docs {
		chunks += len(d.Chunks)
		vectors += len(d.Vectors)
		for _, v := range d.Vectors {
			if dimensions == 0 {
				dimensions = len(v)
			}
			if len(v) != dimensions || len(v) > MaxDimensions || len(d.Vectors) != len(d.Chunks) {
				return nil, 0, fmt.Errorf("%s: vectors have %d and %d dimensions, and there are %d vectors for %d chunks", d.Path, len(v), dimensions, len(d.Vectors), len(d.Chunks))
			}
		}
	}
	if dimensions == 0 {
		return nil, 0, nil
	}
	if vectors != chunks {
		return nil, 0, fmt.Errorf("got %d vectors for the %d chunks that start with %s", vectors, chunks, docs[0].Path)
	}
	section = make([]byte, 0, vectorBytes(dimensions, chunks))
	var scales []byte
	var n uint32
	sum := make([]float64, dimensions)
	for _, d := range docs {
		for _, v := range d.Vectors {
			s := unitScale(v)
			scales = binary.LittleEndian.AppendUint32(scales, math.Float32bits(s))
			for i, x := range v {
				section = append(section, byte(x))
				sum[i] += float64(s) * float64(x) // exact, so that all machines compute the same sum
			}
			section = append(section, make([]byte, stride(dimensions)-dimensions)...)
			if s != 0 {
				n++
			}
		}
	}
	section = append(section, scales...)
	section = binary.LittleEndian.AppendUint32(section, n)
	for _, x := range sum {
		section = binary.LittleEndian.AppendUint32(section, math.Float32bits(float32(x)))
	}
	return section, dimensions, nil
}

// unitScale returns the factor that scales v to length 1, or 0 for a vector of zeros.
func unitScale(v Vector) float32 {
	square := 0
	for _, x := range v {
		square += int(x) * int(x)
	}
	if square == 0 {
		return 0
	}
	return float32(1 / math.Sqrt(float64(square)))
}

// vectorGroup holds the vectors of one group without copying them.
type vectorGroup struct {
	first, chunks int
	rows, scales  []byte
}

func (g *vectorGroup) scale(i int) float32 { return scaleAt(g.scales, i) }

func scaleAt(scales []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(scales[4*i:]))
}

// vectors reads the vectors of all groups as one table.
type vectors struct {
	dimensions, stride int
	groups             []vectorGroup
	runs               []run               // the rows that a scan reads
	next               []byte              // see twins.go
	n                  int                 // number of chunks with a vector
	mean               []float32           // mean of all vectors at length 1
	chromem            *chromem.Collection // if nil, the rows are scanned
}

// openVectors opens the vectors of all groups. It returns an error if a vector could
// produce a score that is not a number, because a data file may be untrusted.
func openVectors(groups []group, dimensions int, next []byte) (*vectors, error) {
	v := &vectors{dimensions: dimensions, stride: stride(dimensions), mean: make([]float32, dimensions)}
	sum := make([]float64, dimensions)
	for i := range groups {
		g := &groups[i]
		if dimensions == 0 || g.chunks == 0 {
			continue
		}
		b := g.bytes(vectorSection)
		rows, b := b[:g.chunks*v.stride], b[g.chunks*v.stride:]
		scales, b := b[:4*g.chunks], b[4*g.chunks:]
		v.groups = append(v.groups, vectorGroup{g.firstChunk, g.chunks, rows, scales})
		v.n += int(binary.LittleEndian.Uint32(b))
		for d := range sum {
			sum[d] += float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4+4*d:])))
		}
		last := &v.groups[len(v.groups)-1]
		for c := range last.chunks {
			if s := last.scale(c); !(s >= 0 && s <= 1) {
				return v, fmt.Errorf("the vector of chunk %d has the scale %g", last.first+c, s)
			}
		}
	}
	if err := v.readTwins(next); err != nil {
		return v, err
	}
	for d, x := range sum {
		v.mean[d] = float32(x / float64(max(1, v.n)))
		if !(math.Abs(float64(v.mean[d])) <= 1) {
			return v, fmt.Errorf("the mean of its vectors is %g in dimension %d", v.mean[d], d)
		}
	}
	return v, nil
}

// row returns the vector of a chunk and its scale. The chunk must be in range.
func (v *vectors) row(chunk int) (row []byte, scale float32) {
	for i := range v.groups {
		if g := &v.groups[i]; chunk < g.first+g.chunks {
			at := chunk - g.first
			return g.rows[at*v.stride:][:v.dimensions], g.scale(at)
		}
	}
	return nil, 0
}

// Dimensions returns the length of the index's vectors, or 0 if it has none.
func (r *Reader) Dimensions() int {
	if r.meta.Embedding == nil {
		return 0
	}
	return r.meta.Embedding.Dimensions
}

// Embedding identifies the embedder that computed the vectors. It is nil if the index
// has no vectors.
func (r *Reader) Embedding() *Embedding { return r.meta.Embedding }

// Weights returns the model file that computed the vectors, or nil if the index does
// not contain it. The bytes are in the mapped file.
func (r *Reader) Weights() []byte {
	if r.weights.bytes == 0 {
		return nil
	}
	return r.data[r.weights.offset:][:r.weights.bytes]
}
