package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/runtime/fault"
)

// embedded gives every chunk of docs a vector, by chance but the same each
// time, one in eleven of them zeros and one in seven that of the chunk before.
func embedded(docs []Document, dimensions int) []Document {
	rng := rand.New(rand.NewPCG(1, uint64(dimensions)))
	out := slices.Clone(docs)
	n := 0
	var last Vector
	for i := range out {
		out[i].Vectors = nil
		for range out[i].Chunks {
			v := make(Vector, dimensions)
			switch n++; {
			case n%11 == 0:
			case n%7 == 0:
				copy(v, last)
			default:
				for d := range v {
					v[d] = int8(rng.IntN(256) - 128)
				}
			}
			last = v
			out[i].Vectors = append(out[i].Vectors, v)
		}
	}
	return out
}

var testModel = Model{Provider: "test", Name: "one", Key: "one", Weights: []byte("weights")}

// question is a query near the vector of one chunk.
func question(rng *rand.Rand, v Vector) []float32 {
	q := make([]float32, len(v))
	for i, x := range v {
		q[i] = float32(x) + float32(rng.NormFloat64()*40)
	}
	return q
}

// cosineOf is the measure from its definition.
func cosineOf(q []float32, v Vector) float64 {
	var dot, a, b float64
	for i, x := range v {
		dot += float64(q[i]) * float64(x)
		a += float64(q[i]) * float64(q[i])
		b += float64(x) * float64(x)
	}
	if a == 0 || b == 0 {
		return 0
	}
	return dot / math.Sqrt(a*b)
}

func allVectors(docs []Document) (all []Vector) {
	for _, d := range docs {
		all = append(all, d.Vectors...)
	}
	return all
}

func isZero(v Vector) bool { return !slices.ContainsFunc(v, func(x int8) bool { return x != 0 }) }

func TestNearestIsExact(t *testing.T) {
	for _, dimensions := range []int{1, 3, 64, 100, 256, 1536} {
		docs := embedded(corpus(8), dimensions)
		dir := t.TempDir()
		buildWith(t, dir, docs, testModel)
		r := reopen(t, dir)
		if r.Dimensions() != dimensions || r.Embedding().String() != "test:one" || string(r.Weights()) != "weights" {
			t.Fatalf("Dimensions, Embedding, Weights = %d, %v, %q", r.Dimensions(), r.Embedding(), r.Weights())
		}
		all := allVectors(docs)
		for name, keep := range map[string]func(int) bool{"all": nil, "a third": func(c int) bool { return c%3 == 1 }, "nothing": func(int) bool { return false }} {
			t.Run(fmt.Sprint(dimensions, " ", name), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(3, 4))
				for range 10 {
					q := question(rng, all[rng.IntN(len(all))])
					checkNearest(t, r, all, q, keep)
				}
			})
		}
	}
}

func checkNearest(t *testing.T, r *Reader, all []Vector, q []float32, keep func(int) bool) {
	t.Helper()
	var want []Scored
	var sum, most float64
	n := 0
	for c, v := range all {
		if isZero(v) {
			continue
		}
		cos := cosineOf(q, v)
		if n++; n == 1 || cos > most {
			most = cos
		}
		sum += cos
		if keep == nil || keep(c) {
			want = append(want, Scored{c, cos})
		}
	}
	slices.SortFunc(want, func(x, y Scored) int {
		if math.Abs(x.Score-y.Score) < 1e-9 {
			return x.Chunk - y.Chunk
		}
		return byScore(x, y)
	})
	want = want[:min(10, len(want))]
	got, spread, err := r.Nearest(q, 10, keep)
	if err != nil || len(got) != len(want) {
		t.Fatalf("Nearest = %v, %v; want %v", got, err, want)
	}
	var chunks []int
	for i := range got {
		if len(all[0]) > 3 && got[i].Chunk != want[i].Chunk || math.Abs(got[i].Score-want[i].Score) > 1e-6 {
			t.Fatalf("Nearest = %v, want %v", got, want)
		}
		chunks = append(chunks, got[i].Chunk)
	}
	if math.Abs(spread.Mean-sum/float64(n)) > 1e-5 || math.Abs(spread.Max-most) > 1e-4 {
		t.Errorf("Spread = %+v, want mean %g and max %g", spread, sum/float64(n), most)
	}
	cosines, err := r.Cosines(q, append(chunks, 10)) // chunk 10 is of zeros
	for i := range got {
		if err != nil || cosines[i] != got[i].Score {
			t.Errorf("Cosines = %v, %v; want the scores of %v", cosines, err, got)
		}
	}
	if cosines[len(got)] != 0 {
		t.Errorf("Cosines gives %g for a chunk without a vector, want 0", cosines[len(got)])
	}
}

