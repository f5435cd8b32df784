package chunker

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// texts returns the words of each piece. It walks the tree once and adds each word to
// the piece in which the word occurs.
func (o *outline) texts(path string, pieces []piece) []string {
	texts := make([]string, len(pieces))
	if !o.parsed {
		for i, p := range pieces {
			texts[i] = strings.TrimSpace(Visible(string(o.body[p.start:p.end])))
		}
		return texts
	}
	w := wordWriter{source: o.body, tagged: o.tagged, pieces: pieces, words: make([]byte, 0, len(o.body))}
	mdx, top := strings.HasSuffix(strings.ToLower(path), ".mdx"), true
	for i, b := range o.blocks {
		w.at(b.start)
		end := len(o.body)
		if i+1 < len(o.blocks) {
			end = o.blocks[i+1].start
		}
		if !isModuleSyntax(o.body[b.start:end], mdx, top) {
			top = false
			w.node(b.node)
		}
	}
	w.at(len(o.body))
	all := string(w.words)
	for i, from := range w.begins {
		to := len(all)
		if i+1 < len(w.begins) {
			to = w.begins[i+1]
		}
		texts[i] = strings.TrimSpace(Visible(all[from:to]))
	}
	return texts
}

// invisible removes characters that readers do not see and that would split a word:
// soft hyphens, byte-order marks inside the text, and word joiners.
var invisible = strings.NewReplacer("\u00ad", "", "\ufeff", "", "\u2060", "")

// Visible returns s without the characters that readers do not see and that would split
// a word: soft hyphens, byte-order marks and word joiners. Split applies Visible to
// text, headings, titles and descriptions. A search must apply it to the query.
func Visible(s string) string {
	if strings.Contains(s, "\u00ad") || strings.Contains(s, "\ufeff") || strings.Contains(s, "\u2060") {
		return invisible.Replace(s)
	}
	return s
}

// headingText returns the words of a heading, including line ends but without an
// explicit {#id}. title is for display. forID is for the heading's ID and keeps the
// notation of site generators.
func (o *outline) headingText(h *ast.Heading) (title, forID string) {
	w := wordWriter{source: o.body, tagged: o.tagged}
	w.node(h)
	title = strings.TrimSpace(string(w.words))
	w = wordWriter{source: o.body, literal: true}
	w.node(h)
	return title, strings.TrimSpace(string(w.words))
}

// wordWriter collects words. Offsets only increase during a walk.
type wordWriter struct {
	source  []byte
	pieces  []piece
	words   []byte
	begins  []int // offsets in words at which the pieces reached so far start
	skip    int   // offset in source; nothing before it is written
	literal bool  // write the notation of site generators as text
	tagged  bool  // source contains template tags
}

// at sets the offset in source of the next words.
func (w *wordWriter) at(offset int) {
	for len(w.begins) < len(w.pieces) && w.pieces[len(w.begins)].start <= offset {
		w.begins = append(w.begins, len(w.words))
	}
}

// node writes n and its descendants. It does not recurse, because inline nodes can be
// nested very deeply within one line.
func (w *wordWriter) node(root ast.Node) {
	begin, begun := len(w.words), len(w.begins)
	for n := root; ; {
		if w.enter(n) && n.HasChildren() {
			n = n.FirstChild()
			continue
		}
		w.leave(n)
		for n != root && n.NextSibling() == nil {
			n = n.Parent()
			w.leave(n)
		}
		if n == root {
			break
		}
		n = n.NextSibling()
	}
	if _, ok := root.(*ast.Heading); ok && begun == len(w.begins) {
		words := withoutID(w.words[begin:])
		if !w.literal {
			words = bytes.TrimRight(withoutAnchor(words), " \t\n")
		}
		w.words = append(w.words[:begin], words...)
		if !w.literal && isBlank(words) { // the node contains only notation
			w.words, w.literal, w.skip = w.words[:begin], true, 0
			w.node(root)
			w.literal = false
		}
	}
	w.lineEnd()
}

