package artifact

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/deskhand/deskhand/chunker"
)

// The fields of a page record are u32 each. A field that holds text is an offset into
// the string section. After the fields come the file's size, a u64, and the file's
// digest.
const (
	pagePath = iota
	pageTitle
	pageDescription
	pageMetadata // see encodePairs
	pageProblems // see encodeProblems
	pageFirst    // first chunk, numbered within the group
	pageChunks   // number of chunks
	pageFields
)

const pageRecord = 4*pageFields + 8 + sha256.Size

// The fields of a chunk record are u32 each. A field that holds text is an offset into
// the string section.
const (
	chunkFragment = iota
	chunkHeading
	chunkBreadcrumb
	chunkPage // numbered within the group
	chunkLevel
	chunkStart
	chunkEnd
	chunkBlock
	chunkOffset   // offset of its Markdown in the block
	chunkMarkdown // length of its Markdown in bytes
	chunkText     // start of its text in the text section; the text ends where the next chunk's text starts
	chunkFields
)

const chunkRecord = 4 * chunkFields

func appendPage(b []byte, strs *stringTable, d Document, firstChunk int) []byte {
	b = appendFields(b, []uint32{
		pagePath: strs.add(d.Path), pageTitle: strs.add(d.Title), pageDescription: strs.add(d.Description),
		pageMetadata: strs.add(encodePairs(d.Metadata, d.Language)), pageProblems: strs.add(encodeProblems(d.Problems)),
		pageFirst: uint32(firstChunk), pageChunks: uint32(len(d.Chunks)),
	})
	b = binary.LittleEndian.AppendUint64(b, uint64(d.Size))
	return append(b, d.Digest[:]...)
}

func appendChunk(b []byte, strs *stringTable, c chunker.Chunk, page int, block, offset, text uint32) []byte {
	return appendFields(b, []uint32{
		chunkFragment: strs.add(fragment(c.ID)), chunkHeading: strs.add(c.Heading), chunkBreadcrumb: strs.add(c.Breadcrumb),
		chunkPage: uint32(page), chunkLevel: uint32(c.Level), chunkStart: uint32(c.StartLine), chunkEnd: uint32(c.EndLine),
		chunkBlock: block, chunkOffset: offset, chunkMarkdown: uint32(len(c.Markdown)), chunkText: text,
	})
}

func appendFields(b []byte, fields []uint32) []byte {
	for _, v := range fields {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// chunkField returns a field of a chunk record. The chunk is numbered within the group.
func (g *group) chunkField(chunk, field int) uint32 {
	return binary.LittleEndian.Uint32(g.bytes(chunkSection)[chunk*chunkRecord+4*field:])
}

// pageField returns a field of a page record. The page is numbered within the group.
func (g *group) pageField(page, field int) uint32 {
	return binary.LittleEndian.Uint32(g.bytes(pageSection)[page*pageRecord+4*field:])
}

func (g *group) string(at uint32) (string, error) {
	return stringAt(g.bytes(stringSection), at)
}

// page reads page record i, numbered within the group.
func (g *group) page(i int) (Page, error) {
	var p Page
	var pairs, problems string
	for field, to := range [...]*string{
		pagePath: &p.Path, pageTitle: &p.Title, pageDescription: &p.Description, pageMetadata: &pairs, pageProblems: &problems,
	} {
		var err error
		if *to, err = g.string(g.pageField(i, field)); err != nil {
			return p, err
		}
	}
	first, n := int(g.pageField(i, pageFirst)), int(g.pageField(i, pageChunks))
	if first+n > g.chunks {
		return p, errDamaged
	}
	p.First, p.Chunks = g.firstChunk+first, n
	record := g.bytes(pageSection)[i*pageRecord+4*pageFields:]
	p.Size = int64(binary.LittleEndian.Uint64(record))
	p.Digest = [sha256.Size]byte(record[8:])
	var err error
	if p.Metadata, p.Language, err = decodePairs(pairs); err != nil {
		return p, err
	}
	p.Problems, err = decodeProblems(problems)
	return p, err
}

// allNames returns the names of the group's chunks. pages are the group's pages.
func (g *group) allNames(pages []Page) ([]ChunkName, error) {
	names := make([]ChunkName, g.chunks)
	for i := range names {
		fragment, err := g.string(g.chunkField(i, chunkFragment))
		if err != nil {
			return nil, err
		}
		heading, err := g.string(g.chunkField(i, chunkHeading))
		if err != nil {
			return nil, err
		}
		page := int(g.chunkField(i, chunkPage))
		if page >= len(pages) {
			return nil, errDamaged
		}
		names[i] = ChunkName{chunker.ID(pages[page].Path, fragment), strings.Clone(heading)} // cloned, because names are used after the file is closed
	}
	return names, nil
}

func (g *group) allPages() ([]Page, error) {
	pages := make([]Page, g.pages)
	for i := range pages {
		var err error
		if pages[i], err = g.page(i); err != nil {
			return nil, err
		}
	}
	return pages, nil
}
