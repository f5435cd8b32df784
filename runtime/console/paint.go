package console

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Width is the number of columns of w; ok is false if it is none.
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

// Dumb says that the terminal knows no escape sequences.
func Dumb() bool { return os.Getenv("TERM") == "dumb" }

// Paint words text for a terminal; elsewhere text stays as it is.
type Paint struct{ terminal, colours bool }

// PainterFor is what words text for a stream.
func PainterFor(w io.Writer) Paint {
	_, terminal := Width(w)
	return Paint{terminal, terminal && !Dumb() && os.Getenv("NO_COLOR") == ""}
}

// Plain takes out of text what would do something to a terminal, or turn the
// order of what it shows: pages and questions may hold any character.
func (p Paint) Plain(text string) string {
	if !p.terminal {
		return text
	}
	return textutil.Plain(text)
}

// Code is text in a colour, by the number that a terminal knows it by.
func (p Paint) Code(text, code string) string {
	text = p.Plain(text)
	if !p.colours || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold, Dim and Path are text that stands out, steps back, or is a place.
func (p Paint) Bold(text string) string { return p.Code(text, "1") }
func (p Paint) Dim(text string) string  { return p.Code(text, "2") }
func (p Paint) Path(text string) string { return p.Code(text, "36") }

// Marks shows the words between "**" highlighted, or without the marks.
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

// OnTerminal says that what is painted is for a terminal.
func (p Paint) OnTerminal() bool { return p.terminal }
