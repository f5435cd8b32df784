package chunker

import (
	"bytes"
	"strconv"
)

// piece is a part of the body that becomes one chunk.
type piece struct {
	start, end int
	// fragment is the part of the ID after '#', or empty for the whole file.
	fragment string
	// level is the level of the piece's own heading, or 0 without one.
	level int
	// heading is the index of the heading to show, or -1 for none. The headings below
	// it have indexes from inner up to, but not including, innerEnd.
	heading, inner, innerEnd int
}

// preamble is the fragment of the text before the first split. It cannot clash with a
// slug because slugs contain no '_'.
const preamble = "_preamble"

// cutter turns an outline into pieces.
type cutter struct {
	outline *outline
	opts    Options
	// issued holds the fragments already used, so that none is used twice.
	issued map[string]bool
	pieces []piece
}

// maxParts limits the number of parts that a file is split into. Splits at headings do
// not count. If MaxChars is so small that there would be more parts, MaxChars is
// raised.
const maxParts = 50_000

// cut returns the pieces that cover the body, in order, or nil if the body is blank.
func (c *cutter) cut() []piece {
	body, all := c.outline.body, len(c.outline.headings)
	if isBlank(body) {
		return nil
	}
	c.opts.MaxChars = max(c.opts.MaxChars, len(body)/maxParts)
	whole := piece{end: len(body), fragment: preamble, heading: -1, innerEnd: all}
	level := c.opts.By.level()
	if level == 0 {
		whole.fragment = ""
		c.fit(whole)
		return c.pieces
	}
	paths := c.outline.paths()
	for _, p := range c.at(level, whole, func(i int) string { return paths[i] }) {
		c.fit(p)
	}
	return c.pieces
}

// paths returns the fragment that each heading would have if the file were split there:
// the slugs of its ancestors and its own slug. If two headings have the same path, the
// second one gets the suffix -2, whatever its level. The paths below the second heading
// include that suffix.
func (o *outline) paths() []string {
	paths := make([]string, len(o.headings))
	numbers := newNumbering()
	for i, h := range o.headings {
		path := h.slug
		if h.parent >= 0 {
			path = paths[h.parent] + "/" + h.slug
		}
		paths[i] = numbers.unique(path)
	}
	return paths
}

// at splits p at its inner headings of the given level. The text before the first of
// these headings remains in p. If that text is blank, it is added to the first
// heading's piece instead, so that no chunk is blank. fragment returns the fragment of
// a heading's piece.
func (c *cutter) at(level int, p piece, fragment func(heading int) string) []piece {
	before := p
	out := []piece{}
	for i := p.inner; i < p.innerEnd; i++ {
		h := c.outline.headings[i]
		if h.level != level {
			continue
		}
		if len(out) == 0 {
			before.end, before.innerEnd = h.start, i
		} else {
			out[len(out)-1].end, out[len(out)-1].innerEnd = h.start, i
		}
		out = append(out, piece{
			start: h.start, end: p.end, fragment: c.issue(fragment(i)), level: level,
			heading: i, inner: i + 1, innerEnd: p.innerEnd,
		})
	}
	if len(out) > 0 && isBlank(c.outline.body[before.start:before.end]) {
		out[0].start = before.start
		return out
	}
	return append([]piece{before}, out...)
}

// below splits p at inner headings that are deeper than p's level. It uses the highest
// level that occurs, or returns nil if there is none. The new fragments start with p's
// fragment and are numbered from the beginning, as in docs-mcp.
func (c *cutter) below(p piece) []piece {
	finer := 7
	for i := p.inner; i < p.innerEnd; i++ {
		if level := c.outline.headings[i].level; level > p.level {
			finer = min(finer, level)
		}
	}
	if finer == 7 {
		return nil
	}
	prefix := ""
	if p.fragment != "" {
		prefix = p.fragment + "/"
	}
	numbers := newNumbering()
	return c.at(finer, p, func(i int) string {
		return prefix + numbers.unique(c.outline.headings[i].slug)
	})
}

// issue returns fragment, with the first free number appended if fragment is taken.
func (c *cutter) issue(fragment string) string {
	free := fragment
	for n := 2; c.issued[free]; n++ {
		free = fragment + "-" + strconv.Itoa(n)
	}
	c.issued[free] = true
	return free
}

func isBlank(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 }
