// Package text prepares text for display. Its functions shorten text, put it on
// one line, keep only its end, or replace characters that control a terminal or
// change the text direction. All functions take and return UTF-8.
package text

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Shorten returns s if it has at most n characters. Otherwise, it returns the
// beginning of s followed by "…", with at most n characters in total and without
// a space before the "…". n must be at least 1.
func Shorten(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRightFunc(string([]rune(s)[:max(n-1, 0)]), unicode.IsSpace) + "…"
}

// Excerpt returns s if it has at most n bytes. Otherwise it returns the first n
// bytes and "...", or a few bytes less to avoid splitting a character. It is for
// error messages that repeat their input.
func Excerpt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// OneLine returns s, trimmed, with each run of white space replaced by one space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Plain returns s with U+FFFD in place of each character that controls a
// terminal or changes the text direction. It keeps line ends and tabs, and
// replaces "\r\n" with "\n".
func Plain(s string) string {
	s = strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\r")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Tail keeps the end of the data written to it, for errors that report a
// program's output. It may be used concurrently. A nil Tail is empty and must not
// be written to.
type Tail struct {
	// Max is the number of bytes to keep. If zero, it is 2 KiB. Max must not
	// change after the first use.
	Max int

	mu  sync.Mutex
	end []byte
}

// Write implements [io.Writer]. It never fails.
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

// String returns the kept text, trimmed and with U+FFFD for invalid UTF-8. It
// omits a partial character at the beginning.
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

// LastLine returns the last line that is not blank, or "" if there is none.
func (t *Tail) LastLine() string {
	s := t.String()
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}
