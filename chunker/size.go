package chunker

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxBlock limits the length of a single block to a multiple of MaxChars. Only
// longer blocks are split inside, because a table or listing should stay whole, but
// a file may consist of a single line.
const maxBlock = 4

// fit adds p to the pieces. If p is longer than MaxChars, fit splits it at finer
// headings, then between blocks.
func (c *cutter) fit(p piece) {
	if all, chars := c.count(p.start, p.end); chars <= c.opts.MaxChars && all <= maxBlock*c.opts.MaxChars {
		c.add(p)
		return
	}
	finer := c.below(p)
	if finer == nil {
		c.inParts(p)
	}
	for _, q := range finer {
		c.fit(q)
	}
}

// add appends p unchanged. If p is the text before the first split and contains the
// page's level-1 heading, p shows that heading.
func (c *cutter) add(p piece) {
	if p.heading < 0 {
		p.heading = c.outline.firstH1(p.inner, p.innerEnd)
	}
	c.pieces = append(c.pieces, p)
}

// count returns the number of code points from start to end, and the number without
// surrounding white space. The limits apply to the second number.
func (c *cutter) count(start, end int) (all, chars int) {
	b := c.outline.body[start:end]
	all = utf8.RuneCount(b)
	if trimmed := bytes.TrimSpace(b); len(trimmed) < len(b) {
		return all, utf8.RuneCount(trimmed)
	}
	return all, all
}

// part is a run of blocks.
type part struct {
	start, end int
	all, chars int // numbers of code points, as returned by count
	limit      int // maximum chars after merging
}

// inParts splits p between its blocks. The first part keeps the fragment. The others
// are named fragment-part-2 and so on.
func (c *cutter) inParts(p piece) {
	parts := c.merge(c.pack(c.units(p)))
	number := 1
	for i, part := range parts {
		q := p
		q.start, q.end = part.start, part.end
		if i > 0 {
			q.fragment, number = c.issuePart(p.fragment, number+1)
		}
		c.add(q)
	}
}

// issuePart returns the first free part name whose number is at least number, and
// the number in that name.
func (c *cutter) issuePart(fragment string, number int) (string, int) {
	if fragment == "" {
		fragment = "_"
	} else {
		fragment += "-"
	}
	for ; ; number++ {
		if name := fragment + "part-" + strconv.Itoa(number); !c.issued[name] {
			c.issued[name] = true
			return name, number
		}
	}
}

// units returns the blocks of p. A block that is much too long becomes several units.
// White space before the first block belongs to that block.
func (c *cutter) units(p piece) []part {
	blocks := c.outline.blocks
	first, _ := slices.BinarySearchFunc(blocks, p.start, func(b block, at int) int { return b.start - at })
	var units []part
	start := p.start
	for _, b := range blocks[first:] {
		if b.start >= p.end {
			break
		}
		if len(units) > 0 || !isBlank(c.outline.body[start:b.start]) {
			units = c.appendUnit(units, start, b.start)
			start = b.start
		}
	}
	return c.appendUnit(units, start, p.end)
}

func (c *cutter) appendUnit(units []part, start, end int) []part {
	if start == end {
		return units
	}
	all, chars := c.count(start, end)
	if all <= maxBlock*c.opts.MaxChars {
		return append(units, part{start: start, end: end, all: all, chars: chars})
	}
	for start < end {
		next := start + cutLength(c.outline.body[start:end], c.opts.MaxChars)
		all, chars := c.count(start, next)
		units = append(units, part{start: start, end: next, all: all, chars: chars})
		start = next
	}
	return units
}

// cutLength returns the length in bytes of the piece to cut from the start of b. The
// piece has at most size code points. It ends at its last line end, or at a whole
// code point if it has no line end.
func cutLength(b []byte, size int) int {
	n := 0
	for ; size > 0 && n < len(b); size-- {
		_, width := utf8.DecodeRune(b[n:])
		n += width
	}
	if n == len(b) {
		return n
	}
	if line := bytes.LastIndexByte(b[:n], '\n'); line >= 0 {
		return line + 1
	}
	return n
}

// pack joins neighbouring units up to MaxChars. If a heading and the block after it
// exceed MaxChars together, the heading becomes a separate part, as in docs-mcp.
func (c *cutter) pack(units []part) []part {
	var parts []part
	for _, u := range units {
		if last := len(parts) - 1; last >= 0 && parts[last].all+u.chars <= c.opts.MaxChars {
			parts[last] = join(parts[last], u)
			continue
		}
		parts = append(parts, u)
	}
	return parts
}

// join returns the part that covers a and b, where b follows a.
func join(a, b part) part {
	return part{
		start: a.start, end: b.end,
		all: a.all + b.all, chars: a.all + b.chars,
		limit: max(a.limit, b.limit),
	}
}

// merge joins parts shorter than MinChars with a neighbour, preferably the previous
// one. A part grows by less than MinChars, but may exceed MaxChars.
func (c *cutter) merge(parts []part) []part {
	var out []part
	for _, p := range parts {
		p.limit = max(p.chars, c.opts.MaxChars) + c.opts.MinChars
		if last := len(out) - 1; last >= 0 && min(out[last].chars, p.chars) < c.opts.MinChars {
			if joined := join(out[last], p); joined.chars <= joined.limit {
				out[last] = joined
				continue
			}
		}
		out = append(out, p)
	}
	return out
}
