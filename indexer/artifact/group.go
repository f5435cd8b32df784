package artifact

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// FormatVersion is the version of the data file. A reader refuses any other.
const FormatVersion = 1

// The sections of a group, in file order.
const (
	pageSection    = iota // page records
	chunkSection          // chunk records
	lengthSection         // u32 a chunk: its length in terms, weighted
	stringSection         // uvarint length and bytes, one after another; offset 0 is ""
	blockIndex            // u32 a block and one more: where each ends
	blockSection          // zstd frames, each with its own checksum
	commonSection         // columns of common terms, see common.go
	lexicalSection        // bluge segment
	sectionCount
)

// sectionNames are for error messages.
var sectionNames = [sectionCount]string{"pages", "chunks", "lengths", "strings", "block index", "blocks", "common terms", "full text"}

// blockBytes is how much text a compressed block holds: at 16 KiB zstd gets
// within a tenth of its best ratio, and neighbours fall in the same block.
const blockBytes = 16 << 10

// A page record: path, title, description, metadata, problems (u32 each,
// offsets into strings), first chunk, number of chunks (u32), size (u64),
// digest.
const pageRecord = 7*4 + 8 + sha256.Size

// A chunk record, u32 each: fragment, heading, breadcrumb (offsets into
// strings), page, level, start line, end line, block, offset in the block,
// bytes of markdown, bytes of text.
const chunkRecord = 11 * 4

// Group is a run of consecutive pages, encoded.
type Group struct {
	key      [sha256.Size]byte
	sections [sectionCount][]byte
	list     []Page
	pages    int
	chunks   int
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode makes the group of docs, one group of a plan in order. It may be
// called concurrently.
func Encode(docs []Document) (*Group, error) {
	sources := make([]Source, len(docs))
	for i, d := range docs {
		sources[i] = d.Source
	}
	g := &Group{key: key(sources), pages: len(docs)}
	strs := newStringTable()
	blocks := newBlockWriter()
	for i, d := range docs {
		page := g.sections[pageSection]
		for _, v := range []uint32{
			strs.add(d.Path), strs.add(d.Title), strs.add(d.Description),
			strs.add(encodePairs(d.Metadata)), strs.add(encodeProblems(d.Problems)),
			uint32(g.chunks), uint32(len(d.Chunks)),
		} {
			page = binary.LittleEndian.AppendUint32(page, v)
		}
		page = binary.LittleEndian.AppendUint64(page, uint64(d.Size))
		g.sections[pageSection] = append(page, d.Digest[:]...)
		for _, c := range d.Chunks {
			block, offset := blocks.add(c.Markdown, c.Text)
			chunk := g.sections[chunkSection]
			for _, v := range []uint32{
				strs.add(fragment(c.ID)), strs.add(c.Heading), strs.add(c.Breadcrumb),
				uint32(i), uint32(c.Level), uint32(c.StartLine), uint32(c.EndLine),
				block, offset, uint32(len(c.Markdown)), uint32(len(c.Text)),
			} {
				chunk = binary.LittleEndian.AppendUint32(chunk, v)
			}
			g.sections[chunkSection] = chunk
		}
		g.chunks += len(d.Chunks)
		g.list = append(g.list, Page{Source: d.Source, Title: d.Title, Description: d.Description,
			Metadata: d.Metadata, Problems: d.Problems, Chunks: len(d.Chunks)})
	}
	g.sections[stringSection] = strs.bytes
	g.sections[blockIndex], g.sections[blockSection] = blocks.close()
	seg, common, lengths, err := encodeSegment(docs)
	if err != nil {
		return nil, err
	}
	for _, n := range lengths {
		g.sections[lengthSection] = binary.LittleEndian.AppendUint32(g.sections[lengthSection], n)
	}
	g.sections[commonSection], g.sections[lexicalSection] = common, seg
	for i, s := range g.sections {
		if len(s) > maxSection {
			return nil, fmt.Errorf("section %s of the group at %s has %d bytes, more than %d", sectionNames[i], docs[0].Path, len(s), maxSection)
		}
	}
	return g, nil
}

// maxSection keeps every offset within 32 bits.
const maxSection = 1<<31 - 1

// stringTable holds each string once.
type stringTable struct {
	bytes []byte
	at    map[string]uint32
}

func newStringTable() *stringTable {
	return &stringTable{bytes: []byte{0}, at: map[string]uint32{"": 0}}
}

func (t *stringTable) add(s string) uint32 {
	if at, ok := t.at[s]; ok {
		return at
	}
	at := uint32(len(t.bytes))
	t.at[s] = at
	t.bytes = binary.AppendUvarint(t.bytes, uint64(len(s)))
	t.bytes = append(t.bytes, s...)
	return at
}

var errDamaged = errors.New("offset outside of its section")

// stringAt reads the string at an offset of a string section.
func stringAt(section []byte, at uint32) (string, error) {
	if int64(at) >= int64(len(section)) {
		return "", errDamaged
	}
	n, used := binary.Uvarint(section[at:])
	rest := section[at:]
	if used <= 0 || n > uint64(len(rest)-used) {
		return "", errDamaged
	}
	return string(rest[used : used+int(n)]), nil
}

// blockWriter fills blocks in order.
type blockWriter struct {
	encoder *zstd.Encoder
	open    []byte
	index   []byte
	blocks  []byte
	n       uint32
}

func newBlockWriter() *blockWriter {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true),
		zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithWindowSize(128<<10))
	if err != nil {
		panic(err) // the options are constants
	}
	return &blockWriter{encoder: encoder}
}

// add appends a chunk's markdown and text to the open block, which a new one
// replaces once it is full.
func (w *blockWriter) add(markdown, text string) (block, offset uint32) {
	if len(w.open) > 0 && len(w.open)+len(markdown)+len(text) > blockBytes {
		w.flush()
	}
	block, offset = w.n, uint32(len(w.open))
	w.open = append(append(w.open, markdown...), text...)
	return block, offset
}

func (w *blockWriter) flush() {
	w.blocks = w.encoder.EncodeAll(w.open, w.blocks)
	w.index = binary.LittleEndian.AppendUint32(w.index, uint32(len(w.blocks)))
	w.open = w.open[:0]
	w.n++
}

func (w *blockWriter) close() (index, blocks []byte) {
	if len(w.open) > 0 {
		w.flush()
	}
	w.encoder.Close()
	return w.index, w.blocks
}
