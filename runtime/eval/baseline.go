package eval

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Delta is the difference between two reports.
type Delta struct {
	Baseline string `json:"baseline"`
	Current  string `json:"current"`
	// Metrics covers the cases that both reports have, NDCG first. Categories holds
	// the NDCG of these cases by category.
	Metrics    []Change `json:"metrics"`
	Categories []Change `json:"categories"`
	// Interval is the confidence interval of the NDCG difference; nil with
	// fewer than two cases.
	Interval *Interval `json:"ndcg_interval,omitempty"`
	// Regressions and Improvements list the cases whose NDCG changed, largest
	// change first, followed by the cases in which only the rank of the first
	// good hit changed.
	Regressions  []CaseChange `json:"regressions"`
	Improvements []CaseChange `json:"improvements"`
	// Added and Removed name the cases that are in only one of the reports.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Notes say why the reports may not be comparable.
	Notes []string `json:"notes,omitempty"`
}

// Change is one figure in two reports.
type Change struct {
	Name     string  `json:"name"`
	Baseline float64 `json:"baseline"`
	Current  float64 `json:"current"`
	Delta    float64 `json:"delta"`
	// Interval is the confidence interval of a category's NDCG difference; nil
	// with fewer than two cases.
	Interval *Interval `json:"interval,omitempty"`
	digits   int
}

func newChange(name string, was, now float64, digits int) Change {
	return Change{Name: name, Baseline: roundTo(was, 9), Current: roundTo(now, 9), Delta: roundTo(now-was, 9), digits: digits}
}

// CaseChange is one case in two reports. The ranks are those of the first good hit;
// 0 if there is none.
type CaseChange struct {
	Name         string  `json:"name"`
	Category     string  `json:"category"`
	BaselineRank int     `json:"baseline_rank"`
	Rank         int     `json:"rank"`
	BaselineNDCG float64 `json:"baseline_ndcg"`
	NDCG         float64 `json:"ndcg"`
}

// changed is the largest NDCG difference that is treated as equal. Reports are
// written with nine decimals.
const changed = 1e-8

// Compare compares current with base, matching cases by name. Cases that are in
// only one report are listed and otherwise ignored.
func Compare(base, current Report) Delta {
	d := Delta{Baseline: base.Name, Current: current.Name, Regressions: []CaseChange{}, Improvements: []CaseChange{}}
	if base.K != current.K {
		d.Notes = append(d.Notes, fmt.Sprintf("the baseline is cut off at rank %d, but the current report at rank %d", base.K, current.K))
	}
	if base.Collapse != current.Collapse {
		d.Notes = append(d.Notes, "only one of the reports collapses languages")
	}
	both := pairs(base, current)
	var oldCases, newCases []CaseResult
	for _, pair := range both {
		if pair.was.Query != pair.now.Query {
			d.Notes = append(d.Notes, fmt.Sprintf("%s has a different query now", pair.now.Name))
		}
		// A case may have moved to another category. Both results count in the
		// current category.
		pair.was.Category = pair.now.Category
		oldCases, newCases = append(oldCases, pair.was), append(newCases, pair.now)
	}
	d.Added, d.Removed = without(current.Cases, newCases), without(base.Cases, oldCases)
	d.compareCases(oldCases, newCases)
	d.compareScores(base.only(oldCases), current.only(newCases))
	for i := range d.Categories {
		c := &d.Categories[i]
		c.Interval = Bootstrap(differencesIn(c.Name, oldCases, newCases))
	}
	return d
}

// pair is one case in two reports.
type pair struct{ was, now CaseResult }

// pairs returns the cases that both reports have, in the order of current.
func pairs(base, current Report) []pair {
	before := map[string]CaseResult{}
	for _, c := range base.Cases {
		before[c.Name] = c
	}
	var both []pair
	for _, c := range current.Cases {
		if was, ok := before[c.Name]; ok {
			both = append(both, pair{was, c})
		}
	}
	return both
}

// without returns the names of those cases that the second list does not contain.
func without(cases, known []CaseResult) (names []string) {
	in := map[string]bool{}
	for _, c := range known {
		in[c.Name] = true
	}
	for _, c := range cases {
		if !in[c.Name] {
			names = append(names, c.Name)
		}
	}
	return names
}

