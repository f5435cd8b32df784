package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"sort"
	"sync"

	"github.com/blevesearch/mmap-go"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/language"
)

// Reader is an open artifact, mapped read-only. It may be used concurrently, and
// several processes may open the same artifact. Pages and chunks are numbered from 0
// in corpus order; these numbers are called ordinals.
type Reader struct {
	dir     string
	meta    Metadata
	digest  [sha256.Size]byte // digest of metadata.json
	file    *pooledFile       // nil if the data is in memory
	at      io.ReaderAt       // the file or the memory
	data    mmap.MMap
	groups  []group
	pages   int
	chunks  int
	lexical *lexical
	weights span
	blocks  *blockReader
	// later is nil if all sections were compared with their checksums when the
	// artifact was opened.
	later     *laterChecks
	separated sync.Once // see separateTexts
	// embedded opens the vectors once.
	embedded func() (*vectors, error)
}

// group is a directory entry with its bytes and its position in the corpus.
type group struct {
	entry
	data       []byte
	firstPage  int
	firstChunk int
	unchecked  *groupChecks // nil if all sections were checked when the artifact was opened
}

// bytes returns a section. If it does not match its checksum, bytes panics with that
// error, as reading a truncated file does.
func (g *group) bytes(section int) []byte {
	if g.unchecked != nil {
		g.unchecked.check(g, section)
	}
	return g.uncheckedBytes(section)
}

func (g *group) uncheckedBytes(section int) []byte {
	s := g.sections[section]
	if section == vectorSection && s.bytes > 0 {
		zeros := padding(s.offset)
		s.offset, s.bytes = s.offset+uint64(zeros), s.bytes-uint32(zeros)
	}
	return g.data[s.offset : s.offset+uint64(s.bytes)]
}

// verify compares the sections with their checksums.
func (g *group) verify() error {
	for i, s := range g.sections {
		if crc32.Checksum(g.data[s.offset:][:s.bytes], castagnoli) != s.crc {
			return fmt.Errorf("section %s does not match its checksum", sectionNames[i])
		}
	}
	return nil
}

// Page is one file of the corpus.
type Page struct {
	Source
	Title, Description string
	Language           language.Code
	Metadata           map[string]string
	Problems           []chunker.Problem
	// First is the ordinal of the page's first chunk. Chunks is the number of its
	// chunks.
	First, Chunks int
}

// Chunk is a chunk's record. It does not include the text.
type Chunk struct {
	ID                  string
	Heading, Breadcrumb string
	Level               int
	StartLine, EndLine  int
	// Page is the ordinal of the chunk's page.
	Page int
}

// openTries is the maximum number of times that Open tries. It retries if a build
// replaces the artifact between reading the metadata and opening the data file.
const openTries = 5

// Open opens the artifact in dir. Expected failures are reported as faults with the
// code "no_artifact", "artifact_damaged", "artifact_foreign", "artifact_too_new" or
// "artifact_too_old". Open compares everything with its checksums except text and
// dictionaries of words. A block of text is checked when it is read, and a dictionary
// when a query first has an unknown word. The method Verify checks every byte.
func Open(dir string) (*Reader, error) {
	var err error
	for range openTries {
		var r *Reader
		if r, err = open(dir); err == nil {
			return r, nil
		}
		if !errors.Is(err, errReplaced) {
			return nil, err
		}
	}
	return nil, damaged(dir, "its data file is missing")
}

var errReplaced = errors.New("it was replaced while it was opened")

func open(dir string) (*Reader, error) {
	d, err := Describe(dir)
	if err != nil {
		return nil, err
	}
	return d.open(false)
}

// Description is the metadata of an artifact that is not open. It cannot be changed.
type Description struct {
	dir    string
	meta   Metadata
	digest [sha256.Size]byte // of metadata.json
	file   os.FileInfo       // of metadata.json
}

