package console

import (
	"fmt"
	"strings"
)

// Columns writes rows of a name and a description in two columns. If a name is too wide
// for its column, the description starts on the next line.
func Columns(b *strings.Builder, title string, rows [][2]string, width int) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	column := 0
	for _, row := range rows {
		if len(row[0]) <= width/3 {
			column = max(column, len(row[0])+2)
		}
	}
	for _, row := range rows {
		b.WriteString(row[0])
		at := len(row[0])
		if at+2 > column {
			b.WriteByte('\n')
			at = 0
		}
		Flow(b, row[1], at, column, width)
	}
}

// Flow writes text wrapped to width. The parameter at is the column that the current
// line has reached; column is the column at which the text of every line starts.
func Flow(b *strings.Builder, text string, at, column, width int) {
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			at += pad(b, column-at)
		case at+1+len(word) > width:
			b.WriteByte('\n')
			at = pad(b, column)
		default:
			at += pad(b, 1)
		}
		b.WriteString(word)
		at += len(word)
	}
	b.WriteByte('\n')
}

func pad(b *strings.Builder, n int) int {
	b.WriteString(strings.Repeat(" ", n))
	return n
}
