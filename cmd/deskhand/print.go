package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// json prints v for programs.
func (a *app) json(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(a.stdout, painter(a.stdout).plain(b.String()))
	return err
}

// terminalWidth is the number of columns of w; ok is false if it is none.
func terminalWidth(w io.Writer) (int, bool) {
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

// dumb says that the terminal knows no escape sequences.
func dumb() bool { return os.Getenv("TERM") == "dumb" }

// paint words text for a terminal; elsewhere text stays as it is.
type paint struct{ terminal, colours bool }

func painter(w io.Writer) paint {
	_, terminal := terminalWidth(w)
	return paint{terminal, terminal && !dumb() && os.Getenv("NO_COLOR") == ""}
}

// plain takes out of text what would do something to a terminal, or turn the
// order of what it shows: pages and questions may hold any character.
func (p paint) plain(text string) string {
	if !p.terminal {
		return text
	}
	return textutil.Plain(text)
}

func (p paint) code(text, code string) string {
	text = p.plain(text)
	if !p.colours || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) bold(text string) string { return p.code(text, "1") }
func (p paint) dim(text string) string  { return p.code(text, "2") }
func (p paint) path(text string) string { return p.code(text, "36") }

// marks shows the words between "**" highlighted, or without the marks.
func (p paint) marks(text string) string {
	parts := strings.Split(text, "**")
	if len(parts)%2 == 0 {
		return p.plain(text)
	}
	for i := range parts {
		if i%2 == 1 {
			parts[i] = p.code(parts[i], "1;33")
		} else {
			parts[i] = p.plain(parts[i])
		}
	}
	return strings.Join(parts, "")
}