// Describe reads and checks the metadata of the artifact in dir. It returns the errors of
// Open that concern metadata.
func Describe(dir string) (*Description, error) {
	d := &Description{dir: dir}
	err := d.read()
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Metadata returns the metadata. The caller must not modify it.
func (d *Description) Metadata() *Metadata { return &d.meta }

// Open opens the described artifact without reading all of it: a section is compared
// with its checksum when it is first read. Methods of the Reader panic if it does not match,
// as they do if the file is truncated. If the artifact was replaced in the meantime, Open
// opens the new one like the function [Open].
func (d *Description) Open() (*Reader, error) {
	r, err := d.open(true)
	if errors.Is(err, errReplaced) {
		return Open(d.dir)
	}
	return r, err
}

// Describes reports whether r is open on the described artifact, and its data file is
// still in place.
func (d *Description) Describes(r *Reader) bool {
	if r.file == nil || r.digest != d.digest {
		return false
	}
	info, err := os.Stat(filepath.Join(d.dir, d.meta.Index.Path))
	return err == nil && os.SameFile(info, r.file.info) && info.ModTime().Equal(r.file.info.ModTime()) && info.Size() == r.file.info.Size()
}

func (d *Description) open(later bool) (*Reader, error) {
	dir := d.dir
	file, err := os.Open(filepath.Join(dir, d.meta.Index.Path))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errReplaced
	}
	if err != nil {
		return nil, fmt.Errorf("open data file: %w", err)
	}
	r := &Reader{dir: dir, meta: d.meta, digest: d.digest, blocks: newBlockReader()}
	r.later = &laterChecks{dir: dir, whole: later}
	if err := r.load(file); err != nil {
		r.Close()
		return nil, damaged(dir, err.Error())
	}
	return r, nil
}

// contain converts a panic to an error in *err. Panics can happen because bluge checks
// little of its input, and because a file may be truncated while it is mapped.
func contain(err *error) func() {
	was := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(was)
		if p := recover(); p != nil {
			*err = fmt.Errorf("reading it failed: %v", p)
		}
	}
}

// load maps the file, which then belongs to r, and reads it.
func (r *Reader) load(file *os.File) (err error) {
	defer contain(&err)()
	info, err := r.mapFile(file)
	if err != nil {
		file.Close()
		return err
	}
	r.file = newPooledFile(file, info, r.data)
	r.at = r.file
	return r.read()
}

func (r *Reader) mapFile(file *os.File) (info os.FileInfo, err error) {
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	if info.Size() != r.meta.Index.Bytes {
		return nil, fmt.Errorf("%s has %d bytes, but metadata.json says %d", r.meta.Index.Path, info.Size(), r.meta.Index.Bytes)
	}
	if info.Size() < int64(headerSize+footerSize) {
		return nil, fmt.Errorf("%s has only %d bytes, which is too short for a header", r.meta.Index.Path, info.Size())
	}
	r.data, err = mmap.Map(file, mmap.RDONLY, 0)
	return info, err
}

// read parses the data file and opens its groups.
func (r *Reader) read() error {
	layout, err := readLayout(r.at, int64(len(r.data)))
	switch {
	case err != nil:
	case !r.afterwards():
		err = layout.checkSections(r.at, r.later == nil)
	default:
		err = layout.weights.check(r.at, make([]byte, min(checkBuffer, int(layout.weights.bytes))))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.meta.Index.Path, err)
	}
	if e := r.meta.Embedding; e == nil && layout.dimensions > 0 || e != nil && e.Dimensions != layout.dimensions {
		return fmt.Errorf("the vectors in %s have %d dimensions, which does not match the embedding in metadata.json", r.meta.Index.Path, layout.dimensions)
	}
	r.lexical = newLexical(&r.groups)
	r.groups = make([]group, len(layout.groups))
	for i, e := range layout.groups {
		r.groups[i] = group{entry: e, data: r.data, firstPage: r.pages, firstChunk: r.chunks}
		g := &r.groups[i]
		if r.later != nil {
			g.unchecked = newChecks(r.later, r.at)
		}
		if e.chunks > 0 {
			if err := r.lexical.open(g); err != nil {
				return err
			}
		}
		r.pages += e.pages
		r.chunks += e.chunks
	}
	r.weights = layout.weights
	r.embedded = sync.OnceValues(func() (*vectors, error) { return r.openVectors(layout) })
	if !r.afterwards() {
		r.lexical.measured()
		_, err = r.embedded()
	}
	return err
}

