package search

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
)

// ErrClosed is returned by an engine after Close.
var ErrClosed = errors.New("search engine is closed")

// snapshot is one artifact in use. The last user closes it.
type snapshot struct {
	dir    string
	reader *artifact.Reader
	users  int                         // guarded by Engine.mu; the engine itself counts as one
	broken atomic.Pointer[fault.Fault] // the damage that a query found
	short  bool                        // whether the snapshot holds the texts of OverTexts
	// embedder embeds questions in the same way as the index's chunks were
	// embedded. It is nil if the index has no vectors, or if mute says why they
	// cannot be used.
	embedder embed.Embedder
	mute     error
	meaning  *meaning // uses embedder; nil if the index has no vectors
	name     string   // identifies the model of the vectors; empty if there are none

	spoken       sync.Once
	languages    *languageIndex // nil if all of it is in English
	languagesErr error

	facets sync.Once
	// metadata holds the distinct facet values of pages; byPage holds, for each
	// page, the index of the page's values.
	metadata  []map[string]string
	byPage    []int32
	facetsErr error

	describing  sync.Once
	termVectors [][]float32 // see vectorsOfTerms
}

// queryStems is the maximum number of stems that an analyzer of queries remembers:
// about half a megabyte per processor.
const queryStems = 1 << 13

// Options configure an Engine. The zero value is ready to use.
type Options struct {
	// Chromem searches vectors with chromem-go, for comparison. If false, a scan is
	// used, which is faster and needs less memory.
	Chromem bool
	// EmbedTimeout is the maximum time that a question waits for its vector,
	// which some embedders fetch over a network. After that time, the question is
	// answered by keyword only. Zero means DefaultEmbedTimeout.
	EmbedTimeout time.Duration
	// Embedder is the embedder specification that the user chose. If an index
	// names an embedder on another machine, questions are sent there only if the
	// name equals this specification. Otherwise, they are answered by keyword
	// only, because the builder of the index may not be trusted with the
	// questions.
	Embedder string
	// Log, if not nil, records when questions start to be answered by keyword only
	// even though the index has vectors, and when this ends.
	Log *slog.Logger
}

// Open opens the artifact in dir. Its errors are those of artifact.Open.
func Open(dir string) (*Engine, error) { return OpenWith(dir, Options{}) }

// OpenWith works like Open, but with options.
func OpenWith(dir string, o Options) (*Engine, error) {
	ed, err := o.open(dir)
	if err != nil {
		return nil, err
	}
	return newEngine(dir, o, ed), nil
}

// OpenDescribed works like OpenWith for an artifact whose metadata was read before. Sections
// of its data file are compared with their checksums when a query first reads them.
func OpenDescribed(dir string, d *artifact.Description, o Options) (*Engine, error) {
	r, err := d.Open()
	if err != nil {
		return nil, err
	}
	ed, err := o.opened(dir, r)
	if err != nil {
		return nil, err
	}
	return newEngine(dir, o, ed), nil
}

// Current reports whether the engine searches the described artifact, and no query has
// found damage in it.
func (e *Engine) Current(d *artifact.Description) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.closed && e.current != nil && e.current.broken.Load() == nil && d.Describes(e.current.reader)
}

// damage returns the damage that a query has found in the current artifact, or nil.
func (e *Engine) damage() *fault.Fault {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == nil {
		return nil
	}
	return e.current.broken.Load()
}

// OpenLater returns an engine for a folder that has no artifact yet. Until
// [Engine.Reload] finds an artifact, queries fail with the error that the
// function why returns.
func OpenLater(dir string, o Options, why func() error) *Engine {
	e := newEngine(dir, o, nil)
	e.why = why
	return e
}

// Ready returns nil if there is an index that can be searched, and otherwise the reason.
func (e *Engine) Ready() error {
	_, done, err := e.use()
	if err == nil {
		done()
	}
	return err
}

func newEngine(dir string, o Options, ed *snapshot) *Engine {
	return &Engine{dir: dir, options: o, current: ed, analyzers: newAnalyzers()}
}

// newAnalyzers returns an analyzer for each processor.
func newAnalyzers() chan *artifact.Analyzer {
	n := runtime.GOMAXPROCS(0)
	all := make(chan *artifact.Analyzer, n)
	for range n {
		all <- newAnalyzer()
	}
	return all
}

func newAnalyzer() *artifact.Analyzer { return &artifact.Analyzer{MaxStems: queryStems} }

// open opens the artifact that is in dir now, with one user.
func (o Options) open(dir string) (*snapshot, error) {
	r, err := artifact.Open(dir)
	if err != nil {
		return nil, err
	}
	return o.opened(dir, r)
}

