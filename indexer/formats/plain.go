package formats

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// plainPages converts plain text. It escapes characters that Markdown would interpret,
// but keeps underlined headings.
func plainPages(_ context.Context, c *Converter, w *work) error {
	text, err := decode(w.src)
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return errNotOurs
	}
	var b builder
	lines := strings.Split(text, "\n")
	if !underlined(lines) {
		b.block(0, "# "+escapePlain(stem(w.Path)))
	}
	for i, line := range lines {
		b.add(i+1, escapePlain(strings.TrimRight(line, " \t\f\v")))
	}
	return c.write(w, "", b.text.String(), b.lines)
}

// underlined reports whether the first line that is not blank is an underlined
// Markdown heading.
func underlined(lines []string) bool {
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			return i == 0 && len(lines) > 1 && len(line) == len(strings.TrimLeft(line, " \t")) && underline().MatchString(lines[1])
		}
	}
	return false
}

var underline = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(={3,}|-{3,})\s*$`) })

// markup matches the beginning of a line that Markdown would treat specially.
var markup = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^( {0,3})(#{1,6}(?:\\s|$)|```|~~~|>)") })

// escapePlain escapes a line so that Markdown does not read it as a heading, a fence
// or a tag.
func escapePlain(line string) string {
	return strings.ReplaceAll(markup().ReplaceAllString(line, `$1\$2`), "<", `\<`)
}

// decode returns the text of a file with LF line ends. It recognizes UTF-8, and
// UTF-16 with a byte-order mark. All other text is read as Windows-1252, which is a
// superset of Latin-1.
func decode(src []byte) (string, error) {
	switch {
	case bytes.HasPrefix(src, []byte{0xEF, 0xBB, 0xBF}):
		src = src[3:]
	case bytes.HasPrefix(src, []byte{0xFF, 0xFE}), bytes.HasPrefix(src, []byte{0xFE, 0xFF}):
		src = fromUTF16(src)
	}
	if bytes.IndexByte(src, 0) >= 0 {
		return "", errors.New("it is not text")
	}
	if !utf8.Valid(src) {
		src = fromLatin(src)
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(src)), nil
}

func fromUTF16(src []byte) []byte {
	little := src[0] == 0xFF
	var out []rune
	for i := 2; i+1 < len(src); i += 2 {
		hi, lo := src[i], src[i+1]
		if little {
			hi, lo = lo, hi
		}
		out = append(out, rune(hi)<<8|rune(lo))
	}
	return []byte(string(joinSurrogates(out)))
}

func joinSurrogates(in []rune) []rune {
	out := in[:0]
	for i := 0; i < len(in); i++ {
		r := in[i]
		if r >= 0xD800 && r < 0xDC00 && i+1 < len(in) && in[i+1] >= 0xDC00 && in[i+1] < 0xE000 {
			r = (r-0xD800)<<10 + (in[i+1] - 0xDC00) + 0x10000
			i++
		}
		out = append(out, r)
	}
	return out
}

// windows1252 maps the bytes 0x80 to 0x9F to characters. For all other bytes, the
// Unicode code point equals the byte.
var windows1252 = []rune("€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ")

func fromLatin(src []byte) []byte {
	out := make([]rune, 0, len(src))
	for _, c := range src {
		if c >= 0x80 && c < 0xA0 {
			out = append(out, windows1252[c-0x80])
			continue
		}
		out = append(out, rune(c))
	}
	return []byte(string(out))
}
