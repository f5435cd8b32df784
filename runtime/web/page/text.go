package page

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Phrase renders the first line of source with inline markup, for labels and
// headings.
func Phrase(source string) template.HTML {
	line, _, _ := strings.Cut(strings.TrimSpace(Clean(source)), "\n")
	return template.HTML(inline(line))
}

// dict returns a map of names and values, for a template that takes several.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
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

// Sentence returns text with a capital letter at the start and a full stop at the
// end, or "" if text is empty.
func Sentence(text string) string {
	text = strings.TrimSuffix(Clean(text), ".")
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// marks matches inline markup: code, bold, emphasis, and a link with its address.
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

// Exact returns source as the value of a hidden input, for example a path that
// a form sends back. It converts control characters, and characters that change
// the text direction, to character references. The page's source therefore does
// not contain such characters.
func Exact(source string) template.HTML {
	var b strings.Builder
	for _, r := range source {
		if one := string(r); textutil.Plain(one) != one {
			fmt.Fprintf(&b, "&#x%x;", r)
			continue
		}
		b.WriteString(template.HTMLEscapeString(string(r)))
	}
	return template.HTML(b.String())
}
