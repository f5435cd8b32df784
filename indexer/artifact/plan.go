package artifact

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/deskhand/deskhand/chunker"
)

// Groups are cut so that a corpus has some 16 of them and a change to one file
// costs about a sixteenth of a build, but no group is made for less than
// minGroupBytes of markdown: each has a dictionary of its own.
const (
	groupsAimedAt = 16
	minGroupBytes = 1 << 20
	// maxGroupBytes bounds the memory of a build, some 25 times that for each
	// group at work; a larger corpus has more groups.
	maxGroupBytes = 8 << 20
)

// Plan cuts sources, sorted by path, into groups of consecutive files. Whether
// a file starts a group depends only on its own path and size and on the
// corpus's size in powers of two, so a change to one file moves no other
// border.
func Plan(sources []Source) [][]Source {
	var total int64
	for _, s := range sources {
		total += s.Size
	}
	aim := int64(minGroupBytes)
	for aim < maxGroupBytes && aim*groupsAimedAt < total {
		aim *= 2
	}
	var groups [][]Source
	start := 0
	var size int64
	for i, s := range sources {
		if i > start && (begins(s, aim) || size >= 2*aim) {
			groups = append(groups, sources[start:i])
			start, size = i, 0
		}
		size += s.Size
	}
	if start < len(sources) {
		groups = append(groups, sources[start:])
	}
	return groups
}

// begins says whether s begins a group: by chance, in proportion to its size.
func begins(s Source, aim int64) bool {
	sum := sha256.Sum256([]byte(s.Path))
	return binary.LittleEndian.Uint32(sum[:])%uint32(aim>>6) < uint32(min(s.Size, aim))>>6
}

// encoding is a digest of how this program encodes, taken from a sample: a group
// that another one would encode otherwise is not reused.
var encoding = sync.OnceValue(func() []byte {
	const sample = "# Sample `page_name`\n\nThe HTTPServer retries 日本語 the requests, é.g. with the --max-wait flag.\n"
	page := chunker.Split("a/sample.md", []byte(sample+"\n## Second\n\nthe the the\n"), chunker.Options{})
	h := sha256.New()
	// The same page twice, so that some terms are common.
	docs := []Document{{Title: page.Title, Chunks: page.Chunks}, {Title: page.Title, Chunks: page.Chunks}}
	for i := range docs {
		for j := range docs[i].Chunks {
			docs[i].Vectors = append(docs[i].Vectors, Vector{int8(i - 3), int8(5 * j), 127})
		}
	}
	var g Group
	if err := g.encode(docs); err != nil {
		panic(err) // the sample is a constant
	}
	for _, s := range g.sections {
		h.Write(s)
	}
	return h.Sum(nil)
})

// key names a group by all that decides its bytes; vectors says what makes its
// vectors.
func key(group []Source, vectors string) [sha256.Size]byte {
	h := sha256.New()
	var n [8]byte
	put := func(v int) {
		binary.LittleEndian.PutUint64(n[:], uint64(v))
		h.Write(n[:])
	}
	put(FormatVersion)
	h.Write(encoding())
	put(len(vectors))
	h.Write([]byte(vectors))
	for _, s := range group {
		put(len(s.Path))
		h.Write([]byte(s.Path))
		put(int(s.Size))
		h.Write(s.Digest[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}
