package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/deskhand/deskhand/indexer"
)

// bar shows the progress of a build: a bar that moves on a terminal, one line a
// phase elsewhere.
type bar struct {
	out   io.Writer
	width int // columns; 0: not a terminal
	phase string
	last  time.Time
	drawn bool
}

func newBar(out io.Writer) *bar {
	b := &bar{out: out}
	if width, ok := terminalWidth(out); ok {
		b.width = width
	}
	return b
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

// redraw bounds how often a bar is drawn.
const redraw = 50 * time.Millisecond

func (b *bar) show(p indexer.Progress) {
	began := p.Phase != b.phase
	b.phase = p.Phase
	if b.width == 0 {
		if began {
			fmt.Fprintln(b.out, phaseName(p))
		}
		return
	}
	if !began && p.Done < p.Total && time.Since(b.last) < redraw {
		return
	}
	b.last, b.drawn = time.Now(), true
	line := phaseName(p)
	if p.Total > 0 {
		const cells = 24
		full := cells * p.Done / p.Total
		line = fmt.Sprintf("%-18s [%s%s] %d/%d", phaseName(p), strings.Repeat("=", full), strings.Repeat(" ", cells-full), p.Done, p.Total)
	}
	if len(line) >= b.width {
		line = line[:b.width-1]
	}
	fmt.Fprintf(b.out, "\r\x1b[K%s", line)
}

func phaseName(p indexer.Progress) string {
	switch p.Phase {
	case "walk":
		return "finding files"
	case "read":
		return "reading files"
	case "cut":
		return "building index"
	case "write":
		return "writing"
	}
	return p.Phase
}

// end takes the bar away.
func (b *bar) end() {
	if b.drawn {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