// afterwards reports whether all sections are compared with their checksums when they are
// first read.
func (r *Reader) afterwards() bool { return r.later != nil && r.later.whole }

// openVectors opens the vectors, and compares them with their checksums if that was left
// for later.
func (r *Reader) openVectors(layout *layout) (*vectors, error) {
	twins := r.data[layout.twins.offset:][:layout.twins.bytes]
	if r.afterwards() && crc32.Checksum(twins, castagnoli) != layout.twins.crc {
		return nil, errors.New("duplicate vectors: it does not match its checksum")
	}
	return openVectors(r.groups, layout.dimensions, twins)
}

// OpenVectors opens the vectors, if there are any. Otherwise, the first search by meaning
// does.
func (r *Reader) OpenVectors() error {
	_, err := r.embedded()
	return err
}

// vectors returns the vectors. It panics if they are damaged, like [group.bytes].
func (r *Reader) vectors() *vectors {
	v, err := r.embedded()
	if err != nil {
		panic(Damage{damaged(r.dir, err.Error())})
	}
	return v
}

// Metadata returns the artifact's metadata. The caller must not modify it.
func (r *Reader) Metadata() *Metadata { return &r.meta }

// Same reports whether other is open on the same metadata and the same data file.
// Comparing bytes is not enough, because a damaged file may have been rebuilt with
// the same content.
func (r *Reader) Same(other *Reader) bool {
	if r.file == nil || other.file == nil {
		return r == other
	}
	return r.digest == other.digest && os.SameFile(r.file.info, other.file.info)
}

// Pages returns the number of pages.
func (r *Reader) Pages() int { return r.pages }

// Len returns the number of chunks.
func (r *Reader) Len() int { return r.chunks }

// groupOf returns the group that contains a chunk.
func (r *Reader) groupOf(chunk int) *group {
	i := sort.Search(len(r.groups), func(i int) bool { return r.groups[i].firstChunk > chunk })
	return &r.groups[i-1]
}

// PageOf returns the ordinal of a chunk's page. The chunk must be in range.
func (r *Reader) PageOf(chunk int) int {
	g := r.groupOf(chunk)
	return g.firstPage + int(g.chunkField(chunk-g.firstChunk, chunkPage))
}

// Page returns a page by ordinal.
func (r *Reader) Page(page int) (Page, error) {
	i := sort.Search(len(r.groups), func(i int) bool { return r.groups[i].firstPage > page })
	if page < 0 || page >= r.pages {
		return Page{}, fmt.Errorf("page %d of %d", page, r.pages)
	}
	g := &r.groups[i-1]
	p, err := g.page(page - g.firstPage)
	if err != nil {
		return p, r.damagedBy(err)
	}
	return p, nil
}

// PageMetadata returns the distinct sets of facet values, and for each page the index
// of its set.
func (r *Reader) PageMetadata() (distinct []map[string]string, byPage []int32, err error) {
	seen := map[string]int32{}
	byPage = make([]int32, 0, r.pages)
	for gi := range r.groups {
		g := &r.groups[gi]
		for i := range g.pages {
			pairs, err := g.string(g.pageField(i, pageMetadata))
			if err != nil {
				return nil, nil, r.damagedBy(err)
			}
			n, ok := seen[pairs]
			if !ok {
				m, _, err := decodePairs(pairs)
				if err != nil {
					return nil, nil, r.damagedBy(err)
				}
				n = int32(len(distinct))
				seen[pairs], distinct = n, append(distinct, m)
			}
			byPage = append(byPage, n)
		}
	}
	return distinct, byPage, nil
}

