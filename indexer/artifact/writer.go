package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/language"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/filelock"
)

// Writer writes an artifact. It must not be used concurrently.
type Writer struct {
	dir      string
	lock     *os.File
	previous *Reader           // nil if there is no previous artifact or it is closed
	digest   [sha256.Size]byte // digest of the previous metadata
	// pending holds the groups of the previous artifact that must be copied. They
	// are copied when the first group is added that the previous artifact does not
	// have. An unchanged corpus therefore keeps its data file.
	pending []int
	model   Model
	accept  func(Index) error
	layout  layout
	sized   bool // layout.dimensions has been set
	file    *os.File
	out     io.Writer // the file or memory; nil before begin
	hash    hash.Hash
	at      uint64
	twins   twins
	pages   []Page
	// names are the chunk names of pages.
	names []ChunkName
	err   error // the first failed write; later writes are skipped
	done  bool
}

// Create starts an artifact in the folder dir, and creates dir if needed. It holds a
// lock until Commit or Abort. If another build is running in dir, Create returns the
// fault "locked".
func Create(dir string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create index folder: %w", err)
	}
	lock, err := filelock.Lock(filepath.Join(dir, lockName))
	if errors.Is(err, filelock.ErrLocked) {
		return nil, &fault.Fault{Code: "locked", Message: "another build is writing to " + dir,
			Hint: "wait until it finishes, or use another folder with -o", Retryable: true}
	}
	if err != nil {
		return nil, fmt.Errorf("lock index folder: %w", err)
	}
	w := &Writer{dir: dir, lock: lock}
	w.sweep("")
	// If the previous artifact cannot be read, it is rebuilt. This is not an
	// error.
	if w.previous, err = Open(dir); err != nil {
		w.previous = nil
	} else {
		w.digest = w.previous.digest
	}
	return w, nil
}

// Use sets the embedder of the documents that are added later. Call it before Has,
// Reuse and Add.
func (w *Writer) Use(m Model) { w.model = m }

// Accept sets a function that Commit calls with the new data file's description, before it
// installs anything. If it returns an error, Commit returns this error, and the old
// artifact stays.
func (w *Writer) Accept(accept func(Index) error) { w.accept = accept }

// Previous returns the previous artifact in the folder, or nil if there was none
// or it was unusable.
func (w *Writer) Previous() *Reader { return w.previous }

// Has reports whether the previous artifact has a group with exactly these sources.
// The group's bytes may be damaged. Has may be called while other methods are
// running.
func (w *Writer) Has(sources []Source) bool {
	if w.previous == nil {
		return false
	}
	want := key(sources, w.model.Key)
	return slices.ContainsFunc(w.previous.groups, func(g group) bool { return g.key == want })
}

// Reuse copies the group with exactly these sources from the previous artifact.
// It returns false if there is no such group or if its bytes are damaged.
func (w *Writer) Reuse(group []Source) (reused bool) {
	if w.previous == nil {
		return false
	}
	var fails error
	defer func() { reused = reused && fails == nil }()
	defer contain(&fails)()
	want := key(group, w.model.Key)
	for i, g := range w.previous.groups {
		if g.key != want || g.verify() != nil {
			continue
		}
		pages, err := g.allPages()
		if err != nil {
			return false
		}
		names, err := g.allNames(pages)
		if err != nil {
			return false
		}
		w.pages = append(w.pages, pages...)
		w.names = append(w.names, names...)
		if w.file == nil {
			w.pending = append(w.pending, i)
		} else {
			w.copyGroup(i) // Commit returns any error
		}
		return true
	}
	return false
}

// Add appends a group. Groups must be added in plan order.
func (w *Writer) Add(g *Group) error {
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.size(g.chunks, g.dimensions); err != nil {
		return err
	}
	e := entry{key: key(g.sources, w.model.Key), pages: len(g.sources), chunks: g.chunks}
	for i, s := range g.sections {
		if err := w.section(&e, i, s); err != nil {
			return err
		}
	}
	w.layout.groups = append(w.layout.groups, e)
	w.twins.add(g.sections[vectorSection], g.chunks, g.dimensions)
	w.pages = append(w.pages, g.list...)
	w.names = append(w.names, g.names...)
	return nil
}

