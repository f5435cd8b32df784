package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Style configures terminal output. The zero value is ready to use.
type Style struct {
	// Width is the number of columns. Zero means 80.
	Width int
	// ASCII draws bars with '#', for output that is not a terminal.
	ASCII bool
	// Lowest is how many of the first report's worst queries to list.
	Lowest int
}

func (s Style) withDefaults() Style {
	if s.Width <= 0 {
		s.Width = 80
	}
	return s
}

const (
	// maxListed is the maximum length of each list of names below a table.
	maxListed = 10
	// maxCell is the maximum width of a terminal column, in characters.
	maxCell = 28
	// minBar and maxBar are the limits of a bar's length, in characters. A shorter
	// bar cannot distinguish 0.5 from 0.6, and a longer one is hard to follow.
	minBar, maxBar = 8, 40
)

// Markdown renders reports for a page: one report with all its scores, or several
// reports as columns with their differences from the first. Without reports, it
// returns "".
func Markdown(reports ...Report) string {
	var out strings.Builder
	for i, g := range tables(reports) {
		if i > 0 {
			out.WriteString("\n")
		}
		out.WriteString(g.markdown())
	}
	for _, s := range notes(reports) {
		out.WriteString(s.markdown())
	}
	return out.String()
}

// Terminal renders reports for a terminal, with bars of NDCG by category. Each list
// is truncated to ten lines.
func Terminal(style Style, reports ...Report) string {
	if len(reports) == 0 {
		return ""
	}
	style = style.withDefaults()
	all := tables(reports)
	lines := all[0].text(maxCell)
	if len(reports) == 1 {
		addBars(lines[1:], ndcgs(reports[0]), style)
	} else {
		lines = append(lines, chart(reports, style)...)
	}
	for _, g := range all[1:] {
		lines = append(append(lines, ""), g.text(maxCell)...)
	}
	for _, s := range notes(reports) {
		lines = append(lines, s.atMost(maxListed).text(style.Width)...)
	}
	if style.Lowest > 0 {
		lines = append(lines, reports[0].lowest(style.Lowest).text(style.Width)...)
	}
	return page(lines)
}

func tables(reports []Report) []grid {
	switch len(reports) {
	case 0:
		return nil
	case 1:
		return []grid{scoreTable(reports[0])}
	}
	return []grid{ndcgTable(reports), metricTable(reports)}
}

