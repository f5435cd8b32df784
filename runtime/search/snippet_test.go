package search

import (
	"strings"
	"testing"
)

// slowOneLine is appendOneLine byte by byte.
func slowOneLine(line, text string) string {
	for _, c := range []byte(text) {
		if strings.IndexByte(" \n\t\r", c) < 0 {
			line += string([]byte{c})
		} else if line != "" && line[len(line)-1] != ' ' {
			line += " "
		}
	}
	return line
}

func checkOneLine(t *testing.T, line, text string) {
	t.Helper()
	line = slowOneLine("", line)
	if got, want := string(appendOneLine([]byte(line), []byte(text))), slowOneLine(line, text); got != want {
		t.Errorf("appendOneLine(%q, %q) = %q, want %q", line, text, got, want)
	}
}

func TestALineHasSingleSpacesWhereverTheTextHasWhiteSpace(t *testing.T) {
	for _, line := range []string{"", "x", "x "} {
		for n := range 20 {
			word := strings.Repeat("a", n)
			for _, space := range []string{" ", "  ", "\n", " \n", "\n\n    ", "\t", "\r\n", "\x00", "\xff \x80", "é "} {
				checkOneLine(t, line, word+space+"b c d e f g h"+space+word+space)
			}
		}
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("a ", "one two  three\nfour\tfive  ")
	f.Fuzz(checkOneLine)
}
