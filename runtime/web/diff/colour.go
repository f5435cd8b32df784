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

// mostColoured is the maximum size, in bytes, of a file that is coloured.
const mostColoured = 400 << 10

// token is a piece of a line, with the CSS class of its colour. The class is ""
// if the piece has no colour.
type token struct{ class, text string }

// class returns the CSS class for a kind of token.
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

// coloured returns the lines of a file as tokens. It returns nil if the file is
// too large or its language is unknown.
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

// colourTime is the time limit for colouring one file. A language's rules are
// regular expressions, and the author of a file may have chosen text that makes
// them slow.
const colourTime = 300 * time.Millisecond

// tokens returns the lines of text as tokens. It returns nil if colouring fails
// or takes too long.
func tokens(lexer chroma.Lexer, text string) (lines [][]token) {
	defer func() {
		if recover() != nil { // recovers from an unexpected case in a language's rules
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

// languages returns the names of all languages, in lower case. It is used
// because the library, if it does not know a name, would also try it as a file
// name.
var languages = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	for _, name := range lexers.Names(true) {
		known[strings.ToLower(name)] = true
	}
	return known
})

// Code returns text with a language's colours. language is the name after the
// fence of a Markdown code block. If the language is unknown, the text has no
// colours.
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
