// Package text has one rule each for what is done to texts before they are shown:
// shortened, put on one line, freed of characters that steer a terminal or turn
// the direction, or kept by their end. All functions take and return UTF-8.
package text

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Shorten returns s, or its beginning with "…" at the end, of at most n
// characters and without space before the "…". n is 1 or more.
func Shorten(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRightFunc(string([]rune(s)[:max(n-1, 0)]), unicode.IsSpace) + "…"
}

// Excerpt returns s, or its first n bytes and "...", for an error that repeats
// what was sent. A character that n would cut is left out.
func Excerpt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// OneLine returns s with every run of white space as one space, and none around
// it.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Plain returns s with U+FFFD in place of each character that steers a terminal
// or turns the direction of text. Line ends and tabs stay; "\r\n" is "\n".
func Plain(s string) string {
	s = strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\r")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Tail keeps the end of what is written to it, for an error about a program. It
// may be used concurrently; nil is an empty one that cannot be written to.
type Tail struct {
	// Max is how many bytes are kept; zero means 2 KiB. It does not change.
	Max int

	mu  sync.Mutex
	end []byte
}

// Write implements [io.Writer]; it never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	most := t.Max
	if most <= 0 {
		most = 2 << 10
	}
	t.end = append(t.end, p...)
	if extra := len(t.end) - most; extra > 0 {
		t.end = append(t.end[:0], t.end[extra:]...)
	}
	return len(p), nil
}

// String returns what is kept, without space around it and with U+FFFD for what
// is not UTF-8. A character that was cut at the beginning is left out.
func (t *Tail) String() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.end
	for len(end) > 0 && !utf8.RuneStart(end[0]) {
		end = end[1:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(end), "\uFFFD"))
}

// LastLine returns the last line that says something.
func (t *Tail) LastLine() string {
	s := t.String()
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}
