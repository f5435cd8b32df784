package eval

import (
	"fmt"
	"strings"
)

// Markdown renders the difference for a page: metrics, categories, and the cases
// that got worse or better.
func (d Delta) Markdown() string {
	var out strings.Builder
	out.WriteString(d.metricGrid().markdown() + "\n" + d.categoryGrid().markdown())
	for _, s := range d.sections() {
		out.WriteString(s.markdown())
	}
	return out.String()
}

// Terminal renders the difference for a terminal, each list with at most ten
// lines.
func (d Delta) Terminal(style Style) string {
	style = style.withDefaults()
	lines := append(d.metricGrid().text(maxCell), "")
	lines = append(lines, d.categoryGrid().text(maxCell)...)
	for _, s := range d.sections() {
		lines = append(lines, s.atMost(maxListed).text(style.Width)...)
	}
	return page(lines)
}

func (d Delta) metricGrid() grid { return changeGrid("Metric", d.Metrics) }

// categoryGrid adds the intervals to the differences, if there are intervals. A
// delta without cases, for example from a scores file, has none.
func (d Delta) categoryGrid() grid {
	g := changeGrid("NDCG by category", d.Categories)
	if d.Interval == nil {
		return g
	}
	g.head = append(g.head, "95 % interval")
	for i, c := range d.Categories {
		g.rows[i] = append(g.rows[i], c.Interval.String())
	}
	return g
}

func changeGrid(title string, changes []Change) grid {
	g := grid{head: []string{title, "Baseline", "Current", "Delta"}}
	for _, c := range changes {
		g.rows = append(g.rows, []string{
			c.Name, fmt.Sprintf("%.*f", c.digits, c.Baseline), fmt.Sprintf("%.*f", c.digits, c.Current), signed(c.Delta, c.digits),
		})
	}
	return g
}

// sections returns the lists below the tables, without the empty ones.
func (d Delta) sections() []section {
	var all []section
	add := func(title string, lines []string) {
		if len(lines) > 0 {
			all = append(all, section{title, lines})
		}
	}
	add("Notes", d.Notes)
	if i := d.Interval; i != nil {
		add("95 % interval of the NDCG difference", []string{fmt.Sprintf("%+.4f to %+.4f: %s", i.Low, i.High, i.verdict())})
	}
	add(fmt.Sprintf("Regressions (%d)", len(d.Regressions)), changeLines(d.Regressions))
	add(fmt.Sprintf("Improvements (%d)", len(d.Improvements)), changeLines(d.Improvements))
	add(fmt.Sprintf("Added cases (%d)", len(d.Added)), d.Added)
	add(fmt.Sprintf("Removed cases (%d)", len(d.Removed)), d.Removed)
	return all
}

func changeLines(changes []CaseChange) []string {
	lines := make([]string, len(changes))
	for i, c := range changes {
		lines[i] = fmt.Sprintf("%s: was %s, now %s (NDCG %.3f to %.3f)",
			c.Name, rankText(c.BaselineRank), rankText(c.Rank), c.BaselineNDCG, c.NDCG)
	}
	return lines
}
