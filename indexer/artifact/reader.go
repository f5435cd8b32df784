package artifact

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/blevesearch/mmap-go"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Reader is one open artifact, mapped read-only. It may be used concurrently;
// many processes may open the same artifact. Ordinals of pages and chunks count
// from 0 in corpus order.
type Reader struct {
	dir     string
	meta    Metadata
	digest  [sha256.Size]byte // of metadata.json
	file    *os.File
	data    mmap.MMap
	groups  []group
	pages   int
	chunks  int
	lexical *lexical
	blocks  *blockCache
}

// group is an entry with its bytes and its place in the corpus.
type group struct {
	entry
	data       []byte
	firstPage  int
	firstChunk int
}

func (g *group) bytes(section int) []byte {
	s := g.sections[section]
	return g.data[s.offset : s.offset+uint64(s.bytes)]
}

// verify checks the sections against their checksums.
func (g *group) verify() error {
	for i := range g.sections {
		if crc32.Checksum(g.bytes(i), castagnoli) != g.sections[i].crc {
			return fmt.Errorf("section %s does not match its checksum", sectionNames[i])
		}
	}
	return nil
}

// Page is one file of the corpus.
type Page struct {
	Source
	Title, Description string
	Metadata           map[string]string
	Problems           []chunker.Problem
	// First is the ordinal of its first chunk, Chunks how many it has.
	First, Chunks int
}

// Chunk is the record of one chunk; its text is read apart.
type Chunk struct {
	ID                  string
	Heading, Breadcrumb string
	Level               int
	StartLine, EndLine  int
	// Page is the ordinal of its page.
	Page int
}

// openTries is how often Open begins again when a build replaces the artifact
// between its reading of the metadata and of the data file.
const openTries = 5

// maxMetadataBytes bounds what Open reads into memory.
const maxMetadataBytes = 64 << 20

// Open opens the artifact in dir. The expected failures are faults: code
// "no_artifact", "artifact_damaged", "artifact_foreign" or "artifact_too_new".
// Open checks the structure; Verify checks every byte.
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

var errReplaced = errors.New("replaced while opening")

func open(dir string) (*Reader, error) {
	m, digest, err := readMetadata(dir)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(dir, m.Index.Path))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errReplaced
	}
	if err != nil {
		return nil, fmt.Errorf("open data file: %w", err)
	}
	r := &Reader{dir: dir, meta: m, digest: digest, file: file, blocks: newBlockCache()}
	if err := r.load(); err != nil {
		r.Close()
		return nil, damaged(dir, err.Error())
	}
	return r, nil
}

func (r *Reader) load() error {
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != r.meta.Index.Bytes {
		return fmt.Errorf("%s has %d bytes where metadata.json says %d", r.meta.Index.Path, info.Size(), r.meta.Index.Bytes)
	}
	if info.Size() < int64(headerSize+footerSize) {
		return fmt.Errorf("%s has %d bytes, too few for a header", r.meta.Index.Path, info.Size())
	}
	if r.data, err = mmap.Map(r.file, mmap.RDONLY, 0); err != nil {
		return err
	}
	entries, err := parseLayout(r.data)
	if err != nil {
		return fmt.Errorf("%s: %w", r.meta.Index.Path, err)
	}
	r.lexical = newLexical()
	var lengths []uint32
	for _, e := range entries {
		g := group{entry: e, data: r.data, firstPage: r.pages, firstChunk: r.chunks}
		r.groups = append(r.groups, g)
		if e.chunks > 0 {
			if err := r.lexical.open(&g); err != nil {
				return err
			}
		}
		for b := g.bytes(lengthSection); len(b) >= 4; b = b[4:] {
			lengths = append(lengths, binary.LittleEndian.Uint32(b))
		}
		r.pages += e.pages
		r.chunks += e.chunks
	}
	r.lexical.measure(lengths)
	return nil
}

// Metadata is what the artifact says of itself. It is not to be changed.
func (r *Reader) Metadata() *Metadata { return &r.meta }

// Digest is the SHA-256 of metadata.json, and so of all that it names.
func (r *Reader) Digest() [sha256.Size]byte { return r.digest }

// Pages is the number of pages.
func (r *Reader) Pages() int { return r.pages }

// Len is the number of chunks.
func (r *Reader) Len() int { return r.chunks }

// groupOf is the group that holds a chunk.
func (r *Reader) groupOf(chunk int) *group {
	i := sort.Search(len(r.groups), func(i int) bool { return r.groups[i].firstChunk > chunk })
	return &r.groups[i-1]
}

// PageOf is the ordinal of the page of a chunk, which must be in range.
func (r *Reader) PageOf(chunk int) int {
	g := r.groupOf(chunk)
	return g.firstPage + int(g.chunkField(chunk-g.firstChunk, 3))
}

