package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func width(row string) int { return ansi.StringWidth(row) }

func TestEditorWorksOnCharactersAsPeopleSeeThem(t *testing.T) {
	for _, c := range []struct{ text, keys, want string }{
		{"naïve 👩‍👩‍👧", "backspace", "naïve "},
		{"e\u0301a", "left backspace", "a"},
		{"one two three", "ctrl+w", "one two "},
		{"one two three", "alt+left alt+left delete", "one wo three"},
		{"one two", "home 'x", "xone two"},
		{"one\ntwo", "up end 'x", "onex\ntwo"},
		{"long line\nab", "up 'x", "loxng line\nab"},
		{"ab\ncd", "home ctrl+u backspace", "abcd"},
		{"ab\ncd", "up home ctrl+k", "\ncd"},
		{"", "backspace delete left right up down ctrl+w", ""},
	} {
		e := edit(c.text)
		for _, k := range strings.Fields(c.keys) {
			if word, ok := strings.CutPrefix(k, "'"); ok {
				e.key(key{word, word})
				continue
			}
			e.key(key{name: k})
		}
		if got := e.text(); got != c.want {
			t.Errorf("%q, keys %s: %q, want %q", c.text, c.keys, got, c.want)
		}
	}
}

func FuzzEditor(f *testing.F) {
	f.Add("naïve 👩‍👩‍👧\r\n\x1b[31mred", "backspace left up", 10)
	f.Add("\t日本\n\n", "home delete alt+left ctrl+k", 3)
	f.Fuzz(func(t *testing.T, text, keys string, columns int) {
		e := editor{}
		e.insert(text)
		for _, k := range strings.Fields(keys) {
			e.key(key{name: k, text: map[bool]string{true: k}[len(k) < 3]})
			if e.at < 0 || e.at > len(e.chars) {
				t.Fatalf("cursor at %d of %d after %q", e.at, len(e.chars), k)
			}
		}
		columns = max(columns%300, 4)
		rows, row, column := e.lines(columns)
		if row >= len(rows) || column > columns {
			t.Errorf("cursor at %d:%d of %d rows, %d columns", row, column, len(rows), columns)
		}
		for _, r := range rows {
			if width(r) > columns || strings.ContainsAny(r, "\x1b\n\t") {
				t.Errorf("row %q for %d columns", r, columns)
			}
		}
		if utf8.ValidString(text) && keys == "" && strings.Count(e.text(), "\n") < strings.Count(text, "\n") {
			t.Errorf("lines of %q are lost in %q", text, e.text())
		}
	})
}