// enter writes n's own words and reports whether its children must be visited.
func (w *wordWriter) enter(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Text:
		if n.IsRaw() {
			w.segment(n.Segment, asIs)
		} else {
			w.prose(n.Segment, false, unescape)
		}
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.lineEnd()
		}
	case *ast.String:
		w.words = append(w.words, n.Value...)
	case *ast.AutoLink:
		w.words = append(w.words, n.Label(w.source)...)
	case *ast.RawHTML:
		s := stripper{}
		for i := range n.Segments.Len() {
			s.strip(w, n.Segments.At(i))
		}
	case *ast.HTMLBlock:
		s := stripper{}
		w.lines(n.Lines(), s.strip)
		if n.HasClosure() {
			s.strip(w, n.ClosureLine)
		}
	case *ast.CodeBlock, *ast.FencedCodeBlock, *plainBlock:
		w.lines(n.Lines(), func(w *wordWriter, line text.Segment) { w.segment(line, asIs) })
	case *ast.Paragraph, *ast.TextBlock:
		if isComponent(w.source, n.Lines()) {
			s := stripper{}
			w.lines(n.Lines(), s.strip)
			return false
		}
		return true
	case *ast.LinkReferenceDefinition:
	default:
		return true
	}
	return false
}

// leave writes the separator between n and the next node.
func (w *wordWriter) leave(n ast.Node) {
	switch n.Kind() {
	case extast.KindTableCell:
		w.space()
	default:
		if n.Type() == ast.TypeBlock {
			w.lineEnd()
		}
	}
}

func (w *wordWriter) lines(lines *text.Segments, write func(*wordWriter, text.Segment)) {
	for i := range lines.Len() {
		write(w, lines.At(i))
	}
}

// segment writes a stretch of the source, and splits it where a piece starts inside it.
func (w *wordWriter) segment(s text.Segment, decode func([]byte) []byte) {
	if s.Start < w.skip {
		s.Start, s.Padding = min(w.skip, s.Stop), 0
	}
	w.at(s.Start)
	for range s.Padding {
		w.words = append(w.words, ' ')
	}
	for s.Start < s.Stop {
		stop := s.Stop
		if next := len(w.begins); next < len(w.pieces) {
			stop = min(stop, w.pieces[next].start)
		}
		w.words = append(w.words, decode(w.source[s.Start:stop])...)
		s.Start = stop
		w.at(stop)
	}
}

func asIs(b []byte) []byte { return b }

// unescape resolves backslash escapes and character references.
func unescape(b []byte) []byte {
	if bytes.IndexByte(b, '\\') >= 0 {
		b = util.UnescapePunctuations(b)
	}
	return resolve(b)
}

// resolve replaces character references, for example &amp; and &#39;.
func resolve(b []byte) []byte {
	if bytes.IndexByte(b, '&') >= 0 {
		b = util.ResolveEntityNames(util.ResolveNumericReferences(b))
	}
	return b
}

// space writes a space unless the words already end with a separator.
func (w *wordWriter) space() {
	if !w.separated() {
		w.words = append(w.words, ' ')
	}
}

// separated reports whether the next word would start after a separator.
func (w *wordWriter) separated() bool {
	n := len(w.words)
	return n == 0 || w.words[n-1] == ' ' || w.words[n-1] == '\n'
}

func (w *wordWriter) lineEnd() {
	if n := len(w.words); n > 0 && w.words[n-1] != '\n' {
		w.words = append(w.words, '\n')
	}
}

// withoutID removes an explicit ID from the end of a heading. It recognizes {#install}
// and the attribute lists { #install } and {: #install} of other tools.
func withoutID(words []byte) []byte {
	trimmed := bytes.TrimRight(words, " \t\n")
	at := bytes.LastIndexByte(trimmed, '{')
	if at < 0 {
		return words
	}
	inner, closed := bytes.CutSuffix(trimmed[at+1:], []byte("}"))
	id := bytes.Trim(bytes.TrimPrefix(inner, []byte(":")), " \t")
	if !closed || len(id) < 2 || id[0] != '#' || bytes.ContainsAny(id, "} \t\n") {
		return words
	}
	return bytes.TrimRight(trimmed[:at], " \t\n")
}