// size checks the dimensions of a group's vectors. They must be the same in all
// groups.
func (w *Writer) size(chunks, dimensions int) error {
	if chunks == 0 {
		return nil
	}
	if w.sized && dimensions != w.layout.dimensions {
		return fault.New("bad_vectors", fmt.Sprintf("the embedder returned vectors with %d and with %d dimensions", w.layout.dimensions, dimensions),
			"build into an empty folder; if that fails too, use another embedder")
	}
	w.layout.dimensions, w.sized = dimensions, true
	return nil
}

// begin creates the data file and copies the pending groups.
func (w *Writer) begin() error {
	if w.out != nil {
		return nil
	}
	file, err := os.CreateTemp(w.dir, tempPrefix+"*")
	if err != nil {
		return fmt.Errorf("create data file: %w", err)
	}
	w.file, w.out, w.hash = file, file, sha256.New()
	if err := w.write(header()); err != nil {
		return err
	}
	for _, i := range w.pending {
		if err := w.copyGroup(i); err != nil {
			return err
		}
	}
	w.pending = nil
	return nil
}

func (w *Writer) copyGroup(i int) error {
	g := w.previous.groups[i]
	if err := w.size(g.chunks, w.previous.Dimensions()); err != nil {
		return err
	}
	e := entry{key: g.key, pages: g.pages, chunks: g.chunks}
	for s := range g.sections {
		if err := w.section(&e, s, g.bytes(s)); err != nil {
			return err
		}
	}
	w.layout.groups = append(w.layout.groups, e)
	w.twins.add(g.bytes(vectorSection), g.chunks, w.previous.Dimensions())
	return nil
}

func (w *Writer) section(e *entry, i int, s []byte) error {
	zeros := make([]byte, rowAlign)[:padding(w.at)]
	if i != vectorSection || len(s) == 0 {
		zeros = nil
	}
	crc := crc32.Update(crc32.Checksum(zeros, castagnoli), castagnoli, s)
	e.sections[i] = span{w.at, uint32(len(zeros) + len(s)), crc}
	if err := w.write(zeros); err != nil {
		return err
	}
	return w.write(s)
}

func (w *Writer) write(b []byte) error {
	if w.err != nil {
		return w.err
	}
	if _, err := w.out.Write(b); err != nil {
		w.err = fmt.Errorf("write data file: %w", err)
		return w.err
	}
	w.hash.Write(b)
	w.at += uint64(len(b))
	return nil
}

// Commit installs the artifact in its folder, and returns m with the data file's
// fields set. The old artifact stays in use until the last step, a rename.
func (w *Writer) Commit(m Metadata) (Metadata, error) {
	defer w.Abort()
	m.MetadataVersion, m.Languages = MetadataVersion, countLanguages(w.pages)
	m.Index, m.Embedding = Index{Engine: engineName, FormatVersion: m.format()}, nil
	if w.unchanged() {
		m.Index, m.Embedding = w.previous.meta.Index, w.previous.meta.Embedding
		m.Stats.TotalChunks, m.Stats.TotalFiles = w.previous.chunks, w.previous.pages
		if err := w.accepted(m.Index); err != nil {
			return m, err
		}
	} else if err := w.finish(&m); err != nil {
		return m, err
	}
	text, err := m.Encode()
	if err != nil {
		return m, fmt.Errorf("encode metadata: %w", err)
	}
	if w.file == nil && w.digest == sha256.Sum256(text) {
		w.sweep(m.Index.Path)
		return m, nil // nothing changed, so readers need not reload
	}
	if err := replaceFile(filepath.Join(w.dir, MetadataFile), text); err != nil {
		return m, fmt.Errorf("replace metadata: %w", err)
	}
	// Remove the files of older artifacts. If some of them cannot be removed now, the
	// next build removes them.
	w.sweep(m.Index.Path)
	return m, nil
}

// countLanguages counts the pages of each language. It returns nil if all are in
// English.
func countLanguages(pages []Page) map[string]int {
	count := map[string]int{}
	for _, p := range pages {
		count[p.Language.String()]++
	}
	if count[language.English.String()] == len(pages) {
		return nil
	}
	return count
}

// format returns the format version for metadata.json.
func (m *Metadata) format() int {
	if len(m.Languages) > 0 {
		return LanguagesVersion
	}
	return FormatVersion
}

