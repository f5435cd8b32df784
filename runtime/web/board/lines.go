package board

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/web/diff"
)

// String returns the lines in the form used in addresses; see [anchorOf].
func (a anchor) String() string {
	side, text := "n", strconv.Itoa(a.First)
	if a.Old {
		side = "o"
	}
	if a.Last > a.First {
		text += "-" + strconv.Itoa(a.Last)
	}
	return side + text
}

// covers reports whether a row shows one of the lines.
func (a anchor) covers(r diff.Row) bool {
	n := r.New
	if a.Old {
		n = r.Old
	}
	return a.First > 0 && r.Gap == 0 && n >= a.First && n <= a.Last
}

// digestOf returns a short digest of lines, by which a link finds them again.
func digestOf(lines []string) string {
	sum := fnv.New32a()
	for _, l := range lines {
		fmt.Fprintln(sum, l)
	}
	return strconv.FormatUint(uint64(sum.Sum32()), 16)
}

// find returns where the lines of a link are now: those with the digest that are nearest
// to a. If there are none, found is false. An empty digest stands for any lines.
func (a anchor) find(lines []string, digest string) (now anchor, found bool) {
	size := a.Last - a.First + 1
	fits := func(first int) bool {
		return first >= 1 && first+size-1 <= len(lines) && (digest == "" || digestOf(lines[first-1:first-1+size]) == digest)
	}
	for off := range len(lines) + 1 {
		for _, first := range []int{a.First + off, a.First - off} {
			if fits(first) {
				return anchor{a.Old, first, first + size - 1}, true
			}
		}
		if digest == "" {
			break
		}
	}
	return a, false
}

// linkTo returns the address of lines of the file, which are the given ones.
func (l look) linkTo(path string, a anchor, lines []string) string {
	return l.at("/file", "path", path, "line", a.String(), "of", digestOf(lines)) + "#line"
}

// point finds the lines of a link, and opens the gap in which they are.
func (body *fileBody) point(in *diff.Input, s shown, old, now []string) {
	lines := now
	if s.Line.Old {
		lines = old
	}
	at, found := s.Line.find(lines, s.Of)
	if !found {
		body.Lost = "These lines have changed since this link was made: " + whereOf(tasks.Comment{Old: s.Line.Old, First: s.Line.First, Last: s.Line.Last}) + "."
		if at, found = s.Line.find(lines, ""); !found {
			return
		}
	}
	body.here, body.Line = at, whereOf(tasks.Comment{Old: at.Old, First: at.First, Last: at.Last})
	body.Link = body.linkTo(body.Path, at, lines[at.First-1:at.Last])
	in.All = in.All || !anyCovered(at, diff.Rows(*in))
}

func anyCovered(a anchor, rows []diff.Row) bool {
	for _, r := range rows {
		if a.covers(r) {
			return true
		}
	}
	return false
}
