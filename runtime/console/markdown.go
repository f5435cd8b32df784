package console

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// typeset formats Markdown for a terminal with the given number of columns. It uses the
// terminal's own 16 colours, which people can read on the background that they chose.
func typeset(source string, paint Paint, width int) string {
	data := []byte(source)
	t := typesetter{source: data, paint: paint, width: width}
	t.blocks(goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(data)))
	return t.out.String()
}

type typesetter struct {
	source []byte
	paint  Paint
	width  int
	out    strings.Builder
	// indent begins each line. If first is not empty, it begins the next line instead.
	indent, first string
}

// Styles as SGR codes.
const (
	bold      = "1"
	italic    = "3"
	underline = "4"
	cyan      = "36"
)

// span is text in one style, which is empty or an SGR code.
type span struct{ text, style string }

// word is what stands between two spaces.
type word []span

func (w word) width() (n int) {
	for _, s := range w {
		n += ansi.StringWidth(s.text)
	}
	return n
}

func (t *typesetter) line(s string) {
	indent := t.indent
	if t.first != "" {
		indent, t.first = t.first, ""
	}
	t.out.WriteString(strings.TrimRight(indent+s, " ") + "\n")
}

// room returns the number of columns beside the indent.
func (t *typesetter) room() int { return max(t.width-ansi.StringWidth(t.indent), 10) }

// blocks writes the blocks of a node, with empty lines between them unless the node is
// an item of a list without empty lines.
func (t *typesetter) blocks(parent ast.Node) {
	list, _ := parent.Parent().(*ast.List)
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil && (list == nil || !list.IsTight) {
			t.line("")
		}
		t.block(n)
	}
}

func (t *typesetter) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		t.words(slices.Concat([]word{{{strings.Repeat("#", n.Level), bold}}}, t.inline(n, bold)))
	case *ast.Paragraph, *ast.TextBlock:
		t.words(t.inline(n, ""))
	case *ast.List:
		t.list(n)
	case *ast.Blockquote:
		t.inside("│ ", "│ ", n)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		for l := range strings.SplitSeq(strings.TrimSuffix(t.lines(n), "\n"), "\n") {
			t.line("  " + t.paint.Code(l, cyan))
		}
	case *ast.HTMLBlock: // the manual has none that says anything
	case *ast.ThematicBreak:
		t.line("--------")
	case *extast.Table:
		t.table(n)
	default:
		t.blocks(n)
	}
}

func (t *typesetter) list(n *ast.List) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "- "
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		if item.PreviousSibling() != nil && !n.IsTight {
			t.line("")
		}
		t.inside(mark, strings.Repeat(" ", len(mark)), item)
	}
}

// inside writes a node's blocks behind first in their first line, and behind indent in
// the others.
func (t *typesetter) inside(first, indent string, n ast.Node) {
	before := t.indent
	t.first, t.indent = before+first, before+indent
	t.blocks(n)
	if t.first != "" { // the node is empty
		t.line("")
	}
	t.indent = before
}

func (t *typesetter) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(t.source))
	}
	return b.String()
}

// inline returns the words of a node.
func (t *typesetter) inline(parent ast.Node, style string) (words []word) {
	var now word
	end := func() {
		if now != nil {
			words = append(words, now)
		}
		now = nil
	}
	for _, s := range t.spans(parent, style) {
		for i, part := range strings.Split(spaced(s.text), " ") {
			if i > 0 {
				end()
			}
			if part != "" {
				now = append(now, span{part, s.style})
			}
		}
	}
	end()
	return words
}

// spaced returns text with spaces in place of tabs and line ends.
func spaced(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) && r != '\u00a0' {
			return ' '
		}
		return r
	}, text)
}

