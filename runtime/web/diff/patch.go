// Package diff converts git's patch of one changed file to rows for people. The
// rows show lines next to each other or one after another, with syntax colours
// and with the changed words marked. The package is pure: it reads no files and
// does not run git.
package diff

import (
	"strconv"
	"strings"
)

// Op is the kind of change to a line.
type Op byte

// The kinds of changes.
const (
	Same    Op = ' '
	Added   Op = '+'
	Deleted Op = '-'
)

// line is a line of a patch, with its line numbers on both sides. The numbers
// count from 1. A number is 0 if the line is not on that side.
type line struct {
	op       Op
	old, new int
	text     string
}

// hunk is a hunk of a patch.
type hunk struct {
	lines []line
	about string // the hunk's context according to git, for example a function
}

// hunks parses one file's patch.
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
			old, now = -1, -1 // if a file became a link, the patch has a second part with its own line numbers
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

// first returns the number in "-10,6" or "+3".
func first(span string) int {
	number, _, _ := strings.Cut(strings.TrimLeft(span, "-+"), ",")
	n, _ := strconv.Atoi(number) // git always writes a number
	return n
}

// Lines returns a file's lines without their line ends.
func Lines(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}
