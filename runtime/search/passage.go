package search

import (
	"fmt"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
)

// MaxContext is the maximum number of neighbours that Passage returns on each
// side.
const MaxContext = 5

// Passage is a chunk with its neighbours in the same file, or a whole page.
type Passage struct {
	// Path and Title describe the page.
	Path, Title string
	// Whole reports whether a page was requested. If so, Chunks holds the whole
	// page.
	Whole bool
	// Target is the requested chunk's index in Chunks.
	Target int
	// Chunks holds the chunks in file order.
	Chunks []Part
}

// Part is one chunk of a passage.
type Part struct {
	ID                 string
	Heading            string
	Level              int
	StartLine, EndLine int
	// Position is the chunk's place in its file, from 1. Total is the number of
	// chunks in the file.
	Position, Total int
	// Markdown is the chunk's source.
	Markdown string
}

// Passage returns the chunk with this ID and up to context neighbours on each side.
// If id is the path of a page and not of a chunk, it returns the whole page. The
// expected failures are faults: "invalid_argument" and "chunk_not_found".
func (e *Engine) Passage(id string, context int) (p Passage, err error) {
	if context < 0 || context > MaxContext {
		return p, invalid(fmt.Sprintf("context must be between 0 and %d", MaxContext))
	}
	path, fragment, err := chunker.ParseID(id)
	if err != nil {
		return p, invalid(fmt.Sprintf("Chunk ID '%s' has invalid format. Expected {filepath} or {filepath}#{heading-path}.", shorten(id)))
	}
	ed, release, err := e.use()
	if err != nil {
		return p, err
	}
	defer release()
	defer recoverAs(&err, ed)
	page, ok, err := ed.reader.FindPage(path)
	if err != nil {
		return p, err
	}
	target := 0
	if ok {
		if target, ok, err = ed.reader.Find(page, fragment); err != nil {
			return p, err
		}
		if !ok && fragment == "" && page.Chunks > 0 {
			return ed.wholePage(page)
		}
	}
	if !ok {
		return p, fault.New("chunk_not_found", fmt.Sprintf("Chunk ID '%s' not found. Use search_docs to discover valid chunk IDs.", shorten(id)), "")
	}
	from := max(page.First, target-context)
	p, err = ed.passage(page, from, min(page.First+page.Chunks, target+context+1))
	p.Target = target - from
	return p, err
}

// Page returns the whole page at path, which is a plain path and not an ID.
func (e *Engine) Page(path string) (p Passage, err error) {
	ed, release, err := e.use()
	if err != nil {
		return p, err
	}
	defer release()
	defer recoverAs(&err, ed)
	page, ok, err := ed.reader.FindPage(path)
	if err != nil {
		return p, err
	}
	if !ok {
		return p, fault.New("page_not_found", fmt.Sprintf("Page '%s' not found.", shorten(path)), "Call list_docs to see all pages.")
	}
	return ed.wholePage(page)
}

// Has reports whether there is a page at path.
func (e *Engine) Has(path string) (ok bool, err error) {
	ed, release, err := e.use()
	if err != nil {
		return false, err
	}
	defer release()
	defer recoverAs(&err, ed)
	_, ok, err = ed.reader.FindPage(path)
	return ok, err
}

func (ed *snapshot) wholePage(page artifact.Page) (Passage, error) {
	p, err := ed.passage(page, page.First, page.First+page.Chunks)
	p.Whole = true
	return p, err
}

// passage returns the chunks [from, to) of a page.
func (ed *snapshot) passage(page artifact.Page, from, to int) (Passage, error) {
	p := Passage{Path: page.Path, Title: page.Title}
	for i := from; i < to; i++ {
		c, err := ed.reader.Chunk(i)
		if err != nil {
			return p, err
		}
		markdown, err := ed.reader.Markdown(i)
		if err != nil {
			return p, err
		}
		p.Chunks = append(p.Chunks, Part{
			ID: c.ID, Heading: c.Heading, Level: c.Level, StartLine: c.StartLine, EndLine: c.EndLine,
			Position: i - page.First + 1, Total: page.Chunks, Markdown: markdown,
		})
	}
	return p, nil
}