func (t *typesetter) spans(parent ast.Node, style string) (all []span) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			text := string(n.Value(t.source))
			if parent.Kind() != ast.KindCodeSpan {
				text = string(util.ResolveNumericReferences(util.ResolveEntityNames(util.UnescapePunctuations([]byte(text)))))
			}
			if n.SoftLineBreak() || n.HardLineBreak() {
				text += " "
			}
			all = append(all, span{text, style})
		case *ast.String:
			all = append(all, span{string(n.Value), style})
		case *ast.CodeSpan:
			for _, s := range t.spans(n, "") {
				all = append(all, span{s.text, cyan})
			}
		case *ast.Emphasis:
			all = append(all, t.spans(n, []string{italic, bold}[min(n.Level, 2)-1])...)
		case *ast.Link:
			all = append(all, t.spans(n, underline)...)
			if to := string(n.Destination); to != "" {
				all = append(all, span{" " + to, style})
			}
		case *ast.Image:
			all = append(all, t.spans(n, style)...)
		case *ast.AutoLink:
			all = append(all, span{string(n.URL(t.source)), underline})
		case *ast.RawHTML: // for example <br>
			all = append(all, span{" ", style})
		default:
			all = append(all, t.spans(n, style)...)
		}
	}
	return all
}

func (t *typesetter) words(words []word) {
	for _, l := range t.fold(words, t.room()) {
		t.line(l)
	}
}

// fold returns words as lines of at most width columns. A longer word has a line of its
// own, so that commands can be copied.
func (t *typesetter) fold(words []word, width int) (lines []string) {
	var line []span
	at := 0
	for _, w := range words {
		n := w.width()
		switch {
		case at > 0 && at+1+n > width:
			lines = append(lines, t.render(line))
			line, at = nil, 0
		case at > 0 && line[len(line)-1].style == w[0].style:
			line, at = append(line, span{" ", w[0].style}), at+1
		case at > 0:
			line, at = append(line, span{text: " "}), at+1
		}
		line = append(line, w...)
		at += n
	}
	return append(lines, t.render(line))
}

// render returns a line with its styles.
func (t *typesetter) render(line []span) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		text, style := "", line[i].style
		for ; i < len(line) && line[i].style == style; i++ {
			text += line[i].text
		}
		if style == "" {
			b.WriteString(t.paint.Plain(text))
		} else {
			b.WriteString(t.paint.Code(text, style))
		}
	}
	return b.String()
}

// leastColumn is the width below which no column of a table becomes.
const leastColumn = 8

func (t *typesetter) table(n *extast.Table) {
	var rows [][][]word
	var widths []int
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		style := ""
		if row.Kind() == extast.KindTableHeader {
			style = bold
		}
		var cells [][]word
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			words := t.inline(cell, style)
			cells = append(cells, words)
			for len(widths) < len(cells) {
				widths = append(widths, 1)
			}
			all := len(words) - 1
			for _, w := range words {
				all += w.width()
			}
			widths[len(cells)-1] = max(widths[len(cells)-1], all)
		}
		rows = append(rows, cells)
	}
	t.narrow(widths)
	for i, cells := range rows {
		t.row(cells, widths)
		if i == 0 {
			var rule []string
			for _, w := range widths {
				rule = append(rule, strings.Repeat("─", w))
			}
			t.line(strings.Join(rule, "─┼─"))
		}
	}
}

// narrow takes columns from the widest ones until the table fits.
func (t *typesetter) narrow(widths []int) {
	over := 3*(len(widths)-1) - t.room()
	for _, w := range widths {
		over += w
	}
	for ; over > 0; over-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= leastColumn {
			return
		}
		widths[widest]--
	}
}

func (t *typesetter) row(cells [][]word, widths []int) {
	folded, height := make([][]string, len(widths)), 1
	for i := range widths {
		if i < len(cells) {
			folded[i] = t.fold(cells[i], widths[i])
		}
		height = max(height, len(folded[i]))
	}
	for n := range height {
		parts := make([]string, len(widths))
		for i := range parts {
			if n < len(folded[i]) {
				parts[i] = folded[i][n]
			}
			parts[i] += strings.Repeat(" ", max(widths[i]-ansi.StringWidth(parts[i]), 0))
		}
		t.line(strings.Join(parts, " │ "))
	}
}