// unchanged reports whether the artifact has the same groups and the same model as the
// previous artifact.
func (w *Writer) unchanged() bool {
	if w.previous == nil || w.file != nil || len(w.pending) != len(w.previous.groups) ||
		w.previous.Dimensions() > 0 && !bytes.Equal(w.model.Weights, w.previous.Weights()) {
		return false
	}
	for i, g := range w.pending {
		if g != i {
			return false
		}
	}
	return true
}

// finish completes and renames the data file.
func (w *Writer) finish(m *Metadata) error {
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.complete(m); err != nil {
		return err
	}
	if err := w.accepted(m.Index); err != nil {
		return err
	}
	if err := w.file.Chmod(0o644); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("set the data file's mode: %w", err)
	}
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil {
		return fmt.Errorf("write data file: %w", err)
	}
	// The previous data file may have the same name, and some systems cannot replace a
	// mapped file.
	if err := w.closePrevious(); err != nil {
		return err
	}
	if err := os.Rename(w.file.Name(), filepath.Join(w.dir, m.Index.Path)); err != nil {
		return fmt.Errorf("rename data file: %w", err)
	}
	return nil
}

func (w *Writer) accepted(i Index) error {
	if w.accept == nil {
		return nil
	}
	return w.accept(i)
}

// complete writes the parts after the groups, and sets the fields of m that describe
// the data file.
func (w *Writer) complete(m *Metadata) error {
	equal := w.twins.bytes()
	w.layout.twins = span{w.at, uint32(len(equal)), crc32.Checksum(equal, castagnoli)}
	if err := w.write(equal); err != nil {
		return err
	}
	w.layout.weights.offset = w.at
	if weights := w.model.Weights; w.layout.dimensions > 0 && len(weights) > 0 {
		if len(weights) > maxSection {
			return fmt.Errorf("the embedding model has %d bytes; the maximum is %d", len(weights), maxSection)
		}
		w.layout.weights = span{w.at, uint32(len(weights)), crc32.Checksum(weights, castagnoli)}
		if err := w.write(weights); err != nil {
			return err
		}
	}
	if err := w.write(w.layout.tail(w.at)); err != nil {
		return err
	}
	if w.layout.dimensions > 0 {
		m.Embedding = &Embedding{w.model.Provider, w.model.Name, w.layout.dimensions}
	}
	for _, e := range w.layout.groups {
		m.Stats.TotalChunks += e.chunks
		m.Stats.TotalFiles += e.pages
	}
	sum := hex.EncodeToString(w.hash.Sum(nil))
	m.Index.Bytes, m.Index.SHA256 = int64(w.at), sum
	m.Index.Path = dataPrefix + sum[:16] + dataSuffix
	return nil
}

// Pages returns the pages added so far, in order. This includes the pages of reused
// groups. The field First of these pages is not set.
func (w *Writer) Pages() []Page { return w.pages }

// ChunkName identifies a chunk.
type ChunkName struct{ ID, Heading string }

// Names returns the names of the chunks of Pages, in order.
func (w *Writer) Names() []ChunkName { return w.names }

// Abort cancels a build and releases the lock. If it is called after Commit, it
// does nothing.
func (w *Writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	var errs []error
	if w.file != nil {
		w.file.Close()
		if err := os.Remove(w.file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	errs = append(errs, w.closePrevious())
	return errors.Join(append(errs, w.lock.Close())...)
}

func (w *Writer) closePrevious() error {
	if w.previous == nil {
		return nil
	}
	err := w.previous.Close()
	w.previous = nil
	return err
}

const (
	engineName = "deskhand"
	dataPrefix = "index-"
	dataSuffix = ".idx"
	tempPrefix = ".build-"
	lockName   = ".lock"
)

// sweep removes files that were left by killed builds. If keep is the name of the
// data file in use, sweep also removes all other data files.
func (w *Writer) sweep(keep string) {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return // the next reader or writer reports the error
	}
	for _, e := range entries {
		name := e.Name()
		old := keep != "" && name != keep && strings.HasPrefix(name, dataPrefix) && strings.HasSuffix(name, dataSuffix)
		if old || strings.HasPrefix(name, tempPrefix) {
			os.Remove(filepath.Join(w.dir, name))
		}
	}
}

// replaceFile writes a temporary file next to path, syncs it, renames it to path and
// syncs the folder.
func replaceFile(path string, content []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, tempPrefix+"*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err := errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(dir)
}
