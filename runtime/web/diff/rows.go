package diff

import (
	"html/template"
	"strings"
)

// Input is one changed file. Old and New are the whole file on both sides; nil:
// it is not there or not known, and then there is nothing to show beside the
// patch.
type Input struct {
	Name, Patch string
	Old, New    []byte
	// Open are the gaps between hunks that are shown, by the number of their first
	// line in the new file; All shows each.
	Open map[int]bool
	All  bool
	// Clean makes text harmless that turns the direction of what stands around it.
	// Nil: text is as it is.
	Clean func(string) string
}

// Row is a line below or beside another.
type Row struct {
	Op Op // of a gap: 0
	// Old and New are numbers, counted from 1; 0: the line is not on that side.
	Old, New int
	// Was is the line of the old side, Is that of the new one; of a line that is
	// the same both are the same.
	Was, Is template.HTML
	// Gap is how many lines are left out here, before line New. About is what
	// stands around the lines that come.
	Gap   int
	About string
}

// Class is that of its style.
func (r Row) Class() string {
	return map[Op]string{Added: "add", Deleted: "del", 0: "gap"}[r.Op]
}

// Rows are the lines of a file below each other.
func Rows(in Input) []Row {
	if in.Clean == nil {
		in.Clean = func(s string) string { return s }
	}
	p := painter{in, coloured(in.Name, in.Old), coloured(in.Name, in.New), Lines(in.New)}
	var rows []Row
	at := line{old: 1, new: 1} // the next line that was not shown
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

// begins is where a hunk begins on both sides.
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

// ends is the line behind a hunk on both sides.
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

// painter writes the lines of one file.
type painter struct {
	in               Input
	oldLines, newOne [][]token
	new              []string
}

// smallGap is how many lines are shown rather than counted.
const smallGap = 3

// gap adds the lines between two hunks, or how many they are.
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

// change adds lines that went and those that came in their place.
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

// paint is a line with its colours, if those of the whole file are known and are
// of this very line.
func (p *painter) paint(lines [][]token, n int, text string, marks []span) template.HTML {
	if n >= 1 && n <= len(lines) && joined(lines[n-1]) == text {
		return typeset(lines[n-1], marks, p.in.Clean)
	}
	return typeset([]token{{"", text}}, marks, p.in.Clean)
}

func joined(line []token) string {
	var b strings.Builder
	for _, t := range line {
		b.WriteString(t.text)
	}
	return b.String()
}

// Beside puts rows beside each other: of lines that changed, what went is left
// of what came.
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
