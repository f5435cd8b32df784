package diff

import (
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"
)

// Input is one changed file. Old and New hold the whole file on each side. If
// either is nil, the file is missing or unknown on that side, and lines outside
// the patch cannot be shown.
type Input struct {
	Name, Patch string
	Old, New    []byte
	// Open selects gaps between hunks whose lines are shown. The keys are the
	// numbers of the gaps' first lines in the new file. All selects every gap.
	Open map[int]bool
	All  bool
	// Clean escapes characters that change the text direction. If it is nil,
	// text is unchanged.
	Clean func(string) string
}

// Row is a line in the unified or the side-by-side view.
type Row struct {
	Op Op // 0 for a gap
	// Old and New are line numbers, counted from 1, or 0 if the line is not on that
	// side.
	Old, New int
	// Was is the line on the old side, and Is the line on the new side. They are
	// equal for an unchanged line.
	Was, Is template.HTML
	// Gap is the number of lines that are left out before line New. About is
	// the context of the lines that follow.
	Gap   int
	About string
}

// Long reports whether the end of a line is not shown.
func (r Row) Long() bool {
	return strings.HasSuffix(string(r.Was), "</span>") || strings.HasSuffix(string(r.Is), "</span>")
}

// Class returns the row's CSS class.
func (r Row) Class() string {
	return map[Op]string{Added: "add", Deleted: "del", 0: "gap"}[r.Op]
}

// Rows returns a file's lines in the unified view.
func Rows(in Input) []Row {
	if in.Clean == nil {
		in.Clean = func(s string) string { return s }
	}
	p := painter{in, coloured(in.Name, in.Old), coloured(in.Name, in.New), Lines(in.New)}
	var rows []Row
	at := line{old: 1, new: 1} // the next line that has not been shown
	for _, h := range hunks(in.Patch) {
		if len(h.lines) == 0 {
			continue
		}
		begin := begins(h.lines)
		rows = p.gap(rows, at, begin, h.about)
		rows = p.hunk(rows, h.lines)
		at = ends(h.lines, begin)
	}
	if in.New != nil && len(rows) > 0 {
		rows = p.gap(rows, at, line{old: at.old + len(p.new) + 1 - at.new, new: len(p.new) + 1}, "")
	}
	return rows
}

// begins returns, for each side, the number of a hunk's first line.
func begins(lines []line) (at line) {
	for _, l := range lines {
		if at.old == 0 {
			at.old = l.old
		}
		if at.new == 0 {
			at.new = l.new
		}
	}
	return at
}

// ends returns, for each side, the number of the line after a hunk.
func ends(lines []line, begin line) line {
	at := line{old: begin.old, new: begin.new}
	for _, l := range lines {
		if l.old > 0 {
			at.old = l.old + 1
		}
		if l.new > 0 {
			at.new = l.new + 1
		}
	}
	return at
}

// painter renders the lines of one file.
type painter struct {
	in               Input
	oldLines, newOne [][]token
	new              []string
}

// smallGap is the maximum size of a gap that is always shown.
const smallGap = 3

// gap adds the lines between two hunks, or one row that says how many lines
// there are.
func (p *painter) gap(rows []Row, from, to line, about string) []Row {
	n := to.new - from.new
	if to.new == 0 || from.new == 0 || n < 0 {
		n = 0
	}
	open := p.in.All || p.in.Open[from.new] || n <= smallGap
	if n > 0 && open && to.new-1 <= len(p.new) {
		for i := range n {
			text := p.paint(p.newOne, from.new+i, p.new[from.new+i-1], nil)
			rows = append(rows, Row{Op: Same, Old: from.old + i, New: from.new + i, Was: text, Is: text})
		}
		return rows
	}
	if n > 0 || about != "" && len(rows) > 0 {
		rows = append(rows, Row{Gap: n, New: from.new, About: p.in.Clean(about)})
	}
	return rows
}

func (p *painter) hunk(rows []Row, lines []line) []Row {
	for i := 0; i < len(lines); {
		if lines[i].op == Same {
			text := p.paint(p.newOne, lines[i].new, lines[i].text, nil)
			rows = append(rows, Row{Op: Same, Old: lines[i].old, New: lines[i].new, Was: text, Is: text})
			i++
			continue
		}
		end := i
		var gone, come []line
		for ; end < len(lines) && lines[end].op != Same; end++ {
			if lines[end].op == Deleted {
				gone = append(gone, lines[end])
			} else {
				come = append(come, lines[end])
			}
		}
		rows = p.change(rows, gone, come)
		i = end
	}
	return rows
}

// change adds deleted lines and the lines that replace them.
func (p *painter) change(rows []Row, gone, come []line) []Row {
	marksOld, marksNew := make([][]span, len(gone)), make([][]span, len(come))
	for i := range min(len(gone), len(come)) {
		marksOld[i], marksNew[i] = changed(gone[i].text, come[i].text)
	}
	for i, l := range gone {
		rows = append(rows, Row{Op: Deleted, Old: l.old, Was: p.paint(p.oldLines, l.old, l.text, marksOld[i])})
	}
	for i, l := range come {
		rows = append(rows, Row{Op: Added, New: l.new, Is: p.paint(p.newOne, l.new, l.text, marksNew[i])})
	}
	return rows
}

// paint returns a line with its colours. If the file's tokens do not match this
// line, the line has no colours.
func (p *painter) paint(lines [][]token, n int, text string, marks []span) template.HTML {
	line := []token{{"", text}}
	if n >= 1 && n <= len(lines) && joined(lines[n-1]) == text {
		line = lines[n-1]
	}
	if p.in.All || len(text) <= mostLine {
		return typeset(line, marks, p.in.Clean)
	}
	kept, left := beginning(line, mostLine)
	return typeset(kept, marks, p.in.Clean) + template.HTML(fmt.Sprintf("<span>… %d more characters</span>", left))
}

// mostLine is how many bytes of a line are shown, unless the whole file is. One line
// of a minified script would otherwise fill a hundred screens.
const mostLine = 2000

// beginning returns the first n bytes of a line, without splitting a character, and
// the number of characters that it leaves out.
func beginning(line []token, n int) (kept []token, left int) {
	for _, t := range line {
		end := min(n, len(t.text))
		for end < len(t.text) && end > 0 && !utf8.RuneStart(t.text[end]) {
			end--
		}
		kept, n, left = append(kept, token{t.class, t.text[:end]}), n-end, left+utf8.RuneCountInString(t.text[end:])
		if end < len(t.text) {
			n = 0
		}
	}
	return kept, left
}

func joined(line []token) string {
	var b strings.Builder
	for _, t := range line {
		b.WriteString(t.text)
	}
	return b.String()
}

// Beside converts rows to rows of the side-by-side view. Deleted lines are to
// the left of the lines that replace them.
func Beside(rows []Row) (pairs []Row) {
	for i := 0; i < len(rows); {
		if rows[i].Op == Same || rows[i].Op == 0 {
			pairs = append(pairs, rows[i])
			i++
			continue
		}
		var gone, come []Row
		for ; i < len(rows) && (rows[i].Op == Deleted || rows[i].Op == Added); i++ {
			if rows[i].Op == Deleted {
				gone = append(gone, rows[i])
			} else {
				come = append(come, rows[i])
			}
		}
		for n := range max(len(gone), len(come)) {
			var pair Row
			if n < len(gone) {
				pair = gone[n]
			}
			if n < len(come) {
				pair.New, pair.Is = come[n].New, come[n].Is
				pair.Op = Added
			}
			pairs = append(pairs, pair)
		}
	}
	return pairs
}
