package page

import (
	"html/template"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/deskhand/deskhand/runtime/web/diff"
)

// Limits for Markdown. If text exceeds them, it is shown as plain text, because
// parsing takes quadratic time.
const (
	mostMarkdown = 40 << 10
	mostLinks    = 300
	mostQuotes   = 40 // maximum in one line
)

func tooMuch(source string) bool {
	if len(source) > mostMarkdown || strings.Count(source, "](") > mostLinks {
		return true
	}
	for line := range strings.SplitSeq(source, "\n") {
		if start := strings.TrimLeft(line, "> \t"); strings.Count(line[:len(line)-len(start)], ">") > mostQuotes {
			return true
		}
	}
	return false
}

// markdown parses CommonMark with tables, task lists and strikethrough.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.TaskList, extension.Strikethrough)).Parser()

// Text renders an agent's Markdown: paragraphs, lists, quotes, tables, task
// lists, and code with syntax colours. Links and pictures are not active,
// because askers are not trusted. Text only shows their addresses. HTML is
// shown as text.
func Text(source string) template.HTML { return Linked(source, nil) }

// Linked is [Text] with links, for text of the person's own docs: follow returns the
// address on this server to which a link's destination leads, or "" if the link is
// not active.
func Linked(source string, follow func(destination string) string) template.HTML {
	source = strings.ReplaceAll(Clean(source), "\r\n", "\n")
	if tooMuch(source) {
		return template.HTML(`<pre dir="auto">` + template.HTMLEscapeString(source) + "</pre>\n")
	}
	data := []byte(source)
	t := typesetter{source: data, follow: follow}
	t.blocks(markdown.Parse(text.NewReader(data), parser.WithContext(parser.NewContext())))
	return template.HTML(t.out.String())
}

// typesetter writes the HTML of parsed Markdown. The result contains only tags
// that typesetter itself writes.
type typesetter struct {
	source []byte
	follow func(string) string // nil if no link is active
	out    strings.Builder
}

func (t *typesetter) text(s string) { t.out.WriteString(template.HTMLEscapeString(s)) }

func (t *typesetter) element(tag string, inside func()) {
	t.out.WriteString("<" + tag + ">")
	inside()
	name, _, _ := strings.Cut(tag, " ")
	t.out.WriteString("</" + name + ">")
}

func (t *typesetter) blocks(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		t.block(n)
	}
}

func (t *typesetter) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Paragraph:
		t.element(`p dir="auto"`, func() { t.inlines(n) })
	case *ast.TextBlock: // an item in a list without blank lines
		t.inlines(n)
	case *ast.Heading:
		t.element(`p dir="auto"`, func() { t.element("strong", func() { t.inlines(n) }) })
	case *ast.List:
		tag := "ul"
		if n.IsOrdered() {
			if tag = "ol"; n.Start > 1 {
				tag += ` start="` + strconv.Itoa(n.Start) + `"`
			}
		}
		t.element(tag+` dir="auto"`, func() { t.blocks(n) })
	case *ast.ListItem:
		t.element("li", func() { t.blocks(n) })
	case *ast.Blockquote:
		t.quote(n)
	case *ast.FencedCodeBlock:
		t.code(string(n.Language(t.source)), n)
	case *ast.CodeBlock:
		t.code("", n)
	case *ast.HTMLBlock:
		t.element(`p dir="auto"`, func() {
			t.text(strings.TrimSpace(t.lines(n)))
			if n.HasClosure() {
				t.text(strings.TrimRight("\n"+string(n.ClosureLine.Value(t.source)), "\n"))
			}
		})
	case *ast.ThematicBreak:
		t.out.WriteString("<hr>")
	case *extast.Table:
		t.table(n)
	default:
		t.blocks(n)
	}
	t.out.WriteByte('\n')
}

func (t *typesetter) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(t.source))
	}
	return b.String()
}

// CopyButton is a button that copies the element before it. It is not shown without its
// script.
const CopyButton = `<button type="button" class="quiet small" data-copy>Copy</button>`

