// Package chunker splits a Markdown file into chunks with stable IDs.
//
// It is pure: it uses no disk and no clock, and keeps no state between calls. It is the
// only package that uses goldmark. Split never fails: it reports each defect in a file
// as a Problem and returns everything that it can read.
//
// Each of the seven steps has its own source file: normalise (bytes to clean text),
// frontmatter and strategy (the settings in the file), outline (goldmark, or a plain
// line scan for hostile input), cut (headings to pieces with IDs), size (splits long
// pieces and merges short pieces), text (the words of each piece) and describe (a piece
// to a chunk).
package chunker

import (
	"cmp"
	"fmt"
	"slices"
)

// By selects the headings at which a file is split.
type By string

// Values of By.
const (
	H1   By = "h1"
	H2   By = "h2"
	H3   By = "h3"
	File By = "file"
)

// Options configure Split. The zero value is ready to use.
type Options struct {
	// By selects the headings to split at. The default is H2. A chunking hint in the
	// file or its front matter takes precedence over By.
	By By
	// MaxChars is the maximum length of a chunk, in Unicode code points of Markdown.
	// Longer chunks are split further. Zero means 20,000, which is the limit in
	// docs-mcp.
	MaxChars int
	// MinChars is a length in code points. Parts of a section that are shorter are
	// merged with a neighbouring part. Zero disables merging. Chunks of different
	// headings are never merged.
	MinChars int
}

// Page is a Markdown file split into chunks.
type Page struct {
	// Title is the title in the front matter. If there is none, it is the text of
	// the first level-1 heading, or else the text of an HTML <h1>. If the page
	// has none of these, Title is empty.
	Title string
	// Description is the front matter's description, or empty if there is none.
	Description string
	// Metadata holds the facet values in the front matter, without surrounding white
	// space. Values in mcp_metadata override values in metadata. Metadata is nil if
	// there are no values.
	Metadata map[string]string
	// Chunks are in file order. The list is empty only for a file without text.
	// Concatenated, the chunks' Markdown is everything in the file after the front
	// matter. A page with only front matter has one chunk, without Markdown.
	Chunks []Chunk
	// Problems lists the problems that occurred during parsing, in line order.
	Problems []Problem
}

// Chunk is one piece of a page.
type Chunk struct {
	// ID has the form path or path#slug/slug. It is unique within the page. The
	// function ID builds it.
	ID string
	// Heading is the plain text of the chunk's own heading. If the chunk is the text
	// before the first split, Heading is the page's level-1 heading if the chunk
	// contains it, or else empty.
	Heading string
	// Level is the level of Heading, 1 to 6, or 0 if Heading is empty.
	Level int
	// Breadcrumb is the headings from the outermost ancestor to Heading, joined by " >
	// ". If there are no headings, it is the page title, or else the path.
	Breadcrumb string
	// StartLine and EndLine are 1-based and inclusive. They count lines in the original
	// file, including the front matter.
	StartLine, EndLine int
	// Markdown is the chunk's source, with LF line ends.
	Markdown string
	// Text is Markdown without its markup. It contains the words of prose, code,
	// tables and alternative texts of images, but not link targets, HTML tags or
	// comments.
	Text string
}

// Problem describes something in a file that could not be parsed.
type Problem struct {
	// Line is 1-based, or 0 if the problem concerns the whole file.
	Line int
	// Reason is one sentence without a full stop.
	Reason string
}

// maxProblems is the maximum length of Page.Problems, so that one hostile file cannot
// flood a build report.
const maxProblems = 50

// Split splits src, the content of the file at path, into chunks. path is relative to
// the corpus, with forward slashes. Split returns equal pages for equal arguments, does
// not retain src and may be called concurrently.
func Split(path string, src []byte, opts Options) Page {
	text, problems := normalise(src)
	front := readFrontMatter(text)
	front.title, front.description = Visible(front.title), Visible(front.description)
	outline := newOutline(text[front.end:])
	by, wrong := readHint(outline.body)
	lines := newLineCounter(text, front.end)
	problems = append(problems, front.problems...)
	for _, p := range append(wrong, outline.problems...) {
		problems = append(problems, Problem{lines.of(p.offset), p.reason})
	}

	page := Page{
		Title:       front.title,
		Description: front.description,
		Metadata:    front.metadata,
		Problems:    inLineOrder(problems),
	}
	if page.Title == "" {
		page.Title = outline.title()
	}
	c := cutter{outline: outline, opts: effective(opts, by, front), issued: map[string]bool{}}
	pieces := c.cut()
	d := describer{
		path: path, title: page.Title, front: front.title,
		markdown: string(outline.body), outline: outline, lines: lines,
	}
	texts := outline.texts(path, pieces)
	for i, p := range pieces {
		page.Chunks = append(page.Chunks, d.chunk(p, texts[i]))
	}
	if len(pieces) == 0 && front.end > 0 && page.Title+page.Description != "" {
		lastLine := 1 + countNewlines(text[:front.end-1])
		page.Chunks = []Chunk{frontOnly(path, c.opts.By, page, lastLine)}
	}
	return page
}

// frontOnly returns the only chunk of a page that consists of front matter. Folder
// overviews are often such pages. Searches find it by title and description.
func frontOnly(path string, by By, page Page, lastLine int) Chunk {
	fragment := preamble
	if by == File {
		fragment = ""
	}
	return Chunk{
		ID: ID(path, fragment), Breadcrumb: cmp.Or(page.Title, path),
		StartLine: 1, EndLine: lastLine, Text: page.Description,
	}
}

// inLineOrder sorts problems by line and keeps the first maxProblems.
func inLineOrder(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems],
			Problem{problems[maxProblems].Line, fmt.Sprintf("%d more problems are not listed", more)})
	}
	return problems
}
