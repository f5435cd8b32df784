package chunker

import (
	"cmp"
	"slices"
	"strings"
)

// describer turns the pieces of one page, in order, into chunks.
type describer struct {
	path         string
	title, front string // the page's title, and the front matter's title
	markdown     string // the body
	outline      *outline
	lines        lineCounter
	crumb        string // breadcrumb of the heading crumbOf, cached
	crumbOf      int
}

func (d *describer) chunk(p piece, text string) Chunk {
	chunk := Chunk{
		ID:         ID(d.path, p.fragment),
		Breadcrumb: d.breadcrumb(p.heading),
		StartLine:  d.lines.at(p.start),
		EndLine:    d.lines.at(p.end - 1),
		Markdown:   d.markdown[p.start:p.end],
		Text:       text,
	}
	if p.heading >= 0 && d.outline.headings[p.heading].title != "" {
		chunk.Heading = d.outline.headings[p.heading].title
		chunk.Level = d.outline.headings[p.heading].level
	}
	return chunk
}

// breadcrumb returns the headings above a chunk as one string. heading is the index
// of the chunk's heading, or -1 if it has none. The parts of one section follow each
// other, so breadcrumb caches its last result.
func (d *describer) breadcrumb(heading int) string {
	if d.crumb != "" && d.crumbOf == heading {
		return d.crumb
	}
	var chain []string
	outermost := 0
	for i := heading; i >= 0; i = d.outline.headings[i].parent {
		if h := d.outline.headings[i]; h.title != "" {
			chain, outermost = append(chain, h.title), h.level
		}
	}
	if d.front != "" && len(chain) > 0 && outermost != 1 && chain[len(chain)-1] != d.front {
		chain = append(chain, d.front)
	}
	slices.Reverse(chain)
	d.crumbOf, d.crumb = heading, cmp.Or(strings.Join(chain, " > "), d.title, d.path)
	return d.crumb
}

// lineCounter converts offsets in a body to line numbers of its file. It reads the
// body only once if the offsets are passed in ascending order.
type lineCounter struct {
	body   []byte
	first  int // line of the body's first byte
	offset int
	line   int
}

// newLineCounter returns a counter for the body of text, which starts at offset start.
func newLineCounter(text []byte, start int) lineCounter {
	first := 1 + countNewlines(text[:start])
	return lineCounter{body: text[start:], first: first, line: first}
}

// at returns the 1-based line that contains offset. offset must not be lower than in
// the previous call.
func (l *lineCounter) at(offset int) int {
	l.line += countNewlines(l.body[l.offset:offset])
	l.offset = offset
	return l.line
}

// of returns the 1-based line that contains offset, or 0 if offset is -1. It may be
// called with offsets in any order.
func (l *lineCounter) of(offset int) int {
	if offset < 0 {
		return 0
	}
	return l.first + countNewlines(l.body[:offset])
}
