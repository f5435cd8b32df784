package terminal

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// editor is text with a cursor. It treats text as a sequence of characters as
// people see them. Such a character may consist of several code points.
type editor struct {
	chars []string
	at    int // cursor position, before chars[at]
}

// edit returns an editor with the cursor at the end of text.
func edit(text string) editor {
	e := editor{}
	e.insert(text)
	return e
}

func (e *editor) text() string { return strings.Join(e.chars, "") }

// insert inserts text at the cursor. It removes control characters other than line
// breaks and tabs.
func (e *editor) insert(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
	// A code point may be part of the preceding character.
	before, after := strings.Join(e.chars[:e.at], ""), e.chars[e.at:]
	head := characters(before + text)
	e.at = len(head)
	e.chars = append(head, after...)
}

func characters(text string) (chars []string) {
	for text != "" {
		c, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		chars, text = append(chars, c), text[len(c):]
	}
	return chars
}

// key handles a pressed key. It returns false if the key has no effect.
func (e *editor) key(k key) bool {
	switch k.name {
	case "left", "ctrl+b":
		e.at = max(e.at-1, 0)
	case "right", "ctrl+f":
		e.at = min(e.at+1, len(e.chars))
	case "home", "ctrl+a":
		e.at = e.lineStart()
	case "end":
		e.at = e.lineEnd()
	case "alt+left", "ctrl+left", "alt+b":
		e.at = e.wordLeft()
	case "alt+right", "ctrl+right", "alt+f":
		e.at = e.wordRight()
	case "backspace", "ctrl+h":
		e.remove(e.at-1, e.at)
	case "delete", "ctrl+d":
		e.remove(e.at, e.at+1)
	case "ctrl+w", "alt+backspace":
		e.remove(e.wordLeft(), e.at)
	case "ctrl+u":
		e.remove(e.lineStart(), e.at)
	case "ctrl+k":
		e.remove(e.at, e.lineEnd())
	case "ctrl+j", "alt+enter", "shift+enter":
		e.insert("\n")
	case "up":
		return e.vertical(-1)
	case "down":
		return e.vertical(1)
	default:
		if k.text == "" {
			return false
		}
		e.insert(k.text)
	}
	return true
}

func (e *editor) remove(from, to int) {
	from, to = max(from, 0), min(to, len(e.chars))
	e.chars = append(e.chars[:from:from], e.chars[to:]...)
	e.at = from
}

func (e *editor) lineStart() int {
	i := e.at
	for i > 0 && e.chars[i-1] != "\n" {
		i--
	}
	return i
}

func (e *editor) lineEnd() int {
	i := e.at
	for i < len(e.chars) && e.chars[i] != "\n" {
		i++
	}
	return i
}

func (e *editor) wordLeft() int {
	i := e.at
	for i > 0 && blank(e.chars[i-1]) {
		i--
	}
	for i > 0 && !blank(e.chars[i-1]) {
		i--
	}
	return i
}

func (e *editor) wordRight() int {
	i := e.at
	for i < len(e.chars) && blank(e.chars[i]) {
		i++
	}
	for i < len(e.chars) && !blank(e.chars[i]) {
		i++
	}
	return i
}

func blank(char string) bool { return strings.TrimSpace(char) == "" }

// vertical moves the cursor one line up or down. It returns false if there is
// no such line.
func (e *editor) vertical(by int) bool {
	column := e.at - e.lineStart()
	if by < 0 {
		if e.lineStart() == 0 {
			return false
		}
		e.at = e.lineStart() - 1
		e.at = min(e.lineStart()+column, e.at)
		return true
	}
	if e.lineEnd() == len(e.chars) {
		return false
	}
	e.at = e.lineEnd() + 1
	e.at = min(e.at+column, e.lineEnd())
	return true
}

// lines returns the text in lines of at most width columns, and the cursor's
// position.
func (e *editor) lines(width int) (lines []string, row, column int) {
	var b strings.Builder
	used := 0
	cut := func() {
		lines = append(lines, b.String())
		b.Reset()
		used = 0
	}
	for i, c := range e.chars {
		if c == "\t" {
			c = "  "
		}
		w := ansi.StringWidth(c)
		if c != "\n" && used+w > width {
			cut()
		}
		if i == e.at {
			row, column = len(lines), used
		}
		if c == "\n" {
			cut()
			continue
		}
		b.WriteString(clean(c))
		used += w
	}
	if e.at == len(e.chars) {
		if used >= width {
			cut()
		}
		row, column = len(lines), used
	}
	return append(lines, b.String()), row, column
}
