package artifact

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// FormatVersion is the version of the data file format. Readers reject all other
// versions.
const FormatVersion = 3

// LanguagesVersion is the format version in metadata.json if some pages are not in
// English. The data file has the same format either way. The version is different
// because older binaries would stem every word as English, and would not find words
// in other languages.
const LanguagesVersion = 4

// The sections of a group, in file order.
const (
	pageSection    = iota // page records
	chunkSection          // chunk records
	lengthSection         // u32 per chunk: its weighted length in terms
	stringSection         // each string as a uvarint length and its bytes; offset 0 is ""
	blockIndex            // u32 per block: the offset at which the block ends
	blockSection          // zstd frames of Markdown, each with its own checksum
	textSection           // packed plain text of the chunks, see texts.go
	postingSection        // positions of terms, see postings.go
	lexicalSection        // bluge segment
	vectorSection         // see vector.go
	sectionCount
)

// sectionNames holds the section names for error messages.
var sectionNames = [sectionCount]string{"pages", "chunks", "lengths", "strings", "block index", "blocks", "texts", "postings", "full text", "vectors"}

// Group is an encoded run of consecutive pages.
type Group struct {
	sections   [sectionCount][]byte
	list       []Page
	names      []ChunkName
	sources    []Source
	chunks     int
	dimensions int // dimensions of the vectors, or 0 if there are none
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode encodes docs as one group. docs are the documents of one group in a plan, in
// order. Encode may be called concurrently.
func Encode(docs []Document) (*Group, error) {
	g := new(Group)
	if err := g.encode(docs); err != nil {
		return nil, err
	}
	for i, s := range g.sections {
		if len(s) > maxSection {
			return nil, fmt.Errorf("section %s of the group at %s has %d bytes; the maximum is %d", sectionNames[i], docs[0].Path, len(s), maxSection)
		}
	}
	return g, nil
}

func (g *Group) encode(docs []Document) error {
	strs := newStringTable()
	blocks := newBlockWriter()
	for i, d := range docs {
		g.sections[pageSection] = appendPage(g.sections[pageSection], strs, d, g.chunks)
		for _, c := range d.Chunks {
			g.names = append(g.names, ChunkName{c.ID, c.Heading})
			block, offset := blocks.add(c.Markdown)
			text := uint32(len(g.sections[textSection]))
			g.sections[textSection] = appendText(g.sections[textSection], c.Text)
			g.sections[chunkSection] = appendChunk(g.sections[chunkSection], strs, c, i, block, offset, text)
		}
		g.chunks += len(d.Chunks)
		g.sources = append(g.sources, d.Source)
		g.list = append(g.list, Page{Source: d.Source, Title: d.Title, Description: d.Description,
			Language: d.Language, Metadata: d.Metadata, Problems: d.Problems, Chunks: len(d.Chunks)})
	}
	g.sections[stringSection] = strs.bytes
	g.sections[blockIndex], g.sections[blockSection] = blocks.close()
	seg, postings, lengths, err := encodeSegment(docs)
	if err != nil {
		return err
	}
	for _, n := range lengths {
		g.sections[lengthSection] = binary.LittleEndian.AppendUint32(g.sections[lengthSection], n)
	}
	g.sections[postingSection], g.sections[lexicalSection] = postings, seg
	g.sections[vectorSection], g.dimensions, err = encodeVectors(docs)
	return err
}

// maxSection is the maximum size of a section in bytes. It ensures that every offset
// fits in 32 bits.
const maxSection = 1<<31 - 1
