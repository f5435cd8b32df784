package chunker

import (
	"strings"
	"testing"
)

func TestBytesAreNormalisedAndLinesKeepTheirNumbers(t *testing.T) {
	const invalid = ": not valid UTF-8; invalid bytes are read as U+FFFD\n"
	for name, c := range map[string]struct{ src, want, problems string }{
		"clean":             {"a\nb\n", "a\nb\n", ""},
		"byte-order mark":   {"\ufeffa\n## b", "a\n## b", ""},
		"CRLF":              {"a\r\nb\r\n", "a\nb\n", ""},
		"lone CR":           {"a\rb\r\rc", "a\nb\n\nc", ""},
		"mixed":             {"a\r\n\rb\n\r", "a\n\nb\n\n", ""},
		"NUL":               {"a\nb\x00c\x00\n", "a\nb\uFFFDc\uFFFD\n", "2: NUL bytes are read as U+FFFD\n"},
		"Latin-1":           {"a\r\ncaf\xe9\n\xe9\n", "a\ncaf\uFFFD\n\uFFFD\n", "2" + invalid},
		"cut off":           {"a\n\xe6\x97", "a\n\uFFFD", "2" + invalid},
		"a real U+FFFD":     {"\uFFFD\n", "\uFFFD\n", ""},
		"UTF-16, little":    {"\xff\xfea\x00\r\x00\n\x00\xe9\x00", "a\né", "0: the file is UTF-16 and was converted; save it as UTF-8\n"},
		"UTF-16, big":       {"\xfe\xff\x00a\x00\n\x00\xe9", "a\né", "0: the file is UTF-16 and was converted; save it as UTF-8\n"},
		"UTF-16, odd":       {"\xff\xfea\x00b", "a\uFFFD", "0: the file is UTF-16 and was converted; save it as UTF-8\n"},
		"UTF-16, surrogate": {"\xff\xfe\x00\xd8a\x00", "\uFFFDa", "0: the file is UTF-16 and was converted; save it as UTF-8\n"},
	} {
		t.Run(name, func(t *testing.T) {
			page := split(t, c.src, Options{By: File})
			if got := page.Chunks[0].Markdown; got != c.want || problems(page) != c.problems {
				t.Errorf("Split(%q) = %q, problems %q; want %q, %q", c.src, got, problems(page), c.want, c.problems)
			}
			if want := 1 + strings.Count(strings.TrimSuffix(c.want, "\n"), "\n"); page.Chunks[0].EndLine != want {
				t.Errorf("Split(%q) ends on line %d, want %d", c.src, page.Chunks[0].EndLine, want)
			}
		})
	}
}

func TestNormaliseDoesNotChangeItsInput(t *testing.T) {
	src := "\ufeffa\r\n\x00\xff"
	given := []byte(src)
	normalise(given)
	if string(given) != src {
		t.Errorf("input became %q, want %q", given, src)
	}
}
