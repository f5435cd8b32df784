package diff

import (
	"html/template"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// mostColoured is how large a file may be to get colours, in bytes.
const mostColoured = 400 << 10

// token is a part of a line with the class of its colour; empty: none.
type token struct{ class, text string }

// classes are the few colours that there are, by the kind of a token.
func class(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InCategory(chroma.Keyword), t == chroma.OperatorWord:
		return "k"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber):
		return "m"
	case t == chroma.NameFunction, t == chroma.NameClass, t == chroma.NameTag, t == chroma.NameDecorator:
		return "f"
	case t == chroma.NameAttribute, t.InSubCategory(chroma.NameBuiltin):
		return "b"
	}
	return ""
}

// coloured are the lines of a file of that name as tokens; nil: it is too large,
// or of no language that is known.
func coloured(name string, data []byte) [][]token {
	if len(data) == 0 || len(data) > mostColoured {
		return nil
	}
	lexer := lexers.Match(path.Base(name))
	if lexer == nil {
		return nil
	}
	return tokens(lexer, string(data))
}

// colourTime bounds how long one file is looked at: the rules of a language are
// regular expressions, and who wrote the file may have wanted them to be slow.
const colourTime = 300 * time.Millisecond

// tokens are nil if the language cannot be told in time.
func tokens(lexer chroma.Lexer, text string) (lines [][]token) {
	defer func() {
		if recover() != nil { // a rule of a language that has met what nobody thought of
			lines = nil
		}
	}()
	end := time.Now().Add(colourTime)
	found, err := chroma.Coalesce(lexer).Tokenise(nil, text)
	if err != nil {
		return nil
	}
	lines = [][]token{nil}
	for t := found(); t != chroma.EOF; t = found() {
		if time.Now().After(end) {
			return nil
		}
		c := class(t.Type)
		for i, part := range strings.Split(t.Value, "\n") {
			if i > 0 {
				lines = append(lines, nil)
			}
			if part != "" {
				lines[len(lines)-1] = append(lines[len(lines)-1], token{c, part})
			}
		}
	}
	return lines
}

// languages are the names of all languages, in lower case. To look one up that is
// not there would try the names of files.
var languages = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	for _, name := range lexers.Names(true) {
		known[strings.ToLower(name)] = true
	}
	return known
})

// Code is a text with the colours of a language, which is named as behind the
// fence of markdown. Of no language that is known, it has none.
func Code(language, text string, clean func(string) string) template.HTML {
	text = clean(text)
	if !languages()[strings.ToLower(language)] || len(text) > mostColoured {
		return template.HTML(template.HTMLEscapeString(text))
	}
	lexer := lexers.Get(language)
	var b strings.Builder
	for i, line := range tokens(lexer, text) {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(string(typeset(line, nil, clean)))
	}
	if b.Len() == 0 {
		return template.HTML(template.HTMLEscapeString(text))
	}
	return template.HTML(strings.TrimSuffix(b.String(), "\n"))
}

// typeset is a line as HTML, with marks around its changed parts.
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
