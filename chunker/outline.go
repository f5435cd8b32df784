package chunker

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// outline is the structure of a body: its headings and top-level blocks, in order.
// Headings inside quotes and lists are treated as text, because splitting there
// would divide the quote or list.
type outline struct {
	body     []byte
	headings []heading
	blocks   []block
	parsed   bool // false if the blocks are lines without nodes
	full     bool // the limit maxHeadings was reached
	tagged   bool // the body contains template tags
	problems []outlineProblem
}

type heading struct {
	start  int // offset of the heading's first line
	level  int // 1 to 6
	title  string
	slug   string
	parent int // index of the nearest preceding heading with a lower level, or -1
}

// block is one top-level block. It ends where the next one starts.
type block struct {
	start int
	node  ast.Node // nil if the outline is not parsed
}

type outlineProblem struct {
	offset int // offset in the body, or -1 if the problem concerns the whole body
	reason string
}

// maxHeadings limits the number of chunks in one file, and so the memory for it. The
// largest reference pages have about 5,000 headings.
const maxHeadings = 50_000

// Headings returns the number of headings at each level, 1 to 6, that Split finds in
// src.
func Headings(src []byte) (ofLevel [7]int) {
	text, _ := normalise(src)
	for _, h := range newOutline(text[readFrontMatter(text).end:]).headings {
		ofLevel[h.level]++
	}
	return ofLevel
}

func newOutline(body []byte) *outline {
	o := &outline{body: body, tagged: hasTag(body)}
	root, parsed, problems := parse(body)
	o.parsed, o.problems = parsed, problems
	if parsed {
		o.readTree(root)
	} else {
		o.scanLines()
	}
	o.link()
	return o
}

// readTree adds the document's top-level nodes to the outline.
func (o *outline) readTree(root ast.Node) {
	last := 0
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		start := last
		if at := position(n); at >= 0 {
			start = max(bytes.LastIndexByte(o.body[:at], '\n')+1, last)
		}
		last = start
		o.blocks = append(o.blocks, block{start, n})
		if h, ok := n.(*ast.Heading); ok {
			title, forID := o.headingText(h)
			o.addHeading(start, h.Level, title, forID)
		}
	}
}

// position returns the offset of a byte in n's first line, or -1 if n has no position.
func position(n ast.Node) int {
	if table, ok := n.(*extast.Table); ok && table.HasChildren() {
		// If a paragraph ends in a table, the table's position is that of the
		// paragraph.
		return table.FirstChild().Pos()
	}
	return n.Pos()
}

// addHeading adds a heading. title and forID come from the parser and may contain
// line ends.
func (o *outline) addHeading(start, level int, title, forID string) {
	title = Visible(title)
	if len(o.headings) == maxHeadings {
		if !o.full {
			o.full = true
			o.problem(start, "more than %d headings; the rest are read as text", maxHeadings)
		}
		return
	}
	o.headings = append(o.headings, heading{
		start: start, level: level, title: fold(title), slug: slug(truncate(forID, maxTitle)),
	})
}

func (o *outline) problem(offset int, format string, args ...any) {
	o.problems = append(o.problems, outlineProblem{offset, fmt.Sprintf(format, args...)})
}

// link sets the parent of every heading. A heading ends the sections of all previous
// headings at its level or a deeper level.
func (o *outline) link() {
	inForce := [7]int{-1, -1, -1, -1, -1, -1, -1} // by level; level 0 is the page
	for i := range o.headings {
		h := &o.headings[i]
		h.parent = -1
		for level := h.level - 1; level > 0 && h.parent < 0; level-- {
			h.parent = inForce[level]
		}
		inForce[h.level] = i
		for level := h.level + 1; level < len(inForce); level++ {
			inForce[level] = -1
		}
	}
}

// firstH1 returns the index of the first level-1 heading in the range that starts
// at index from and ends before index to. If there is none, it returns -1.
func (o *outline) firstH1(from, to int) int {
	for i := from; i < to; i++ {
		if o.headings[i].level == 1 {
			return i
		}
	}
	return -1
}

// titleBlocks is the number of blocks at the start of a page that are searched for an
// <h1>. Comments and pictures often come before the <h1>.
const titleBlocks = 20

// title returns the text of the first level-1 heading. If there is none, it returns the
// text of an HTML <h1> near the start, which many READMEs have, or else "".
func (o *outline) title() string {
	if first := o.firstH1(0, len(o.headings)); first >= 0 {
		return o.headings[first].title
	}
	for i, b := range o.blocks[:min(len(o.blocks), titleBlocks)] {
		if _, ok := b.node.(*ast.HTMLBlock); !ok {
			continue
		}
		end := len(o.body)
		if i+1 < len(o.blocks) {
			end = o.blocks[i+1].start
		}
		block := o.body[:end]
		for _, tag := range [][2]string{{"<h1", "</h1>"}, {"<H1", "</H1>"}} {
			from := bytes.Index(block[b.start:], []byte(tag[0]))
			if from < 0 {
				continue
			}
			to := bytes.Index(block[b.start+from:], []byte(tag[1]))
			if to < 0 {
				continue
			}
			w := wordWriter{source: block}
			new(stripper).strip(&w, text.NewSegment(b.start+from, b.start+from+to))
			if title := fold(Visible(string(w.words))); title != "" {
				return title
			}
		}
	}
	return ""
}

// maxTitle is the maximum length of titles and headings, in code points. A paragraph
// above a stray line of dashes is also a heading. Without a limit, all of its text
// would be repeated in every ID and breadcrumb below it.
const maxTitle = 1000

// fold returns s on one line with single spaces, truncated to maxTitle.
func fold(s string) string {
	return truncate(strings.Join(strings.Fields(s), " "), maxTitle)
}

// shorten truncates a value from a file so that it fits into a sentence.
func shorten(s string) string { return truncate(s, 40) }

// truncate returns the first n code points of s.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
