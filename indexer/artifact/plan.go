package artifact

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/deskhand/deskhand/chunker"
)

// Sizes of groups in bytes. A corpus has about 16 groups, so that rebuilding after
// a change to one file takes about a sixteenth of a full build. A group has at
// least minGroupBytes of Markdown on average, because each group needs a separate
// dictionary.
const (
	groupsAimedAt = 16
	minGroupBytes = 1 << 20
	// maxGroupBytes limits the memory of a build, which is about 25 times this size
	// for each group in progress. If a corpus is too large for 16 groups of this size,
	// it has more groups.
	maxGroupBytes = 8 << 20
)

// Plan splits sources, sorted by path, into groups of consecutive files. Whether a file
// starts a group depends only on its path, its size, and the size of the corpus rounded
// to a power of two. A change to one file therefore does not move the borders between
// other groups.
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

// begins reports whether s begins a group. The choice is pseudorandom: it depends on
// the digest of the path, and its probability is proportional to the size of s.
func begins(s Source, aim int64) bool {
	sum := sha256.Sum256([]byte(s.Path))
	return binary.LittleEndian.Uint32(sum[:])%uint32(aim>>6) < uint32(min(s.Size, aim))>>6
}

// encoding returns a digest of the way this program encodes a sample. A group is not
// reused if it was written by a program with a different digest.
var encoding = sync.OnceValue(func() []byte {
	const sample = "# Sample `page_name`\n\nThe HTTPServer retries 日本語 the requests, é.g. with the --max-wait flag.\n"
	page := chunker.Split("a/sample.md", []byte(sample+"\n## Second\n\nthe the the\n"), chunker.Options{})
	h := sha256.New()
	// The page appears twice, so that some terms are common.
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

// key returns a digest of everything that determines a group's bytes. vectors
// identifies the embedder.
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