func TestQueryThatDoesNotFit(t *testing.T) {
	dir := t.TempDir()
	docs := embedded(corpus(2), 64)
	buildWith(t, dir, docs, testModel)
	r := reopen(t, dir)
	if got, spread, err := r.Nearest(make([]float32, 64), 10, nil); got != nil || spread != (Spread{}) || err != nil {
		t.Errorf("Nearest of zeros = %v, %v, %v; want nothing", got, spread, err)
	}
	nan := make([]float32, 64)
	nan[3] = float32(math.NaN())
	if got, _, err := r.Nearest(nan, 10, nil); got != nil || err != nil {
		t.Errorf("Nearest of NaN = %v, %v; want nothing", got, err)
	}
	if _, _, err := r.Nearest(make([]float32, 63), 10, nil); err == nil {
		t.Error("Nearest takes a query of 63 dimensions for 64")
	}
	if _, err := r.Cosines(make([]float32, 64), []int{r.Len()}); err == nil {
		t.Error("Cosines takes a chunk out of range")
	}
}

func TestIndexWithoutVectors(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, corpus(2))
	r := reopen(t, dir)
	if r.Dimensions() != 0 || r.Embedding() != nil || r.Weights() != nil {
		t.Errorf("Dimensions, Embedding, Weights = %d, %v, %q; want none", r.Dimensions(), r.Embedding(), r.Weights())
	}
	if _, _, err := r.Nearest([]float32{1}, 10, nil); err == nil {
		t.Error("Nearest answers from an index without vectors")
	}
}

func TestAnotherModelEncodesAgain(t *testing.T) {
	dir, fresh := t.TempDir(), t.TempDir()
	plain := corpus(4)
	one := embedded(plain, 64)
	build(t, dir, plain)
	for _, step := range []struct {
		name  string
		docs  []Document
		model Model
		reuse bool
	}{
		{"vectors come", one, testModel, false},
		{"nothing changes", one, testModel, true},
		{"another model", embedded(plain, 128), Model{Provider: "test", Name: "two", Key: "two"}, false},
		{"back again", one, testModel, false},
		{"the weights are kept elsewhere", one, Model{Provider: "test", Name: "one", Key: "one"}, true},
		{"vectors go", plain, Model{}, false},
	} {
		_, reused := buildWith(t, dir, step.docs, step.model)
		if reused > 0 != step.reuse {
			t.Errorf("%s: %d groups reused, want some: %v", step.name, reused, step.reuse)
		}
		os.RemoveAll(fresh)
		buildWith(t, fresh, step.docs, step.model)
		os.Remove(filepath.Join(dir, ".lock"))
		os.Remove(filepath.Join(fresh, ".lock"))
		if x, y := files(t, dir), files(t, fresh); x != y {
			t.Errorf("%s: built again:\n%s\nbuilt from nothing:\n%s", step.name, x, y)
		}
	}
}

func TestUnevenVectorsAreRefused(t *testing.T) {
	docs := embedded(corpus(2), 64)
	docs[1].Vectors = docs[1].Vectors[1:]
	if _, err := Encode(docs); err == nil {
		t.Error("Encode takes a document with fewer vectors than chunks")
	}
	docs[1].Vectors = nil
	if _, err := Encode(docs); err == nil {
		t.Error("Encode takes a document without vectors beside one with")
	}
	docs = embedded(corpus(2), 64)
	docs[1].Vectors[2] = Vector{1}
	if _, err := Encode(docs); err == nil {
		t.Error("Encode takes vectors of different lengths")
	}
}

func TestVectorOfNumbers(t *testing.T) {
	got, err := NewVector([]float32{-2, 1, 0, 0.004})
	if want := (Vector{-127, 64, 0, 0}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("NewVector = %v, %v; want %v", got, err, want)
	}
	if got, err := NewVector(make([]float32, 3)); err != nil || !isZero(got) || len(got) != 3 {
		t.Errorf("NewVector of zeros = %v, %v; want zeros", got, err)
	}
	for _, x := range []float32{float32(math.Inf(1)), float32(math.NaN())} {
		if _, err := NewVector([]float32{1, x}); err == nil {
			t.Errorf("NewVector takes %g", x)
		}
	}
}

func TestRowsAreAligned(t *testing.T) {
	dir := t.TempDir()
	m, _ := buildWith(t, dir, embedded(corpus(3), 100), testModel)
	r := reopen(t, dir)
	data, err := os.ReadFile(filepath.Join(dir, m.Index.Path))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range r.vectors().groups {
		if at := bytes.Index(data, g.rows); at%rowAlign != 0 {
			t.Errorf("the rows of the chunks from %d on begin at %d", g.first, at)
		}
	}
}

// What is written with a right checksum may still be no vector.
func TestVectorsThatAreNoNumbersAreRefused(t *testing.T) {
	m, data, l := laidOut(t)
	s, chunks := l.groups[0].sections[vectorSection], l.groups[0].chunks
	scales := int(s.offset) + padding(s.offset) + chunks*stride(64)
	for name, c := range map[string]struct {
		at int
		is float32
	}{
		"scale NaN":         {scales, float32(math.NaN())},
		"scale infinite":    {scales + 4, float32(math.Inf(1))},
		"scale negative":    {scales + 8, -0.01},
		"scale over 1":      {scales + 12, 1.5},
		"sum NaN":           {scales + 4*chunks + 4, float32(math.NaN())},
		"sum infinite":      {scales + 4*chunks + 8, float32(math.Inf(-1))},
		"sum over its rows": {scales + 4*chunks + 12, 1e9},
	} {
		b := bytes.Clone(data)
		binary.LittleEndian.PutUint32(b[c.at:], math.Float32bits(c.is))
		r, err := Open(resealed(t, m, b))
		if err == nil {
			r.Close()
		}
		if f := fault.Of(err); f == nil || f.Code != "artifact_damaged" {
			t.Errorf("%s: Open = %v, want fault artifact_damaged", name, err)
		}
	}
}

