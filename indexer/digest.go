package indexer

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"hash"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/language"
)

// sample contains one example of everything that the chunker handles specially.
//
//go:embed sample.md
var sample string

// samples lists sample and the constructs that are valid only at the beginning of a
// file.
var samples = [][2]string{
	{"sample.md", sample},
	{"sample.mdx", sample},
	{"module.MDX", "import A from './a'\n\ntext\n"},
	{"rules.md", "---\nA note: prose between rules\n---\n"},
	{"readme.md", "<h1 align=center>T</h1>\n\ntext\n"},
	{"toml.md", "+++\ntitle = 'T'\n+++\ntext\n"},
}

// cutter returns a digest of the way this binary splits pages. If a new version of
// the chunker splits a sample differently, every file in an older artifact is
// treated as changed.
var cutter = sync.OnceValue(func() [sha256.Size]byte {
	h := sha256.New()
	for _, by := range []chunker.By{chunker.H1, chunker.H2, chunker.H3, chunker.File} {
		for _, o := range []chunker.Options{{By: by}, {By: by, MaxChars: 300, MinChars: 100}} {
			for _, s := range samples {
				// A Page contains only strings and numbers, so marshalling cannot fail.
				text, _ := json.Marshal(chunker.Split(s[0], []byte(s[1]), o))
				h.Write(text)
			}
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
})

// digest covers all inputs of a file's Document except its path. Its language is not
// looked for, because that would take longer than everything else in a build without
// changes: the language depends only on what the digest covers.
func digest(h hash.Hash, file string, s settings, phrases map[string][]string, src []byte) [sha256.Size]byte {
	h.Reset()
	for _, version := range [][sha256.Size]byte{cutter(), speech()} {
		h.Write(version[:])
	}
	put := func(text string) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(text)))
		h.Write(n[:])
		h.Write([]byte(text))
	}
	put(path.Ext(file))
	claim, _ := language.OfPath(file)
	put(string(claim))
	put(string(s.strategy.By))
	for _, n := range []int{s.strategy.MaxChars, s.strategy.MinChars, len(s.metadata)} {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
	for _, key := range slices.Sorted(maps.Keys(s.metadata)) {
		put(key)
		put(s.metadata[key])
	}
	for _, id := range slices.Sorted(maps.Keys(phrases)) {
		put(id)
		for _, phrase := range phrases[id] {
			put(phrase)
		}
	}
	h.Write(src)
	return [sha256.Size]byte(h.Sum(nil))
}