// Languages returns the language of each chunk, by ordinal, or nil if all chunks are in
// English.
func (r *Reader) Languages() ([]language.Code, error) {
	if len(r.meta.Languages) == 0 {
		return nil, nil
	}
	all := make([]language.Code, 0, r.chunks)
	seen := map[string]language.Code{}
	for gi := range r.groups {
		g := &r.groups[gi]
		for i := range g.pages {
			pairs, err := g.string(g.pageField(i, pageMetadata))
			if err != nil {
				return nil, r.damagedBy(err)
			}
			c, ok := seen[pairs]
			if !ok {
				if _, c, err = decodePairs(pairs); err != nil {
					return nil, r.damagedBy(err)
				}
				seen[pairs] = c
			}
			for range min(int(g.pageField(i, pageChunks)), r.chunks-len(all)) {
				all = append(all, c)
			}
		}
	}
	if len(all) < r.chunks {
		return nil, r.damagedBy(errDamaged)
	}
	return all, nil
}

// PagePath returns the path of a page. page is the page's ordinal and must be in
// range.
func (r *Reader) PagePath(page int) (string, error) {
	i := sort.Search(len(r.groups), func(i int) bool { return r.groups[i].firstPage > page })
	g := &r.groups[i-1]
	path, err := g.string(g.pageField(page-g.firstPage, pagePath))
	if err != nil {
		return "", r.damagedBy(err)
	}
	return path, nil
}

// FindPage returns the page at path. ok is false if there is none.
func (r *Reader) FindPage(path string) (p Page, ok bool, err error) {
	i := sort.Search(r.pages, func(i int) bool {
		name, e := r.PagePath(i)
		if e != nil {
			err = e
		}
		return name >= path
	})
	if err != nil || i == r.pages {
		return p, false, err
	}
	p, err = r.Page(i)
	return p, err == nil && p.Path == path, err
}

// Chunk returns a chunk's record by ordinal.
func (r *Reader) Chunk(chunk int) (Chunk, error) {
	if chunk < 0 || chunk >= r.chunks {
		return Chunk{}, fmt.Errorf("chunk %d of %d", chunk, r.chunks)
	}
	path, fragment, err := r.Place(chunk)
	if err != nil {
		return Chunk{}, err
	}
	g := r.groupOf(chunk)
	i := chunk - g.firstChunk
	c := Chunk{
		ID: chunker.ID(string(path), string(fragment)), Page: r.PageOf(chunk),
		Level: int(g.chunkField(i, chunkLevel)), StartLine: int(g.chunkField(i, chunkStart)), EndLine: int(g.chunkField(i, chunkEnd)),
	}
	if c.Heading, err = g.string(g.chunkField(i, chunkHeading)); err == nil {
		c.Breadcrumb, err = g.string(g.chunkField(i, chunkBreadcrumb))
	}
	if err != nil {
		return c, r.damagedBy(err)
	}
	return c, nil
}

// Heading returns a chunk's heading. The chunk must be in range.
func (r *Reader) Heading(chunk int) (string, error) {
	g := r.groupOf(chunk)
	heading, err := g.string(g.chunkField(chunk-g.firstChunk, chunkHeading))
	if err != nil {
		return "", r.damagedBy(err)
	}
	return heading, nil
}

// Names are what a chunk is called.
type Names struct {
	// Heading, Title (of the page) and Breadcrumb point into the mapped file, like the
	// results of Place.
	Heading, Title, Breadcrumb []byte
	Level                      int
}

// Names returns the names of a chunk. The chunk must be in range.
func (r *Reader) Names(chunk int) (n Names, err error) {
	g := r.groupOf(chunk)
	i := chunk - g.firstChunk
	page := int(g.chunkField(i, chunkPage))
	if page >= g.pages {
		return n, r.damagedBy(errDamaged)
	}
	strs := g.bytes(stringSection)
	n.Level = int(g.chunkField(i, chunkLevel))
	if n.Heading, err = bytesAt(strs, g.chunkField(i, chunkHeading)); err == nil {
		n.Breadcrumb, err = bytesAt(strs, g.chunkField(i, chunkBreadcrumb))
	}
	if err == nil {
		n.Title, err = bytesAt(strs, g.pageField(page, pageTitle))
	}
	if err != nil {
		return n, r.damagedBy(err)
	}
	return n, nil
}

