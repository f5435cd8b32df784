package chunker

import (
	"bytes"
	"fmt"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Limits on goldmark's input. goldmark cannot be interrupted, takes quadratic time on
// some inputs, and builds a tree of up to 400 bytes per input byte. With these limits,
// the worst file found takes 2 s and 310 MB (BenchmarkHostile). Real files stay far
// below all of them.
const (
	maxBodyBytes = 16 << 20
	maxLineBytes = 1 << 20
	maxLines     = 1 << 20
	maxNesting   = 64      // open blocks; each list level counts as two
	maxNodes     = 1 << 19 // blocks, inline nodes, table cells
	// maxEffort is the effort that the parsers of inline markup and link definitions
	// may spend on one file. One unit is about the effort of reading one byte.
	// maxBlockEffort is the limit for one block. Among 6,000 documentation pages, the
	// worst page needed 12 units per byte.
	maxEffort      = 1 << 28
	maxBlockEffort = maxEffort / 4
)

const readByLine = "; the file is read line by line and split only at # headings"

// beyondLimits returns the reason why goldmark must not parse body, and the offset
// where the problem starts, or -1 if the problem concerns the whole body. The reason
// is empty if body is within the limits.
func beyondLimits(body []byte) (at int, reason string) {
	if len(body) > maxBodyBytes {
		return -1, fmt.Sprintf("the file is larger than %d MiB", maxBodyBytes>>20) + readByLine
	}
	for n := 0; at < len(body); n++ {
		length := bytes.IndexByte(body[at:], '\n')
		if length < 0 {
			length = len(body) - at - 1
		}
		if length > maxLineBytes {
			return at, fmt.Sprintf("a line is longer than %d KiB", maxLineBytes>>10) + readByLine
		}
		if n == maxLines {
			return at, fmt.Sprintf("the file has more than %d lines", maxLines) + readByLine
		}
		at += length + 1
	}
	return 0, ""
}

// tooMuch is the panic value that a guard uses to stop goldmark.
type tooMuch string

// guard is goldmark's context for one file. It stops the parser if blocks are
// nested too deeply, and counts the effort of the inline parsers.
type guard struct {
	parser.Context
	nodes, effort int
	escapedPipes  int
	block         ast.Node // the block whose inline nodes are being parsed
	blockEffort   int
	delimiters    int // number of emphasis and strikethrough delimiters in block
	at            int // start of the last block seen
	limited       bool
	problems      []outlineProblem
}

// SetOpenedBlocks implements the method that goldmark calls when blocks open or close.
func (g *guard) SetOpenedBlocks(blocks []parser.Block) {
	if len(blocks) > len(g.OpenedBlocks()) {
		if at := blocks[len(blocks)-1].Node.Pos(); at >= 0 {
			g.at = at
		}
		if len(blocks) > maxNesting {
			panic(tooMuch(fmt.Sprintf("blocks are nested more than %d levels deep", maxNesting) + readByLine))
		}
		if g.nodes++; g.nodes > maxNodes {
			panic(tooMuch(fmt.Sprintf("the file has more than %d blocks", maxNodes) + readByLine))
		}
	}
	g.Context.SetOpenedBlocks(blocks)
}

// asText records a problem, once per file: markup from offset on is read as text.
func (g *guard) asText(offset int) {
	if !g.limited {
		g.limited = true
		g.problems = append(g.problems, outlineProblem{offset, "too much markup in one place; some of it is read as text"})
	}
}

// gate turns two kinds of paragraphs into plain text: paragraphs that would become a
// table with far more cells than text, and paragraphs with thousands of link
// definitions.
type gate struct{}

func (gate) Transform(paragraph *ast.Paragraph, reader text.Reader, pc parser.Context) {
	g, lines := pc.(*guard), paragraph.Lines()
	if g.tableFits(lines, reader.Source()) && g.definitionsFit(lines, reader.Source()) {
		return
	}
	g.asText(lines.At(0).Start)
	plain := &plainBlock{}
	plain.SetLines(lines)
	plain.SetPos(lines.At(0).Start)
	paragraph.Parent().ReplaceChild(paragraph.Parent(), paragraph, plain)
}

// tableFits charges for the cells that goldmark would create, and reports whether
// they are within the limits. goldmark pads short rows to the width of the delimiter
// row.
func (g *guard) tableFits(lines *text.Segments, source []byte) bool {
	for i := 1; i < lines.Len(); i++ {
		delimiter := lines.At(i)
		columns := delimiterColumns(delimiter.Value(source))
		if columns == 0 {
			continue
		}
		last := lines.At(lines.Len() - 1)
		rows := source[delimiter.Start:last.Stop]
		cells := columns * (lines.Len() - i + 1)
		if cells > 4*bytes.Count(rows, []byte("|"))+10_000 || g.nodes+cells > maxNodes {
			return false
		}
		// goldmark compares each escaped pipe in a code span with all others.
		pipes := bytes.Count(rows, []byte(`\|`))
		g.escapedPipes += pipes
		g.nodes += cells
		return g.spend(pipes * g.escapedPipes)
	}
	return true
}

// delimiterColumns returns the number of columns in a line like |---|:-:|, or 0 for any
// other line.
func delimiterColumns(line []byte) int {
	dash := false
	for _, c := range line {
		switch c {
		case '-':
			dash = true
		case '|', ':', ' ', '\t', '\n':
		default:
			return 0
		}
	}
	if !dash {
		return 0
	}
	return bytes.Count(line, []byte("|")) + 1
}

// definitionsFit charges for a block of link definitions, and reports whether enough
// effort was left. goldmark moves all following lines for each definition.
func (g *guard) definitionsFit(lines *text.Segments, source []byte) bool {
	first := lines.At(0)
	if !bytes.HasPrefix(bytes.TrimLeft(first.Value(source), " "), []byte("[")) {
		return true
	}
	return g.spend(lines.Len() * lines.Len())
}

// spend subtracts units from the file's remaining effort. It returns false if fewer
// than units are left.
func (g *guard) spend(units int) bool {
	if g.effort+units > maxEffort {
		return false
	}
	g.effort += units
	return true
}

// plainBlock is a paragraph in which markup is not parsed.
type plainBlock struct{ ast.BaseBlock }

var kindPlainBlock = ast.NewNodeKind("PlainBlock")

func (*plainBlock) Kind() ast.NodeKind { return kindPlainBlock }

// IsRaw stops goldmark from parsing inline markup.
func (*plainBlock) IsRaw() bool { return true }

func (b *plainBlock) Dump(source []byte, level int) { ast.DumpHelper(b, source, level, nil, nil) }

// measuredHTML charges for the lines that may start an HTML block. goldmark matches
// each of these lines against seven patterns, which takes about 100 times as long
// as reading another line.
type measuredHTML struct{ parser.BlockParser }

const htmlUnits = 32 // per byte

func (m measuredHTML) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	g := pc.(*guard)
	line, at := reader.PeekLine()
	if !g.spend(htmlUnits * len(line)) {
		g.asText(at.Start)
		return nil, parser.NoChildren
	}
	return m.BlockParser.Open(parent, reader, pc)
}

