package artifact

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/philippgille/chromem-go"
)

// Vector is the direction of a chunk's meaning, rounded to 8 bits per
// dimension; its length has no meaning. All zeros: the chunk has no vector and
// is near nothing.
type Vector []int8

// MaxDimensions is the maximum number of dimensions of a vector: several times
// that of the largest models.
const MaxDimensions = 8192

// NewVector returns v scaled to a largest component of 127 and rounded.
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

// The vectors of a group:
//
//	rows    stride bytes a chunk: its Vector and zeros
//	scales  f32 a chunk: brings its row to length 1; 0 for a row of zeros
//	u32     chunks whose row is not of zeros
//	f32     a dimension: the sum of the rows at length 1
//
// Rows begin at a multiple of rowAlign in the file and each takes a multiple of
// it, which is what the kernels like and saves them what is left over.
const rowAlign = 64

// stride is the bytes of a row.
func stride(dimensions int) int { return (dimensions + rowAlign - 1) / rowAlign * rowAlign }

// vectorBytes is the length of the vectors of so many chunks.
func vectorBytes(dimensions, chunks int) uint64 {
	if dimensions == 0 || chunks == 0 {
		return 0
	}
	return uint64(chunks)*uint64(stride(dimensions)+4) + 4 + 4*uint64(dimensions)
}

// encodeVectors writes the vectors of docs, which all have one for each chunk,
// or none has any: then dimensions is 0.
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
				return nil, 0, fmt.Errorf("%s: vectors of %d and %d dimensions, %d of them for %d chunks", d.Path, len(v), dimensions, len(d.Vectors), len(d.Chunks))
			}
		}
	}
	if dimensions == 0 {
		return nil, 0, nil
	}
	if vectors != chunks {
		return nil, 0, fmt.Errorf("%d vectors for the %d chunks from %s on", vectors, chunks, docs[0].Path)
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
				sum[i] += float64(s) * float64(x) // exact, so that all machines agree
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

// unitScale brings v to length 1; 0 for a vector of zeros.
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

// vectorGroup is the vectors of one group, where they lie.
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
	runs               []run               // what a scan reads
	next               []byte              // see twins.go
	n                  int                 // chunks with a vector
	mean               []float32           // of all vectors at length 1
	chromem            *chromem.Collection // nil: the rows are scanned
}

// openVectors refuses vectors that would make a score something else than a
// number: a data file may come from anybody.
func openVectors(groups []group, dimensions int, next []byte) (vectors, error) {
	v := vectors{dimensions: dimensions, stride: stride(dimensions), mean: make([]float32, dimensions)}
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

// row is the vector of a chunk and its scale. The chunk is in range.
func (v *vectors) row(chunk int) (row []byte, scale float32) {
	for i := range v.groups {
		if g := &v.groups[i]; chunk < g.first+g.chunks {
			at := chunk - g.first
			return g.rows[at*v.stride:][:v.dimensions], g.scale(at)
		}
	}
	return nil, 0
}

// Dimensions returns the length of the index's vectors; 0: it has none.
func (r *Reader) Dimensions() int { return r.vectors.dimensions }

// Embedding identifies what computed the vectors; nil: there are none.
func (r *Reader) Embedding() *Embedding { return r.meta.Embedding }

// Weights returns the model file that computed the vectors, mapped; nil if the
// index contains none.
func (r *Reader) Weights() []byte {
	if r.weights.bytes == 0 {
		return nil
	}
	return r.data[r.weights.offset:][:r.weights.bytes]
}