// Place returns the path of a chunk's page and the chunk's fragment. The chunk must be
// in range. Both slices point into the mapped file. Do not modify them, and do not use
// them after Close.
func (r *Reader) Place(chunk int) (path, fragment []byte, err error) {
	g := r.groupOf(chunk)
	i := chunk - g.firstChunk
	page := int(g.chunkField(i, chunkPage))
	if page >= g.pages {
		return nil, nil, r.damagedBy(errDamaged)
	}
	strs := g.bytes(stringSection)
	if path, err = bytesAt(strs, g.pageField(page, pagePath)); err == nil {
		fragment, err = bytesAt(strs, g.chunkField(i, chunkFragment))
	}
	if err != nil {
		return nil, nil, r.damagedBy(err)
	}
	return path, fragment, nil
}

// Find returns the ordinal of the chunk of page p that has the given fragment. If
// there is none, ok is false.
func (r *Reader) Find(p Page, fragment string) (chunk int, ok bool, err error) {
	for i := p.First; i < p.First+p.Chunks; i++ {
		g := r.groupOf(i)
		f, err := g.string(g.chunkField(i-g.firstChunk, chunkFragment))
		if err != nil {
			return 0, false, r.damagedBy(err)
		}
		if f == fragment {
			return i, true, nil
		}
	}
	return 0, false, nil
}

// Markdown returns a chunk's Markdown source.
func (r *Reader) Markdown(chunk int) (markdown string, err error) {
	if chunk < 0 || chunk >= r.chunks {
		return "", fmt.Errorf("chunk %d of %d", chunk, r.chunks)
	}
	g := r.groupOf(chunk)
	i := chunk - g.firstChunk
	from, size := uint64(g.chunkField(i, chunkOffset)), uint64(g.chunkField(i, chunkMarkdown))
	if size == 0 {
		return "", nil // an empty chunk may be in no block
	}
	err = r.blocks.read(g, g.chunkField(i, chunkBlock), func(block []byte) error {
		if from+size > uint64(len(block)) {
			return errDamaged
		}
		markdown = string(block[from : from+size])
		return nil
	})
	if err != nil {
		return "", r.damagedBy(err)
	}
	return markdown, nil
}

// Text returns a chunk's plain text. If the buffer into is large enough, its memory is
// used for the text.
func (r *Reader) Text(into []byte, chunk int) ([]byte, error) {
	packed, err := r.AppendPacked(nil, chunk)
	if err != nil {
		return nil, err
	}
	return r.UnpackText(into, packed)
}

// AppendPacked appends a chunk's plain text to the buffer into. The text is in the
// same packed form as in the file. Equal bytes mean equal text. The method UnpackText
// unpacks it.
func (r *Reader) AppendPacked(into []byte, chunk int) ([]byte, error) {
	if chunk < 0 || chunk >= r.chunks {
		return into, fmt.Errorf("chunk %d of %d", chunk, r.chunks)
	}
	g := r.groupOf(chunk)
	packed, err := g.appendPacked(into, r.at, chunk-g.firstChunk)
	if err != nil {
		return into, r.damagedBy(err)
	}
	return packed, nil
}

// UnpackText returns the plain text of packed, the bytes that AppendPacked appended.
// If the buffer into is large enough, its memory is used for the text.
func (r *Reader) UnpackText(into, packed []byte) ([]byte, error) {
	text, err := unpackText(into, packed)
	if err != nil {
		return into, r.damagedBy(err)
	}
	return text, nil
}

// Verify reads every byte of the data file and compares its digest with the one in the
// metadata.
func (r *Reader) Verify() error {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(r.at, 0, r.meta.Index.Bytes)); err != nil {
		return fmt.Errorf("read data file: %w", err)
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != r.meta.Index.SHA256 {
		return damaged(r.dir, fmt.Sprintf("%s has digest %.16s..., but metadata.json says %.16s...", r.meta.Index.Path, sum, r.meta.Index.SHA256))
	}
	return r.meta.checkDescription(r.dir)
}

// Close closes the artifact. No other method may be running, and none may be
// called later.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	r.file.close()
	return r.data.Unmap()
}
