package eval

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// grid is a table to render for a page or a terminal. The first column contains
// text, the others numbers.
type grid struct {
	head []string
	rows [][]string
	// total reports whether the last row sums up the others.
	total bool
}

func (g grid) markdown() string {
	var out strings.Builder
	line := func(cells []string, mark string) {
		for _, cell := range cells {
			out.WriteString("| " + mark + markdownCell(cell) + mark + " ")
		}
		out.WriteString("|\n")
	}
	line(g.head, "")
	out.WriteString("|---" + strings.Repeat("|--:", len(g.head)-1) + "|\n")
	for i, row := range g.rows {
		mark := ""
		if g.total && i == len(g.rows)-1 {
			mark = "**"
		}
		line(row, mark)
	}
	return out.String()
}

// text returns aligned lines without line breaks, the heading first. Cells are
// truncated to widest characters, unless widest is zero.
func (g grid) text(widest int) []string {
	all := append([][]string{g.head}, g.rows...)
	widths := make([]int, len(g.head))
	for n, row := range all {
		all[n] = make([]string, len(row))
		for i, cell := range row {
			cell = printable(cell)
			if widest > 0 {
				cell = textutil.Shorten(cell, widest)
			}
			all[n][i] = cell
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(all))
	for n, row := range all {
		for i, cell := range row {
			fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				lines[n] = cell + fill
			} else {
				lines[n] += "  " + fill + cell
			}
		}
	}
	return lines
}

// section is a list below a table. If title is empty, only the lines are shown.
type section struct {
	title string
	lines []string
}

func (s section) markdown() string {
	var out strings.Builder
	out.WriteString("\n")
	if s.title != "" {
		out.WriteString("**" + markdownCell(s.title) + "**\n\n")
	}
	for _, line := range s.lines {
		out.WriteString("- " + markdownCell(line) + "\n")
	}
	return out.String()
}

func (s section) text(width int) []string {
	lines, indent := []string{""}, ""
	if s.title != "" {
		lines, indent = append(lines, printable(s.title)), "  "
	}
	for _, line := range s.lines {
		lines = append(lines, textutil.Shorten(indent+printable(line), width))
	}
	return lines
}

// atMost truncates the list to n lines and adds a line with the number of omitted
// lines.
func (s section) atMost(n int) section {
	if more := len(s.lines) - n; more > 0 {
		s.lines = append(s.lines[:n:n], fmt.Sprintf("and %d more", more))
	}
	return s
}

// page joins lines for a terminal.
func page(lines []string) string {
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "`", "\\`")

func markdownCell(s string) string { return markdownEscapes.Replace(printable(s)) }

// printable replaces control characters, so an engine's answer cannot control the
// terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '\ufffd'
		}
		return r
	}, s)
}

// bar draws a value from 0 to 1 as a bar of at most cells characters.
func bar(value float64, cells int, ascii bool) string {
	value = min(1, max(0, value))
	if ascii {
		return strings.Repeat("#", int(value*float64(cells)+0.5))
	}
	eighths := int(value*float64(cells)*8 + 0.5)
	full := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		// The block characters range from one eighth (U+258F) down to seven
		// (U+2589).
		full += string(rune(0x2590 - rest))
	}
	return full
}
