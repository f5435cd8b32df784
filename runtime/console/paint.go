package console

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Width returns the number of columns of w. ok is false if w is not a terminal.
func Width(w io.Writer) (int, bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return width, true
}

// Dumb reports whether the terminal supports no escape sequences.
func Dumb() bool { return os.Getenv("TERM") == "dumb" }

// Paint formats text for a terminal. For other streams, it returns text unchanged.
type Paint struct{ terminal, colours bool }

// PainterFor returns the Paint for a stream.
func PainterFor(w io.Writer) Paint {
	_, terminal := Width(w)
	return Paint{terminal, terminal && !Dumb() && os.Getenv("NO_COLOR") == ""}
}

// Plain removes those characters from text that could control a terminal or reorder its
// output. Pages and questions may contain any character.
func (p Paint) Plain(text string) string {
	if !p.terminal {
		return text
	}
	return textutil.Plain(text)
}

// Code returns text in a colour or style, given as a terminal's SGR code.
func (p Paint) Code(text, code string) string {
	text = p.Plain(text)
	if !p.colours || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Headings is like Plain, and prints each line in bold that is a heading of help: one that
// is not indented and ends with a colon.
func (p Paint) Headings(text string) string {
	text = p.Plain(text)
	if !p.colours {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " ") {
			lines[i] = p.Bold(line)
		}
	}
	return strings.Join(lines, "\n")
}

// Bold, Dim and Path return text that is highlighted, dimmed, or coloured as a path.
func (p Paint) Bold(text string) string { return p.Code(text, "1") }
func (p Paint) Dim(text string) string  { return p.Code(text, "2") }
func (p Paint) Path(text string) string { return p.Code(text, "36") }

// Marks highlights the words between "**", or only removes the marks.
func (p Paint) Marks(text string) string {
	parts := strings.Split(text, "**")
	if len(parts)%2 == 0 {
		return p.Plain(text)
	}
	for i := range parts {
		if i%2 == 1 {
			parts[i] = p.Code(parts[i], "1;33")
		} else {
			parts[i] = p.Plain(parts[i])
		}
	}
	return strings.Join(parts, "")
}

// OnTerminal reports whether the output is a terminal.
func (p Paint) OnTerminal() bool { return p.terminal }
