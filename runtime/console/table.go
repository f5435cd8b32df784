package console

import (
	"bytes"
	"io"
	"regexp"
	"text/tabwriter"
)

// Table aligns columns. Write rows with tabs between cells, then call Flush. On a
// terminal with colours, the first line that is not empty is bold, and states that
// need attention are coloured.
type Table struct {
	*tabwriter.Writer
	out     io.Writer
	aligned bytes.Buffer
}

// NewTable returns a table that Flush writes to out.
func NewTable(out io.Writer) *Table {
	t := &Table{out: out}
	t.Writer = tabwriter.NewWriter(&t.aligned, 0, 0, 2, ' ', 0)
	return t
}

// stateCell matches a whole cell, between columns, that names a state.
var stateCell = regexp.MustCompile(`  (failed|off branch|asks|open|open, agent finished|running)(?:  |$)`)

var stateColours = map[string]string{
	"failed": "31", "off branch": "31", "asks": "33", "open": "33", "open, agent finished": "33", "running": "32",
}

// Flush aligns the rows and writes them.
func (t *Table) Flush() error {
	if err := t.Writer.Flush(); err != nil {
		return err
	}
	_, err := t.out.Write(PainterFor(t.out).rows(t.aligned.Bytes()))
	t.aligned.Reset()
	return err
}

func (p Paint) rows(aligned []byte) []byte {
	if !p.colours {
		return aligned
	}
	lines, header := bytes.SplitAfter(aligned, []byte("\n")), true
	for i, line := range lines {
		text := bytes.TrimSuffix(line, []byte("\n"))
		end := line[len(text):]
		if m := stateCell.FindSubmatchIndex(text); m != nil && !header {
			word := string(text[m[2]:m[3]])
			lines[i] = append(append(append([]byte{}, text[:m[2]]...), p.Code(word, stateColours[word])...), line[m[3]:]...)
		}
		if header && len(text) > 0 {
			lines[i], header = append([]byte(p.Bold(string(text))), end...), false
		}
	}
	return bytes.Join(lines, nil)
}