// measuredParser charges the guard for every call to an inline parser. When no effort
// is left, measuredParser parses no markup, and goldmark treats the characters as text.
type measuredParser struct{ parser.InlineParser }

// measuredCloser is a measuredParser that goldmark also notifies when a block ends.
type measuredCloser struct {
	measuredParser
	parser.CloseBlocker
}

func measured(p parser.InlineParser, priority int) util.PrioritizedValue {
	m := measuredParser{p}
	if c, ok := p.(parser.CloseBlocker); ok {
		return util.Prioritized(measuredCloser{m, c}, priority)
	}
	return util.Prioritized(m, priority)
}

func (m measuredParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	g := pc.(*guard)
	if !g.allows(parent, block.Peek()) {
		_, at := block.Position()
		g.asText(at.Start)
		return nil
	}
	n := m.InlineParser.Parse(parent, block, pc)
	if n != nil {
		g.nodes++
	}
	return n
}

// allows charges for the work that a parser may do when it starts at trigger, and
// reports whether enough effort is left.
func (g *guard) allows(block ast.Node, trigger byte) bool {
	if g.block != block {
		g.block, g.blockEffort, g.delimiters = block, 0, 0
	}
	units := 64
	lines := block.Lines()
	length := lines.At(lines.Len()-1).Stop - lines.At(0).Start
	switch trigger {
	case '`', '<': // may scan the whole block for the closing character
		units += length
	case ']': // may scan the block byte by byte for each form of link
		units += 4 * length
	case '*', '_', '~': // are all compared with each other at the end
		g.delimiters++
		units += 16 * g.delimiters
	}
	if g.nodes >= maxNodes || g.blockEffort+units > maxBlockEffort || !g.spend(units) {
		return false
	}
	g.blockEffort += units
	return true
}
