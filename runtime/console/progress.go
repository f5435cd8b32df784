package console

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/embed"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Bar shows the progress of a build: an animated bar on a terminal, or elsewhere, in a
// build that takes more than two seconds, one line per phase.
type Bar struct {
	out     io.Writer
	width   int // in columns; 0 if only lines can be printed
	phase   string
	printed string // the phase of the last line, if there is no bar
	began   time.Time
	last    time.Time
	drawn   bool
}

// NewBar returns a bar that is shown on out.
func NewBar(out io.Writer) *Bar {
	b := &Bar{out: out, began: time.Now(), last: time.Now()}
	if width, ok := Width(out); ok && !Dumb() {
		b.width = width
	}
	return b
}

const (
	// redraw is the minimum time between two drawings of a bar.
	redraw = 50 * time.Millisecond
	// quick is how long a build prints nothing if there is no bar.
	quick = 2 * time.Second
	// relate is how often a build that waits for the network reports its progress
	// if there is no bar.
	relate = 10 * time.Second
	// narrow is the minimum width for a bar. A narrower terminal only shows numbers.
	narrow = 60
)

// Show draws the progress of a build.
func (b *Bar) Show(p indexer.Progress) {
	began := p.Phase != b.phase
	b.phase = p.Phase
	if b.width == 0 {
		if p.Phase != b.printed && time.Since(b.began) > quick {
			fmt.Fprintln(b.out, phaseName(p.Phase))
			b.printed, b.last = p.Phase, time.Now()
		} else if p.Usage != nil && time.Since(b.last) > relate {
			fmt.Fprintf(b.out, "%s: %d of %s, %s\n", phaseName(p.Phase), p.Done, textutil.Count(p.Total, "file"), Usage(*p.Usage))
			b.last = time.Now()
		}
		return
	}
	if !began && p.Done < p.Total && time.Since(b.last) < redraw {
		return
	}
	b.last, b.drawn = time.Now(), true
	fmt.Fprintf(b.out, "\r\x1b[K%s", b.line(p))
}

// line returns the bar's text, which is shorter than a line of the terminal.
func (b *Bar) line(p indexer.Progress) string {
	name := phaseName(p.Phase)
	line := name
	switch {
	case p.Total > 0 && b.width < narrow:
		word, _, _ := strings.Cut(name, " ")
		line = fmt.Sprintf("%s %d/%d", word, p.Done, p.Total)
	case p.Total > 0:
		const cells = 24
		full := cells * p.Done / p.Total
		line = fmt.Sprintf("%-18s [%s%s] %d/%d", name, strings.Repeat("=", full), strings.Repeat(" ", cells-full), p.Done, p.Total)
	}
	if p.Usage != nil && p.Phase == "build" {
		line += "  " + Usage(*p.Usage)
	}
	return line[:min(len(line), b.width-1)]
}

// Usage returns a description of a remote embedder's usage.
func Usage(u embed.Usage) string {
	text := fmt.Sprintf("%s from the cache, %d computed in %s", textutil.Count(u.Cached, "vector"), u.Made, textutil.Count(u.Requests, "request"))
	if u.Requests == 0 {
		return text
	}
	about := ""
	if u.Estimated {
		about = "about "
	}
	text += fmt.Sprintf(", %s%d tokens", about, u.Tokens)
	if u.CostUSD != nil {
		text += fmt.Sprintf(", about $%.4f", *u.CostUSD)
	}
	return text
}

func phaseName(phase string) string {
	switch phase {
	case "walk":
		return "finding files"
	case "fetch":
		return "fetching pages"
	case "convert":
		return "converting files"
	case "read":
		return "reading files"
	case "build":
		return "building index"
	case "cut":
		return "checking"
	case "neighbours":
		return "counting neighbours"
	case "start":
		return "placing words"
	case "learn":
		return "learning"
	}
	return phase
}

// End removes the bar.
func (b *Bar) End() {
	if b.drawn {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}

// Size returns a number of bytes for people, in kB or MB.
func Size(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%d kB", (n+999)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
