package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// The picture's measures, in pixels.
const (
	cellWidth  = 8.43
	lineHeight = 19
	margin     = 14
	bar        = 26 // the window's title
)

// Output within shortest seconds is one frame. The last frame stays for lastStays seconds.
const (
	shortest  = 0.1
	lastStays = 4
)

// frame is what the screen showed from a time on.
type frame struct {
	at    float64
	cells [rows][columns]cell
}

// frames returns the different states of the screen.
func frames(events []event) (all []frame) {
	var s screen
	drawn := 0.0
	for i, e := range events {
		s.write(e.text)
		if i+1 < len(events) && events[i+1].at-e.at < shortest && e.at < drawn+shortest {
			continue
		}
		drawn = e.at
		if len(all) == 0 || all[len(all)-1].cells != s.cells {
			all = append(all, frame{e.at, s.cells})
		}
	}
	return all
}

// head has the colours and the window. The animation moves a strip with all frames behind the
// window. A reader who wants no motion sees the last frame.
const head = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 %[1]g %[2]g" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">
<title>A terminal session with deskhand</title>
<style>
text{fill:#ece8de;white-space:pre}.b{font-weight:700}.d{fill:#aea797}.u{text-decoration:underline}
.c1{fill:#ff9c8f}.c2{fill:#a9d6a0}.c3{fill:#f0b660}.c4{fill:#9cc4f5}.c5{fill:#e6b0de}.c6{fill:#7fcfb9}
#s{animation:play %[3]gs step-end infinite}
@keyframes play{
%[4]s}
@media (prefers-reduced-motion:reduce){#s{animation:none;transform:translateY(-%[5]gpx)}}
</style>
<rect width="100%%" height="100%%" rx="9" fill="#201f1b"/>
<circle cx="20" cy="15" r="5" fill="#ff9c8f"/><circle cx="37" cy="15" r="5" fill="#f0b660"/><circle cx="54" cy="15" r="5" fill="#a9d6a0"/>
`

// svg draws frames as an animation that repeats.
func svg(all []frame) []byte {
	height := float64(rows * lineHeight)
	end := all[len(all)-1].at + lastStays
	var keys, lines, strip strings.Builder
	known := map[string]int{}
	for i, f := range all {
		fmt.Fprintf(&keys, "%.2f%%{transform:translateY(-%gpx)}\n", 100*f.at/end, float64(i)*height)
		if i == 0 {
			keys.Reset()
			fmt.Fprintf(&keys, "0%%{transform:translateY(0)}\n")
		}
		for row, cells := range f.cells {
			text := line(cells)
			if text == "" {
				continue
			}
			if _, ok := known[text]; !ok {
				known[text] = len(known)
				fmt.Fprintf(&lines, "<text id=\"l%d\">%s</text>\n", known[text], text)
			}
			fmt.Fprintf(&strip, "<use xlink:href=\"#l%d\" y=\"%g\"/>", known[text], float64(i)*height+float64(row*lineHeight)+lineHeight-4)
		}
		strip.WriteByte('\n')
	}
	var out bytes.Buffer
	width := columns*cellWidth + 2*margin
	fmt.Fprintf(&out, head, width, height+bar+2*margin, round(end), keys.String(), float64(len(all)-1)*height)
	fmt.Fprintf(&out, "<defs>\n%s</defs>\n<svg x=\"%d\" y=\"%d\" width=\"%g\" height=\"%g\"><g id=\"s\">\n%s</g></svg>\n</svg>\n",
		lines.String(), margin, bar+margin/2, columns*cellWidth, height, strip.String())
	return out.Bytes()
}

func round(seconds float64) float64 { return float64(int(seconds*100)) / 100 }

// line returns a row as spans of text with the same style, or "" if it is empty.
func line(cells [columns]cell) string {
	end := columns
	for end > 0 && (cells[end-1].r == 0 || cells[end-1].r == ' ') && !cells[end-1].reverse {
		end--
	}
	var b strings.Builder
	for from := 0; from < end; {
		to := from
		var text strings.Builder
		for to < end && cells[to].style == cells[from].style {
			text.WriteRune(max(cells[to].r, ' '))
			to++
		}
		if strings.TrimSpace(text.String()) != "" {
			fmt.Fprintf(&b, "<tspan x=\"%g\"%s>%s</tspan>", round(float64(from)*cellWidth), classes(cells[from].style), html.EscapeString(text.String()))
		}
		from = to
	}
	return b.String()
}

func classes(s style) string {
	var names []string
	if s.bold {
		names = append(names, "b")
	}
	if s.dim {
		names = append(names, "d")
	}
	if s.underline {
		names = append(names, "u")
	}
	if s.colour != "" && s.colour != "0" && s.colour != "7" {
		names = append(names, "c"+s.colour)
	}
	if len(names) == 0 {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}
