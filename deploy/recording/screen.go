package main

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// style is how a cell looks. The zero value is plain text.
type style struct {
	bold, dim, reverse, underline bool
	colour                        string // of the text: a digit from 0 to 7, or ""
}

type cell struct {
	r rune
	style
}

// screen is a terminal that understands what deskhand and git write.
type screen struct {
	cells    [rows][columns]cell
	row, col int
	style
	kept    *screen // the main screen, while the other one is shown
	pending string  // the start of an escape sequence whose rest has not arrived
}

// write shows text.
func (s *screen) write(text string) {
	text, s.pending = s.pending+text, ""
	var state byte
	for len(text) > 0 {
		sequence, width, n, next := ansi.DecodeSequence(text, state, nil)
		if next != 0 && n == len(text) {
			s.pending = text // incomplete
			return
		}
		state = next
		switch {
		case width > 0:
			s.put(sequence, width)
		case len(sequence) == 1:
			s.control(sequence[0])
		case strings.HasPrefix(sequence, "\x1b["):
			s.command(sequence[2:])
		}
		text = text[n:]
	}
}

func (s *screen) put(text string, width int) {
	if s.col+width > columns {
		s.col = 0
		s.down()
	}
	r, _ := utf8.DecodeRuneInString(text)
	s.cells[s.row][s.col] = cell{r, s.style}
	s.col += width
}

func (s *screen) control(c byte) {
	switch c {
	case '\r':
		s.col = 0
	case '\n':
		s.down()
	case '\b':
		s.col = max(0, s.col-1)
	case '\t':
		s.col = min(columns-1, s.col/8*8+8)
	}
}

// down moves to the next row, and scrolls at the end of the screen.
func (s *screen) down() {
	if s.row < rows-1 {
		s.row++
		return
	}
	copy(s.cells[:], s.cells[1:])
	s.cells[rows-1] = [columns]cell{}
}

// command runs a control sequence without its introducer.
func (s *screen) command(text string) {
	last := text[len(text)-1]
	private := strings.HasPrefix(text, "?")
	var numbers []int
	for _, part := range strings.Split(strings.TrimLeft(text[:len(text)-1], "?>=<"), ";") {
		n, _ := strconv.Atoi(part) // 0 if it is missing
		numbers = append(numbers, n)
	}
	n := max(1, numbers[0])
	switch last {
	case 'm':
		if !strings.ContainsAny(text, "?>=<") {
			s.dress(numbers)
		}
	case 'A':
		s.row = max(0, s.row-n)
	case 'B':
		s.row = min(rows-1, s.row+n)
	case 'C':
		s.col = min(columns-1, s.col+n)
	case 'D':
		s.col = max(0, s.col-n)
	case 'G':
		s.col = min(columns, n) - 1
	case 'd':
		s.row = min(rows, n) - 1
	case 'H':
		s.row, s.col = min(rows, n)-1, 0
		if len(numbers) > 1 {
			s.col = max(1, min(columns, numbers[1])) - 1
		}
	case 'J':
		s.erase(numbers[0])
	case 'K':
		s.eraseLine(s.row, numbers[0])
	case 'h', 'l':
		if private && numbers[0] == 1049 {
			s.other(last == 'h')
		}
	}
}

func (s *screen) erase(what int) {
	for row := range s.cells {
		switch {
		case what >= 2, what == 0 && row > s.row, what == 1 && row < s.row:
			s.cells[row] = [columns]cell{}
		case row == s.row:
			s.eraseLine(row, what)
		}
	}
}

func (s *screen) eraseLine(row, what int) {
	from, to := 0, columns
	switch what {
	case 0:
		from = s.col
	case 1:
		to = min(columns, s.col+1)
	}
	for i := from; i < to; i++ {
		s.cells[row][i] = cell{}
	}
}

// other switches to the second screen, or back to the main one.
func (s *screen) other(show bool) {
	switch {
	case show && s.kept == nil:
		kept := *s
		*s = screen{kept: &kept}
	case !show && s.kept != nil:
		*s = *s.kept
	}
}

func (s *screen) dress(numbers []int) {
	for _, n := range numbers {
		switch {
		case n == 0:
			s.style = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 4:
			s.underline = true
		case n == 7:
			s.reverse = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 24:
			s.underline = false
		case n == 27:
			s.reverse = false
		case n >= 30 && n <= 37:
			s.colour = strconv.Itoa(n - 30)
		case n == 39:
			s.colour = ""
		case n >= 90 && n <= 97:
			s.colour = strconv.Itoa(n - 90)
		}
	}
}

// text returns the screen's text, without spaces at the ends of lines.
func (s *screen) text() string {
	var b strings.Builder
	for _, row := range s.cells {
		var line strings.Builder
		for _, c := range row {
			line.WriteRune(max(c.r, ' '))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
