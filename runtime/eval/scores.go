package eval

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Agreed is the search quality that was last agreed on, read from a scores file.
// Only the values that such a file contains are set: Cases and the five means.
type Agreed struct {
	K          int
	Collapse   bool
	Categories []Category
	Total      Scores
}

const scoresPreamble = `# The quality of search last agreed on, by category. No timings: the same
# answers give the same lines, and a changed line is a change to review.
`

// WriteScores writes the scores of r as a few lines of text, one for each
// category and one for all cases, with four decimals. Equal answers give equal
// text.
func WriteScores(w io.Writer, r Report) error {
	g := scoreTable(r)
	g.head[0] = "# category"
	if r.Collapse {
		g.head[0] = "# category (collapsed)"
	}
	for i, c := range append(r.Categories[:len(r.Categories):len(r.Categories)], Category{Name: "all", Scores: r.Summary}) {
		for m, value := range c.means() {
			g.rows[i][m+2] = fmt.Sprintf("%.4f", *value)
		}
	}
	text := scoresPreamble + page(g.text(0))
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write scores: %w", err)
	}
	return nil
}

// means returns pointers to the five columns of a scores file.
func (s *Scores) means() []*float64 {
	return []*float64{&s.NDCG, &s.MRR, &s.HitRate, &s.Recall5, &s.Recall10}
}

// ReadScores reads the output of WriteScores. The error is the fault "bad_scores"
// and names the line.
func ReadScores(r io.Reader) (Agreed, error) {
	var a Agreed
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		switch {
		case a.K <= 0 && strings.HasPrefix(line, "# category"):
			a.Collapse = strings.Contains(line, "(collapsed)")
			a.K, _ = strconv.Atoi(wordAfter(line, "NDCG@"))
			continue
		case a.K <= 0 || line == "":
			continue // the lines above the heading are for people
		}
		c, err := readScoreLine(strings.Fields(line))
		if err != nil {
			return Agreed{}, badScores(fmt.Sprintf("line %d of the scores: %v", n, err))
		}
		a.Categories = append(a.Categories, c)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return Agreed{}, badScores("a line of the scores is too long")
	} else if err != nil {
		return Agreed{}, fmt.Errorf("read scores: %w", err)
	}
	last := len(a.Categories) - 1
	switch {
	case a.K <= 0:
		return Agreed{}, badScores("the scores have no heading with NDCG@ and a rank")
	case last < 0 || a.Categories[last].Name != "all":
		return Agreed{}, badScores("the scores do not end with a line for \"all\"")
	}
	a.Total, a.Categories = a.Categories[last].Scores, a.Categories[:last]
	return a, nil
}

func badScores(message string) error {
	return fault.New("bad_scores", message, "create the scores file again from a report")
}

func wordAfter(line, mark string) string {
	_, rest, _ := strings.Cut(line, mark)
	word, _, _ := strings.Cut(rest, " ")
	return word
}

// readScoreLine parses a name, which may contain spaces, and the numbers after it.
func readScoreLine(fields []string) (Category, error) {
	var c Category
	means := c.means()
	at := len(fields) - len(means) - 1
	if at < 1 {
		return c, fmt.Errorf("want a category, a count and %d scores", len(means))
	}
	c.Name = strings.Join(fields[:at], " ")
	var err error
	if c.Cases, err = strconv.Atoi(fields[at]); err != nil || c.Cases < 0 {
		return c, fmt.Errorf("%q is not a number of cases", fields[at])
	}
	for i, mean := range means {
		text := fields[at+1+i]
		// The negated form also rejects NaN.
		if *mean, err = strconv.ParseFloat(text, 64); err != nil || !(*mean >= 0 && *mean <= 1) {
			return c, fmt.Errorf("%q is not a score from 0 to 1", text)
		}
	}
	return c, nil
}

// CompareScores compares current with the scores that were last agreed on,
// rounded to four decimals like those. A scores file has no cases, so the delta
// lists none.
func CompareScores(base Agreed, current Report) Delta {
	d := Delta{Baseline: "agreed", Current: current.Name, Regressions: []CaseChange{}, Improvements: []CaseChange{}}
	was := Report{K: base.K, Collapse: base.Collapse, Summary: base.Total, Categories: base.Categories}
	if base.K != current.K || base.Collapse != current.Collapse {
		d.Notes = append(d.Notes, "the scores were measured with a different rank or a different language rule")
	}
	if base.Total.Cases != current.Summary.Cases {
		d.Notes = append(d.Notes, fmt.Sprintf("the scores cover %d cases, but the report covers %d", base.Total.Cases, current.Summary.Cases))
	}
	d.compareScores(was, current)
	d.Metrics = d.Metrics[:scoreCount]
	for _, changes := range [][]Change{d.Metrics, d.Categories} {
		for i := range changes {
			c := &changes[i]
			c.Current = roundTo(c.Current, 4)
			c.Delta, c.digits = roundTo(c.Current-c.Baseline, 4), 4
		}
	}
	return d
}
