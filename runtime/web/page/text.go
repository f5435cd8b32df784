package page

import (
	"html/template"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Text renders what an agent wrote: paragraphs, lists, fenced code, **bold**,
// *emphasis* and `code`. It supports no other markup and makes no links: the
// asker may be anyone, so addresses can be read but not clicked.
func Text(source string) template.HTML {
	t := &typesetter{}
	for line := range strings.SplitSeq(strings.ReplaceAll(Clean(source), "\r\n", "\n"), "\n") {
		t.line(line)
	}
	t.close()
	return template.HTML(t.out.String())
}

// Phrase renders the first line of a text with inline markup, for labels and
// headings.
func Phrase(source string) template.HTML {
	line, _, _ := strings.Cut(strings.TrimSpace(Clean(source)), "\n")
	return template.HTML(inline(line))
}

// Line returns the first line of a text, without markup.
func Line(source string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(Clean(source)), "\n")
	return unmarked.Replace(line)
}

var unmarked = strings.NewReplacer("**", "", "`", "")

// Clean removes characters that change the order of the text, and invalid ones.
func Clean(text string) string {
	return textutil.Plain(text)
}

// Sentence returns text with a capital at the start and a full stop at the end;
// empty if text is empty.
func Sentence(text string) string {
	text = strings.TrimSuffix(Clean(text), ".")
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

var (
	bullet = regexp.MustCompile(`^\s{0,3}[-*+]\s+(.*)$`)
	number = regexp.MustCompile(`^\s{0,3}\d{1,9}[.)]\s+(.*)$`)
	header = regexp.MustCompile(`^\s{0,3}#{1,6}\s+(.*?)\s*#*$`)
	fence  = regexp.MustCompile("^\\s{0,3}(```+|~~~+)")
)

// typesetter writes one element after the other; none is in another but what
// stands in a line.
type typesetter struct {
	out  strings.Builder
	open string // p, ul, ol, pre or nothing
	mark string // that ends the fenced code
}

func (t *typesetter) line(line string) {
	if t.open == "pre" {
		if strings.HasPrefix(strings.TrimSpace(line), t.mark) {
			t.close()
			return
		}
		t.out.WriteString(template.HTMLEscapeString(line) + "\n")
		return
	}
	if m := fence.FindStringSubmatch(line); m != nil {
		t.begin("pre")
		t.mark = m[1]
	} else if m := bullet.FindStringSubmatch(line); m != nil {
		t.item("ul", m[1])
	} else if m := number.FindStringSubmatch(line); m != nil {
		t.item("ol", m[1])
	} else if m := header.FindStringSubmatch(line); m != nil {
		t.begin("p")
		t.out.WriteString("<strong>" + inline(m[1]) + "</strong>")
		t.close()
	} else if strings.TrimSpace(line) == "" {
		t.close()
	} else if t.open == "p" {
		t.out.WriteString("<br>" + inline(strings.TrimSpace(line)))
	} else if t.open != "" && strings.HasPrefix(line, " ") {
		t.out.WriteString(" " + inline(strings.TrimSpace(line))) // goes on in its item
	} else {
		t.begin("p")
		t.out.WriteString(inline(strings.TrimSpace(line)))
	}
}

func (t *typesetter) begin(element string) {
	t.close()
	t.open = element
	t.out.WriteString("<" + element + ` dir="auto">`)
}

func (t *typesetter) item(list, text string) {
	if t.open != list {
		t.begin(list)
	}
	t.out.WriteString("<li>" + inline(text)) // HTML ends an item where the next begins
}

func (t *typesetter) close() {
	if t.open != "" {
		t.out.WriteString("</" + t.open + ">\n")
	}
	t.open = ""
}

// marks are what stands in a line: code, bold, emphasis, and a link with its
// address.
var marks = regexp.MustCompile("`([^`]+)`" + `|\*\*([^*\s](?:[^*]*[^*\s])?)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*|\[([^\]\[]+)\]\(([^()\s]+)\)`)

func inline(text string) string {
	var b strings.Builder
	escape := template.HTMLEscapeString
	for {
		m := marks.FindStringSubmatchIndex(text)
		if m == nil {
			b.WriteString(escape(text))
			return b.String()
		}
		b.WriteString(escape(text[:m[0]]))
		group := func(i int) string { return escape(text[m[2*i]:m[2*i+1]]) }
		switch {
		case m[2] >= 0:
			b.WriteString("<code>" + group(1) + "</code>")
		case m[4] >= 0:
			b.WriteString("<strong>" + group(2) + "</strong>")
		case m[6] >= 0:
			b.WriteString("<em>" + group(3) + "</em>")
		default:
			b.WriteString(group(4) + " (<code>" + group(5) + "</code>)")
		}
		text = text[m[1]:]
	}
}