// scoreTable returns a table with a row for each category and one for all cases.
func scoreTable(r Report) grid {
	g := grid{head: []string{"category", "n"}, total: true}
	for _, m := range metrics[:scoreCount] {
		g.head = append(g.head, m.title(r.K))
	}
	for _, c := range append(slices.Clone(r.Categories), Category{Name: overall, Scores: r.Summary}) {
		row := []string{c.Name, fmt.Sprint(c.Cases)}
		for _, m := range metrics[:scoreCount] {
			value, _ := m.of(Report{Summary: c.Scores})
			row = append(row, fmt.Sprintf("%.*f", m.digits, value))
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// ndcgTable returns a table with a row per category and a column per report. Each
// column after the first is followed by the difference from the first and, if the
// reports were compared, that difference's interval.
func ndcgTable(reports []Report) grid {
	first := reports[0]
	g := grid{head: []string{metrics[0].title(first.K), "n", first.Name}, total: true}
	for _, r := range reports[1:] {
		g.head = append(g.head, r.Name, "+/-")
		if r.Against != nil {
			g.head = append(g.head, "95 %")
		}
	}
	row := func(name string, of func(Report) (Scores, bool)) {
		base, known := of(first)
		cells := []string{name, fmt.Sprint(base.Cases)}
		for i, r := range reports {
			s, ok := of(r)
			cells = append(cells, orDash(fmt.Sprintf("%.3f", s.NDCG), ok))
			if i > 0 {
				cells = append(cells, orDash(signed(s.NDCG-base.NDCG, 3), ok && known))
				if r.Against != nil {
					cells = append(cells, r.Against.interval(name).String())
				}
			}
		}
		g.rows = append(g.rows, cells)
	}
	eachRow(reports, row)
	return g
}

// overall names the row of all cases.
const overall = "all"

// eachRow calls the function row for every category in the reports, by name, and
// then for all cases. The function of returns a report's scores for that row, or
// false if the report has none.
func eachRow(reports []Report, row func(name string, of func(Report) (Scores, bool))) {
	for _, name := range allCategories(reports) {
		row(name, func(r Report) (Scores, bool) { return r.category(name) })
	}
	row(overall, func(r Report) (Scores, bool) { return r.Summary, true })
}

// metricTable returns a table with a row for each metric, except NDCG, that a
// report has.
func metricTable(reports []Report) grid {
	g := grid{head: []string{"for all cases", reports[0].Name}}
	for _, r := range reports[1:] {
		g.head = append(g.head, r.Name, "+/-")
	}
	for _, m := range metrics[1:] {
		base, known := m.of(reports[0])
		cells, any := []string{m.title(reports[0].K)}, false
		for i, r := range reports {
			value, ok := m.of(r)
			cells = append(cells, orDash(fmt.Sprintf("%.*f", m.digits, value), ok))
			if i > 0 {
				cells = append(cells, orDash(signed(value-base, m.digits), ok && known))
			}
			any = any || ok
		}
		if any {
			g.rows = append(g.rows, cells)
		}
	}
	return g
}

func orDash(s string, ok bool) string {
	if !ok {
		return "-"
	}
	return s
}

func (r Report) category(name string) (Scores, bool) {
	i := slices.IndexFunc(r.Categories, func(c Category) bool { return c.Name == name })
	if i < 0 {
		return Scores{}, false
	}
	return r.Categories[i].Scores, true
}

func allCategories(reports []Report) []string {
	var names []string
	for _, r := range reports {
		for _, c := range r.Categories {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ndcgs returns the NDCG of each row of scoreTable.
func ndcgs(r Report) []float64 {
	var values []float64
	for _, c := range r.Categories {
		values = append(values, c.NDCG)
	}
	return append(values, r.Summary.NDCG)
}

// addBars appends a bar to each line if the width has room for it. All lines have
// the same length.
func addBars(lines []string, values []float64, style Style) {
	for i, value := range values {
		if cells := style.Width - utf8.RuneCountInString(lines[i]) - 2; cells >= minBar {
			lines[i] += "  " + bar(value, min(cells, maxBar), style.ASCII)
		}
	}
}

// chart returns each category's bars, one line per report, after an empty line.
func chart(reports []Report, style Style) []string {
	g := grid{head: []string{"", ""}}
	var values []float64
	add := func(name string, of func(Report) (Scores, bool)) {
		label := name
		for _, r := range reports {
			if s, ok := of(r); ok {
				g.rows = append(g.rows, []string{label, r.Name})
				values = append(values, s.NDCG)
				label = "" // only the first bar has the name
			}
		}
	}
	eachRow(reports, add)
	lines := g.text(maxCell)
	addBars(lines[1:], values, style)
	return lines
}

// notes returns the facts that a reader needs in addition to the scores. It
// includes the figures if there is only one report; for several reports, they are
// in metricTable.
func notes(reports []Report) []section {
	var all []section
	if len(reports) == 1 {
		all = append(all, section{lines: reports[0].figures()})
	}
	for _, r := range reports {
		of := ""
		if len(reports) > 1 {
			of = " (" + r.Name + ")"
		}
		for _, s := range r.troubles() {
			if len(s.lines) > 0 {
				s.title = fmt.Sprintf("%s%s: %d", s.title, of, len(s.lines))
				all = append(all, s)
			}
		}
	}
	return all
}

func (r Report) troubles() []section {
	failed, closed := section{title: "failed queries (counted as 0)"}, section{title: "queries with a hit that could not be opened"}
	missing := section{title: "expected files missing from the corpus"}
	for _, c := range r.Cases {
		if c.Error != "" {
			failed.lines = append(failed.lines, c.Name+": "+c.Error)
		}
		if c.TextError != "" {
			closed.lines = append(closed.lines, c.Name+": "+c.TextError)
		}
	}
	for _, m := range r.MissingFiles {
		missing.lines = append(missing.lines, m.Case+": "+m.Filepath)
	}
	return []section{failed, closed, missing}
}

func (r Report) figures() []string {
	s := r.Summary
	lines := []string{fmt.Sprintf("%d without hits, %d failed, %d facet leaks", s.Empty, s.Failed, s.FacetLeaks)}
	if s.AvgRounds > 0 {
		lines = append(lines, fmt.Sprintf("%.2f rounds to the right doc", s.AvgRounds))
	}
	if t := r.Timing; t != nil {
		line := fmt.Sprintf("search p50 %.2f ms, p95 %.2f ms", t.P50, t.P95)
		if t.PeakRSS > 0 {
			line += fmt.Sprintf(", peak memory %.0f MiB", t.PeakRSS)
		}
		lines = append(lines, line)
	}
	return lines
}

// lowest lists the n queries with the lowest NDCG.
func (r Report) lowest(n int) section {
	worst := slices.SortedStableFunc(slices.Values(r.Cases), func(a, b CaseResult) int { return cmp.Compare(a.NDCG, b.NDCG) })
	worst = worst[:min(n, len(worst))]
	s := section{title: fmt.Sprintf("lowest %d of %d", len(worst), len(r.Cases))}
	for _, c := range worst {
		s.lines = append(s.lines, fmt.Sprintf("%.3f  %s, %s: %s", c.NDCG, c.Name, rankText(c.FirstGood), c.Query))
	}
	return s
}

func rankText(rank int) string {
	if rank <= 0 {
		return "not found"
	}
	return fmt.Sprintf("rank %d", rank)
}
