package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/eval"
)

// in is the measure over the cases of one category alone.
func (m measure) in(category string) measure {
	part := measure{set: category}
	for _, r := range m.reports {
		var cases []eval.CaseResult
		for _, c := range r.Cases {
			if nameOf(c.Category) == category {
				c.Name = m.set + " " + c.Name // unique when sets are put together
				cases = append(cases, c)
			}
		}
		part.reports = append(part.reports, eval.Report{Cases: cases})
	}
	return part
}

// nameOf is a category as most sets call it.
func nameOf(category string) string {
	switch category {
	case "typo":
		return "typo-abbreviation"
	case "language-filtered":
		return "filtered"
	}
	return category
}

func (m measure) categories() []string {
	names := map[string]bool{}
	for _, c := range m.reports[0].Cases {
		names[nameOf(c.Category)] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// together is all cases of some measures as if they were one set.
func together(name string, parts []measure) measure {
	all := measure{set: name, reports: make([]eval.Report, len(systems))}
	for _, p := range parts {
		for i, r := range p.reports {
			all.reports[i].Cases = append(all.reports[i].Cases, r.Cases...)
		}
	}
	return all
}

// ndcg is the mean of a report's cases.
func ndcg(r eval.Report) float64 {
	sum := 0.0
	for _, c := range r.Cases {
		sum += c.NDCG
	}
	return sum / float64(max(1, len(r.Cases)))
}

// row is a line of the tables: NDCG@5 by system and what both adds to words and
// to bluge, with intervals.
func (m measure) row(cells ...string) string {
	cells = append(cells, fmt.Sprint(len(m.reports[0].Cases)))
	for _, r := range m.reports {
		cells = append(cells, fmt.Sprintf("%.3f", ndcg(r)))
	}
	for _, system := range []string{"words", "bluge"} {
		cells = append(cells, added(m.differences(system)))
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// added words the mean of differences; of several groups, their means' mean.
func added(groups ...[]float64) string {
	mean := 0.0
	for _, differences := range groups {
		sum := 0.0
		for _, d := range differences {
			sum += d
		}
		mean += sum / float64(len(differences)) / float64(len(groups))
	}
	return fmt.Sprintf("%+.3f (%v)", mean, eval.Bootstrap(groups...))
}

const rankingHead = "cases | bluge | words | meaning | both | both - words (95 %) | both - bluge (95 %) |\n"

// rankingTables are the tables of docs/ranking.md.
func rankingTables(all []measure) string {
	var b bytes.Buffer
	b.WriteString("### By set\n\n| set | " + rankingHead + "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	var words, bluge [][]float64
	means, n := make([]float64, len(systems)), 0
	for _, m := range all {
		b.WriteString(m.row(m.set))
		words, bluge = append(words, m.differences("words")), append(bluge, m.differences("bluge"))
		for i, r := range m.reports {
			means[i] += ndcg(r) / float64(len(all))
		}
		n += len(m.reports[0].Cases)
	}
	if len(all) > 1 {
		fmt.Fprintf(&b, "| **mean of sets** | %d |", n)
		for _, mean := range means {
			fmt.Fprintf(&b, " **%.3f** |", mean)
		}
		fmt.Fprintf(&b, " %s | %s |\n", added(words...), added(bluge...))
	}
	byCategory := map[string][]measure{}
	for _, m := range all {
		for _, category := range m.categories() {
			byCategory[category] = append(byCategory[category], m.in(category))
		}
	}
	b.WriteString("\n### By category\n\nAll cases of a category, from all sets that have the category.\n\n| category | sets | " + rankingHead + "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, category := range slices.Sorted(maps.Keys(byCategory)) {
		parts := byCategory[category]
		b.WriteString(together(category, parts).row(category, fmt.Sprint(len(parts))))
	}
	if len(all) == 1 {
		return b.String()
	}
	b.WriteString("\n### By set and category\n\n| set | category | " + rankingHead + "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, m := range all {
		for _, category := range m.categories() {
			b.WriteString(m.in(category).row(m.set, category))
		}
	}
	return b.String()
}

const (
	tablesBegin = "<!-- tables: written by make ranking -->\n"
	tablesEnd   = "<!-- end of tables -->\n"
)

// writeRanking writes the tables to a file, between its marks if it has them, and
// a chart of the same name.
func writeRanking(t *testing.T, file string, all []measure) {
	t.Helper()
	page := rankingTables(all)
	if old, err := os.ReadFile(file); err == nil {
		before, rest, ok := strings.Cut(string(old), tablesBegin)
		_, after, closed := strings.Cut(rest, tablesEnd)
		if ok && closed {
			page = before + tablesBegin + "\n" + page + "\n" + tablesEnd + after
		}
	}
	chart := eval.Chart{Title: "NDCG@5 by set", Columns: systems}
	for _, m := range all {
		row := eval.ChartRow{Name: m.set}
		for _, r := range m.reports {
			row.Values = append(row.Values, ndcg(r))
		}
		chart.Rows = append(chart.Rows, row)
	}
	for path, text := range map[string]string{file: page, strings.TrimSuffix(file, ".md") + ".svg": chart.SVG()} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