// laidOut is the data file of an index with vectors of 64 dimensions, and what
// its directory says.
func laidOut(t *testing.T) (Metadata, []byte, *layout) {
	t.Helper()
	whole := t.TempDir()
	m, _ := buildWith(t, whole, embedded(corpus(5), 64), testModel)
	data, err := os.ReadFile(filepath.Join(whole, m.Index.Path))
	if err != nil {
		t.Fatal(err)
	}
	l, err := parseLayout(data)
	if err != nil {
		t.Fatal(err)
	}
	return m, data, l
}

// resealed is a folder with an index whose data file has the checksums of data
// as it is now; m is of the index that data was taken from.
func resealed(t testing.TB, m Metadata, data []byte) (dir string) {
	t.Helper()
	foot := data[len(data)-footerSize:]
	l := data[binary.LittleEndian.Uint64(foot) : len(data)-footerSize]
	seal := func(span []byte) {
		s := parseSpan(span)
		if end := s.offset + uint64(s.bytes); end >= s.offset && end <= uint64(len(data)) {
			binary.LittleEndian.PutUint32(span[12:], crc32.Checksum(data[s.offset:end], castagnoli))
		}
	}
	seal(l[8:])
	seal(l[8+spanSize:])
	for at := dirHead; at < len(l); at += groupEntry {
		for i := range sectionCount {
			seal(l[at+sha256.Size+8+i*spanSize:])
		}
	}
	binary.LittleEndian.PutUint32(foot[12:], crc32.Checksum(l, castagnoli))
	sum := sha256.Sum256(data)
	m.Index.SHA256 = hex.EncodeToString(sum[:])
	metadata, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, MetadataFile), metadata, 0o644),
		os.WriteFile(filepath.Join(dir, m.Index.Path), data, 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// table is a reader of n chunks that has nothing but vectors, in groups of 5,000.
func table(b *testing.B, n, dimensions int) *Reader {
	b.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	r := &Reader{}
	var equal twins
	for r.chunks < n {
		doc := Document{Chunks: make([]chunker.Chunk, min(5000, n-r.chunks))}
		for range doc.Chunks {
			v := make(Vector, dimensions)
			for d := range v {
				v[d] = int8(max(-127, min(127, rng.NormFloat64()*40)))
			}
			doc.Vectors = append(doc.Vectors, v)
		}
		section, _, err := encodeVectors([]Document{doc})
		if err != nil {
			b.Fatal(err)
		}
		equal.add(section, len(doc.Chunks), dimensions)
		g := group{data: section, firstChunk: r.chunks}
		g.chunks = len(doc.Chunks)
		g.sections[vectorSection].bytes = uint32(len(section))
		r.groups = append(r.groups, g)
		r.chunks += g.chunks
	}
	v, err := openVectors(r.groups, dimensions, equal.bytes())
	if err != nil {
		b.Fatal(err)
	}
	r.meta.Embedding, r.embedded = &Embedding{Dimensions: dimensions}, func() (*vectors, error) { return v, nil }
	return r
}

// BenchmarkNearest is one query on one core.
func BenchmarkNearest(b *testing.B) {
	for _, size := range []struct{ n, dimensions int }{{30_000, 256}, {100_000, 256}, {100_000, 384}} {
		r := table(b, size.n, size.dimensions)
		query := question(rand.New(rand.NewPCG(9, 9)), make(Vector, size.dimensions))
		for name, keep := range map[string]func(int) bool{"all": nil, "a tenth": func(c int) bool { return c%10 == 0 }} {
			b.Run(fmt.Sprintf("%dx%d/%s", size.n, size.dimensions, name), func(b *testing.B) {
				b.SetBytes(int64(size.n * size.dimensions))
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := r.Nearest(query, 100, keep); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// A kernel that meets the end of a file that was cut short while it is mapped
// panics as Go code does, and does not end the process.
func TestScanOfATruncatedFilePanics(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: a mapped file cannot be cut short on Windows")
	}
	dir := t.TempDir()
	m, _ := buildWith(t, dir, embedded(corpus(20), 256), testModel)
	r := reopen(t, dir)
	if err := os.Truncate(filepath.Join(dir, m.Index.Path), 100); err != nil {
		t.Fatal(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() == nil {
			t.Error("Nearest of a truncated file answers")
		}
	}()
	query := make([]float32, 256)
	query[0] = 1
	r.Nearest(query, 10, nil)
}
