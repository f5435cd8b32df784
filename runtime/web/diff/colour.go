package diff

import (
	"html/template"
	"strings"
)

// mostColoured is the maximum size, in bytes, of a file that is coloured.
const mostColoured = 400 << 10

// coloured returns the lines of a file as tokens. It returns nil if the file is
// too large or its language is unknown.
func coloured(name string, data []byte) [][]token {
	l := ofFile(name)
	if l == nil || len(data) == 0 || len(data) > mostColoured {
		return nil
	}
	return l.tokens(string(data))
}

// Code returns text with a language's colours. name is the word after the
// fence of a Markdown code block. If it names no known language, the text has no
// colours.
func Code(name, text string, clean func(string) string) template.HTML {
	text = clean(text)
	l := ofName(name)
	if l == nil || len(text) > mostColoured {
		return template.HTML(template.HTMLEscapeString(text))
	}
	var b strings.Builder
	for i, line := range l.tokens(text) {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(string(typeset(line, nil, clean)))
	}
	return template.HTML(strings.TrimSuffix(b.String(), "\n"))
}

// typeset returns a line as HTML. It puts marks around the changed parts.
func typeset(line []token, marks []span, clean func(string) string) template.HTML {
	var b strings.Builder
	at := 0
	for _, t := range line {
		for text := t.text; text != ""; {
			n, marked := len(text), false
			for _, m := range marks {
				if at < m.from && m.from < at+n {
					n = m.from - at
				}
				if m.from <= at && at < m.to {
					n, marked = min(n, m.to-at), true
				}
			}
			write(&b, t.class, clean(text[:n]), marked)
			at, text = at+n, text[n:]
		}
	}
	return template.HTML(b.String())
}

func write(b *strings.Builder, class, text string, marked bool) {
	if marked {
		b.WriteString("<mark>")
	}
	if class != "" {
		b.WriteString(`<i class="` + class + `">`)
	}
	b.WriteString(template.HTMLEscapeString(text))
	if class != "" {
		b.WriteString("</i>")
	}
	if marked {
		b.WriteString("</mark>")
	}
}