func (t *typesetter) code(language string, n ast.Node) {
	t.element(`div class="copied"`, func() {
		t.element(`pre dir="ltr" tabindex="0"`, func() {
			t.out.WriteString(string(diff.Code(language, t.lines(n), func(s string) string { return s })))
		})
		t.out.WriteString(CopyButton)
	})
}

// table writes a table in its own box. If the page is narrow, the box scrolls.
func (t *typesetter) table(n *extast.Table) {
	t.element(`div class="tablebox" tabindex="0" role="region" aria-label="Table"`, func() {
		t.element("table", func() {
			for row := n.FirstChild(); row != nil; row = row.NextSibling() {
				tag := "td"
				if row.Kind() == extast.KindTableHeader {
					tag = "th"
				}
				t.element("tr", func() {
					for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
						t.element(tag+` dir="auto"`+sideOf(cell), func() { t.inlines(cell) })
					}
				})
			}
		})
	})
}

// sideOf returns the class of a table cell whose column is centred, or aligned with
// its end.
func sideOf(cell ast.Node) string {
	if c, ok := cell.(*extast.TableCell); ok {
		switch c.Alignment {
		case extast.AlignCenter:
			return ` class="middle"`
		case extast.AlignRight:
			return ` class="end"`
		}
	}
	return ""
}

// alerts are GitHub's alerts: quotes that begin with a line such as [!NOTE].
var alerts = map[string]struct{ name, class string }{
	"[!note]":      {"Note", "note"},
	"[!tip]":       {"Tip", "note good"},
	"[!important]": {"Important", "note good"},
	"[!warning]":   {"Warning", "note warn"},
	"[!caution]":   {"Caution", "note alarm"},
}

func (t *typesetter) quote(n *ast.Blockquote) {
	first, word := n.FirstChild(), ""
	if p, ok := first.(*ast.Paragraph); ok {
		line := p.Lines().At(0)
		word = strings.ToLower(strings.TrimSpace(string(line.Value(t.source))))
	}
	alert, ok := alerts[word]
	if !ok {
		t.element(`blockquote dir="auto"`, func() { t.blocks(n) })
		return
	}
	for part := first.FirstChild(); part != nil; part = first.FirstChild() { // the line itself
		first.RemoveChild(first, part)
		if text, ok := part.(*ast.Text); ok && (text.SoftLineBreak() || text.HardLineBreak()) {
			break
		}
	}
	if first.FirstChild() == nil {
		n.RemoveChild(n, first)
	}
	t.element(`blockquote class="`+alert.class+`" dir="auto"`, func() {
		t.element("p", func() { t.element("strong", func() { t.text(alert.name) }) })
		t.blocks(n)
	})
}

func (t *typesetter) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		t.inline(n)
	}
}

func (t *typesetter) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		t.text(string(n.Value(t.source)))
		if n.SoftLineBreak() || n.HardLineBreak() {
			t.out.WriteString("<br>")
		}
	case *ast.String:
		t.text(string(n.Value))
	case *ast.CodeSpan:
		t.element("code", func() { t.inlines(n) })
	case *ast.Emphasis:
		t.element(map[int]string{1: "em", 2: "strong"}[n.Level], func() { t.inlines(n) })
	case *extast.Strikethrough:
		t.element("del", func() { t.inlines(n) })
	case *ast.Link:
		if t.follow != nil {
			if to := t.follow(string(n.Destination)); to != "" {
				t.element(`a href="`+template.HTMLEscapeString(to)+`"`, func() { t.inlines(n) })
				return
			}
		}
		t.inlines(n)
		t.address(n.Destination)
	case *ast.Image:
		t.inlines(n)
		t.address(n.Destination)
	case *ast.AutoLink:
		t.element("code", func() { t.text(string(n.URL(t.source))) })
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			s := n.Segments.At(i)
			t.text(string(s.Value(t.source)))
		}
	case *extast.TaskCheckBox:
		t.text(map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked])
	default:
		t.inlines(n)
	}
}

func (t *typesetter) address(destination []byte) {
	t.out.WriteString(" (")
	t.element("code", func() { t.text(Clean(string(destination))) })
	t.out.WriteString(")")
}