// chunkField is number i of a chunk record, counted within the group.
func (g *group) chunkField(chunk, i int) uint32 {
	return binary.LittleEndian.Uint32(g.bytes(chunkSection)[chunk*chunkRecord+4*i:])
}

func (g *group) pageField(page, i int) uint32 {
	return binary.LittleEndian.Uint32(g.bytes(pageSection)[page*pageRecord+4*i:])
}

func (g *group) string(at uint32) (string, error) {
	return stringAt(g.bytes(stringSection), at)
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

// page reads a page record, counted within the group.
func (g *group) page(i int) (Page, error) {
	var p Page
	var pairs, problems string
	for at, s := range []*string{&p.Path, &p.Title, &p.Description, &pairs, &problems} {
		var err error
		if *s, err = g.string(g.pageField(i, at)); err != nil {
			return p, err
		}
	}
	first, n := int(g.pageField(i, 5)), int(g.pageField(i, 6))
	if first+n > g.chunks {
		return p, errDamaged
	}
	p.First, p.Chunks = g.firstChunk+first, n
	record := g.bytes(pageSection)[i*pageRecord+7*4:]
	p.Size = int64(binary.LittleEndian.Uint64(record))
	p.Digest = [sha256.Size]byte(record[8:])
	var err error
	if p.Metadata, err = decodePairs(pairs); err != nil {
		return p, err
	}
	p.Problems, err = decodeProblems(problems)
	return p, err
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

// PageMetadata returns the distinct sets of facet values, and for each page
// which of them it has.
func (r *Reader) PageMetadata() (distinct []map[string]string, byPage []int32, err error) {
	seen := map[string]int32{}
	byPage = make([]int32, 0, r.pages)
	for gi := range r.groups {
		g := &r.groups[gi]
		for i := range g.pages {
			pairs, err := g.string(g.pageField(i, 3))
			if err != nil {
				return nil, nil, r.damagedBy(err)
			}
			n, ok := seen[pairs]
			if !ok {
				m, err := decodePairs(pairs)
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

// PagePath is the path of a page by ordinal, which must be in range.
func (r *Reader) PagePath(page int) (string, error) {
	i := sort.Search(len(r.groups), func(i int) bool { return r.groups[i].firstPage > page })
	g := &r.groups[i-1]
	return g.string(g.pageField(page-g.firstPage, 0))
}

// FindPage returns the ordinal of the page at path.
func (r *Reader) FindPage(path string) (int, bool) {
	i := sort.Search(r.pages, func(i int) bool {
		p, err := r.PagePath(i)
		return err != nil || p >= path
	})
	if i == r.pages {
		return 0, false
	}
	p, err := r.PagePath(i)
	return i, err == nil && p == path
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
		ID: chunker.ID(path, fragment), Page: r.PageOf(chunk),
		Level: int(g.chunkField(i, 4)), StartLine: int(g.chunkField(i, 5)), EndLine: int(g.chunkField(i, 6)),
	}
	if c.Heading, err = g.string(g.chunkField(i, 1)); err == nil {
		c.Breadcrumb, err = g.string(g.chunkField(i, 2))
	}
	if err != nil {
		return c, r.damagedBy(err)
	}
	return c, nil
}

// Place returns the path of a chunk's page and its fragment in it; the chunk
// must be in range.
func (r *Reader) Place(chunk int) (path, fragment string, err error) {
	g := r.groupOf(chunk)
	i := chunk - g.firstChunk
	page := int(g.chunkField(i, 3))
	if page >= g.pages {
		return "", "", r.damagedBy(errDamaged)
	}
	if path, err = g.string(g.pageField(page, 0)); err == nil {
		fragment, err = g.string(g.chunkField(i, 0))
	}
	if err != nil {
		return "", "", r.damagedBy(err)
	}
	return path, fragment, nil
}

// Find returns the ordinal of the chunk with an id, which is looked for among
// the chunks of the page at path.
func (r *Reader) Find(path, id string) (int, bool) {
	page, ok := r.FindPage(path)
	if !ok {
		return 0, false
	}
	p, err := r.Page(page)
	if err != nil {
		return 0, false
	}
	want := fragment(id)
	for i := p.First; i < p.First+p.Chunks; i++ {
		g := r.groupOf(i)
		if f, err := g.string(g.chunkField(i-g.firstChunk, 0)); err == nil && f == want {
			return i, true
		}
	}
	return 0, false
}

// Content returns a chunk's markdown and its plain text.
func (r *Reader) Content(chunk int) (markdown, text string, err error) {
	if chunk < 0 || chunk >= r.chunks {
		return "", "", fmt.Errorf("chunk %d of %d", chunk, r.chunks)
	}
	g := r.groupOf(chunk)
	i := chunk - g.firstChunk
	block, err := r.blocks.get(g, g.chunkField(i, 7))
	if err != nil {
		return "", "", r.damagedBy(err)
	}
	from, md, txt := uint64(g.chunkField(i, 8)), uint64(g.chunkField(i, 9)), uint64(g.chunkField(i, 10))
	if from+md+txt > uint64(len(block)) {
		return "", "", r.damagedBy(errDamaged)
	}
	return string(block[from : from+md]), string(block[from+md : from+md+txt]), nil
}

// Check compares every section with its checksum: a tenth of the cost of Verify
// and as good against all but intent. It reads the file anew, so that the
// mapping stays untouched.
func (r *Reader) Check() error {
	buf := make([]byte, 256<<10)
	for i, g := range r.groups {
		for s, span := range g.sections {
			h := crc32.New(castagnoli)
			if _, err := io.CopyBuffer(onlyWriter{h}, io.NewSectionReader(r.file, int64(span.offset), int64(span.bytes)), buf); err != nil {
				return fmt.Errorf("read data file: %w", err)
			}
			if h.Sum32() != span.crc {
				return damaged(r.dir, fmt.Sprintf("section %s of group %d does not match its checksum", sectionNames[s], i))
			}
		}
	}
	return nil
}

// onlyWriter hides all but Write, so that a copy uses the buffer it is given.
type onlyWriter struct{ io.Writer }

// Verify reads every byte of the data file and checks it against all
// checksums. It reads the file anew, so that the mapping stays untouched.
func (r *Reader) Verify() error {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(r.file, 0, r.meta.Index.Bytes)); err != nil {
		return fmt.Errorf("read data file: %w", err)
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != r.meta.Index.SHA256 {
		for i := range r.groups {
			if err := r.groups[i].verify(); err != nil {
				return damaged(r.dir, fmt.Sprintf("group %d: %v", i, err))
			}
		}
		return damaged(r.dir, fmt.Sprintf("%s has digest %.16s... where metadata.json says %.16s...", r.meta.Index.Path, sum, r.meta.Index.SHA256))
	}
	return nil
}

// Close ends the use of the artifact. No other method may run then or later.
func (r *Reader) Close() error {
	var errs []error
	if r.lexical != nil {
		errs = append(errs, r.lexical.close())
	}
	if r.data != nil {
		errs = append(errs, r.data.Unmap())
	}
	return errors.Join(append(errs, r.file.Close())...)
}

var dataName = regexp.MustCompile(`^index-[0-9a-f]{16}\.idx$`)

// readMetadata reads and checks the metadata of the artifact in dir.
func readMetadata(dir string) (m Metadata, digest [sha256.Size]byte, err error) {
	path := filepath.Join(dir, MetadataFile)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return m, digest, fault.New("no_artifact", "there is no index in "+dir, "build one: deskhand index DIR -o "+dir)
	}
	if err != nil {
		return m, digest, fmt.Errorf("open metadata: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMetadataBytes+1))
	if err != nil {
		return m, digest, fmt.Errorf("read metadata: %w", err)
	}
	if len(text) > maxMetadataBytes {
		return m, digest, damaged(dir, fmt.Sprintf("metadata.json has more than %d bytes", maxMetadataBytes))
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, digest, damaged(dir, "metadata.json: "+err.Error())
	}
	switch major, _, _ := strings.Cut(m.MetadataVersion, "."); {
	case m.Index.Engine != engineName:
		return m, digest, fault.New("artifact_foreign", fmt.Sprintf("the metadata.json in %s is not of a deskhand index (engine %q)", dir, m.Index.Engine),
			"name the folder that deskhand index wrote, or build one: deskhand index DIR -o OUT")
	case major != "1" || m.Index.FormatVersion > FormatVersion:
		return m, digest, fault.New("artifact_too_new", fmt.Sprintf("the index in %s has format %d (metadata %s); this deskhand reads format %d (metadata 1.x)",
			dir, m.Index.FormatVersion, m.MetadataVersion, FormatVersion), "use a newer deskhand, or build the index again with this one")
	case m.Index.FormatVersion < FormatVersion:
		return m, digest, fault.New("artifact_too_old", fmt.Sprintf("the index in %s has format %d; this deskhand reads format %d", dir, m.Index.FormatVersion, FormatVersion),
			"build it again: deskhand index DIR -o "+dir)
	case !dataName.MatchString(m.Index.Path):
		return m, digest, damaged(dir, fmt.Sprintf("metadata.json names %q as data file", m.Index.Path))
	}
	return m, sha256.Sum256(text), nil
}

func damaged(dir, why string) error {
	return fault.New("artifact_damaged", fmt.Sprintf("the index in %s is damaged: %s", dir, why), "build it again: deskhand index DIR -o "+dir)
}

func (r *Reader) damagedBy(err error) error { return damaged(r.dir, err.Error()) }