// opened returns a snapshot of an open artifact, which it closes after an error.
func (o Options) opened(dir string, r *artifact.Reader) (*snapshot, error) {
	ed := editionOf(dir, r, o)
	if o.Chromem && ed.embedder != nil {
		if err := r.UseChromem(); err != nil {
			r.Close()
			return nil, err
		}
	}
	return ed, nil
}

// editionOf returns a snapshot of r with one user.
func editionOf(dir string, r *artifact.Reader, o Options) *snapshot {
	ed := &snapshot{dir: dir, reader: r, users: 1}
	ed.reopen(o)
	return ed
}

// reopen opens the index's embedder. It recovers from memory faults, because the
// mapped file may be truncated at any time.
func (ed *snapshot) reopen(o Options) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			ed.mute = damagedFault(ed.dir)
		}
	}()
	if e := ed.reader.Embedding(); e != nil {
		ed.name = e.String()
		if embed.Elsewhere(e.String(), o.Embedder) {
			ed.mute = fault.New("not_chosen", "the index requires questions to be sent to "+e.String(),
				"to allow this, set embed: "+e.String()+" in deskhand.yaml, or DESKHAND_EMBED")
			return
		}
		ed.embedder, ed.mute = embed.Reopen(e.String(), ed.reader.Weights())
		if ed.mute == nil && ed.embedder.Dimensions() != 0 && ed.embedder.Dimensions() != e.Dimensions {
			ed.embedder, ed.mute = nil, fault.New("other_model", fmt.Sprintf("%s returns vectors with %d dimensions, but the index has %d", e, ed.embedder.Dimensions(), e.Dimensions),
				"rebuild the index: deskhand index")
		}
		ed.meaning = newMeaning(ed.embedder, e.Dimensions, o)
	}
}

// Mute returns an error that says why the artifact's vectors cannot be used.
// Questions are then answered by keyword only. It returns nil if the vectors are
// used or if there are none.
func (e *Engine) Mute() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == nil {
		return nil
	}
	return e.current.mute
}

// use holds the current snapshot until release is called. Until then, a fault in
// the mapped memory, for example because the file was truncated, causes a panic
// instead of crashing the process.
func (e *Engine) use() (*snapshot, func(), error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, nil, ErrClosed
	}
	ed := e.current
	if ed == nil {
		return nil, nil, e.why()
	}
	if damage := ed.broken.Load(); damage != nil {
		return nil, nil, damage
	}
	ed.users++
	was := debug.SetPanicOnFault(true)
	return ed, func() {
		debug.SetPanicOnFault(was)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.release(ed)
	}, nil
}

// release gives up one use of ed. The caller holds e.mu.
func (e *Engine) release(ed *snapshot) error {
	ed.users--
	if ed.users > 0 {
		return nil
	}
	return ed.reader.Close()
}

// Reload opens the artifact that is now in the folder, if it has changed. Running
// queries continue with the old artifact. If Reload fails, the engine keeps the old
// artifact.
func (e *Engine) Reload() (changed bool, err error) {
	if e.dir == "" {
		return false, nil // the engine searches texts
	}
	next, err := e.options.open(e.dir)
	if err != nil {
		return false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		next.reader.Close()
		return false, ErrClosed
	}
	if e.current == nil {
		e.current = next
		return true, nil
	}
	if e.current.reader.Same(next.reader) && e.current.broken.Load() == nil {
		return false, next.reader.Close()
	}
	old := e.current
	e.current = next
	return true, e.release(old)
}

// Metadata returns the current artifact's metadata, or a general description if
// there is no artifact yet. The caller must not modify it.
func (e *Engine) Metadata() *artifact.Metadata {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == nil {
		return &artifact.Metadata{CorpusDescription: "documentation"}
	}
	return e.current.reader.Metadata()
}

// Close closes the engine after running queries end.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	if e.current == nil {
		return nil
	}
	return e.release(e.current)
}

// pageFacets returns the distinct facet values of pages and, for each page, the
// index of the page's values.
func (ed *snapshot) pageFacets() ([]map[string]string, []int32, error) {
	ed.facets.Do(func() {
		ed.metadata, ed.byPage, ed.facetsErr = ed.reader.PageMetadata()
	})
	return ed.metadata, ed.byPage, ed.facetsErr
}

// facetFilter returns the test for filters, or nil if every chunk passes.
func (ed *snapshot) facetFilter(filters map[string]string) (func(chunk int) bool, error) {
	if len(filters) == 0 {
		return nil, nil
	}
	distinct, byPage, err := ed.pageFacets()
	if err != nil {
		return nil, err
	}
	accepted := make([]bool, len(distinct))
	for i, m := range distinct {
		accepted[i] = accepts(filters, m)
	}
	kept, err := ed.reader.ChunksOf(func(page int) bool { return accepted[byPage[page]] })
	if err != nil {
		return nil, err
	}
	return kept.Has, nil
}
