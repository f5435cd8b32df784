// Package diff makes what git says of one changed file into rows for people:
// lines beside each other or below each other, with colours of the language and
// with the words that changed. It is pure: it reads no file and asks no git.
package diff

import (
	"strconv"
	"strings"
)

// Op is what became of a line.
type Op byte

// What became of a line.
const (
	Same    Op = ' '
	Added   Op = '+'
	Deleted Op = '-'
)

// line is a line of a patch with its numbers on both sides, counted from 1; 0: it
// is not on that side.
type line struct {
	op       Op
	old, new int
	text     string
}

// hunk is a run of lines.
type hunk struct {
	lines []line
	about string // what git says stands around it, such as a function
}

// hunks reads the patch of one file.
func hunks(patch string) (all []hunk) {
	var old, now int
	for text := range strings.SplitSeq(strings.TrimSuffix(patch, "\n"), "\n") {
		if strings.HasPrefix(text, "@@ ") {
			at, about, _ := strings.Cut(text[3:], " @@")
			from, to, _ := strings.Cut(at, " ")
			old, now = first(from), first(to)
			all = append(all, hunk{about: strings.TrimSpace(about)})
			continue
		}
		if strings.HasPrefix(text, "diff --git ") {
			old, now = -1, -1 // of a file that became a link there are two: the second has its own lines
			continue
		}
		if len(all) == 0 || text == "" || old < 0 {
			continue
		}
		h := &all[len(all)-1]
		switch op := Op(text[0]); op {
		case Same:
			h.lines = append(h.lines, line{op, old, now, text[1:]})
			old++
			now++
		case Added:
			h.lines = append(h.lines, line{op, 0, now, text[1:]})
			now++
		case Deleted:
			h.lines = append(h.lines, line{op, old, 0, text[1:]})
			old++
		}
	}
	return all
}

// first is the number in "-10,6" or "+3".
func first(span string) int {
	number, _, _ := strings.Cut(strings.TrimLeft(span, "-+"), ",")
	n, _ := strconv.Atoi(number) // 0: git writes numbers
	return n
}

// Lines are the lines of a file, without their ends.
func Lines(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}