// differencesIn returns the NDCG differences of one category's cases.
func differencesIn(category string, before, after []CaseResult) []float64 {
	var all []float64
	for i, now := range after {
		if now.Category == category {
			all = append(all, now.NDCG-before[i].NDCG)
		}
	}
	return all
}

// Against compares each report with the first and sets its field Against. Cases
// differ in difficulty, so two systems should be compared case by case, not by
// their means.
func Against(reports []Report) {
	for i := range reports[min(1, len(reports)):] {
		d := Compare(reports[0], reports[i+1])
		reports[i+1].Against = &d
	}
}

// only returns the report reduced to the given cases.
func (r Report) only(cases []CaseResult) Report {
	part := newReport(Options{Name: r.Name, K: r.K, Collapse: r.Collapse}, cases)
	part.Timing = r.Timing
	return part
}

func (d *Delta) compareCases(before, after []CaseResult) {
	all := make([]float64, len(after))
	for i, now := range after {
		was := before[i]
		all[i] = now.NDCG - was.NDCG
		change := CaseChange{now.Name, now.Category, was.FirstGood, now.FirstGood, roundTo(was.NDCG, 9), roundTo(now.NDCG, 9)}
		switch change.direction() {
		case -1:
			d.Regressions = append(d.Regressions, change)
		case +1:
			d.Improvements = append(d.Improvements, change)
		}
	}
	most := func(a, b CaseChange) int {
		sizeA, sizeB := math.Abs(a.NDCG-a.BaselineNDCG), math.Abs(b.NDCG-b.BaselineNDCG)
		return cmp.Or(cmp.Compare(sizeB, sizeA), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(d.Regressions, most)
	slices.SortFunc(d.Improvements, most)
	d.Interval = Bootstrap(all)
}

// direction returns +1 if the case got better, -1 if it got worse and 0 if it did
// not change. It compares the NDCG, and the rank if the NDCG is equal.
func (c CaseChange) direction() int {
	if math.Abs(c.NDCG-c.BaselineNDCG) > changed {
		return cmp.Compare(c.NDCG, c.BaselineNDCG)
	}
	last := func(rank int) int { // rank 0 (no good hit) sorts after every other rank
		if rank <= 0 {
			return math.MaxInt
		}
		return rank
	}
	return cmp.Compare(last(c.BaselineRank), last(c.Rank))
}

func (d *Delta) compareScores(base, current Report) {
	for _, m := range metrics {
		was, known := m.of(base)
		now, ok := m.of(current)
		if known && ok {
			d.Metrics = append(d.Metrics, newChange(m.title(current.K), was, now, m.digits))
		}
	}
	for _, c := range current.Categories {
		if was, ok := base.category(c.Name); ok {
			d.Categories = append(d.Categories, newChange(c.Name, was.NDCG, c.NDCG, 3))
		}
	}
}

// Gate returns a fault if current is not good enough: "score_too_low" if its NDCG
// is below minNDCG (0 disables the check), "score_dropped" if the NDCG fell by
// more than maxDrop according to delta. A nil delta or a negative maxDrop
// disables that check; 0 allows no drop at all.
func Gate(current Report, delta *Delta, minNDCG, maxDrop float64) error {
	name := metrics[0].title(current.K)
	if got := current.Summary.NDCG; got < minNDCG-changed {
		hint := "check the categories with the shortest bars, and their cases in the JSON report"
		if n := len(current.MissingFiles); n > 0 {
			hint = textutil.Count(n, "expected file") + " missing from the corpus: correct the paths in the cases, or index the right folder"
		}
		return fault.New("score_too_low", fmt.Sprintf("%s is %.4f, below the required %.4f", name, got, minNDCG), hint)
	}
	if delta == nil || maxDrop < 0 || len(delta.Metrics) == 0 {
		return nil
	}
	ndcg := delta.Metrics[0]
	if drop := -ndcg.Delta; drop > maxDrop+changed {
		return fault.New("score_dropped", fmt.Sprintf("%s fell by %.4f, from %.4f to %.4f; at most %.4f is allowed", name, drop, ndcg.Baseline, ndcg.Current, maxDrop),
			"check the regressions by case; if the change is intended, write a new baseline and have it reviewed")
	}
	return nil
}
