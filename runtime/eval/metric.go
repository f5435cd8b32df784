package eval

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// metric is one figure of a report, as shown in tables. The first five metrics are
// scores from 0 to 1 that are also shown by category.
type metric struct {
	name   string // with %d in place of K
	digits int    // decimals shown
	// of returns a report's value of the metric, or false if the report does not
	// have it.
	of func(Report) (float64, bool)
}

const scoreCount = 5

var metrics = []metric{
	{"NDCG@%d", 3, func(r Report) (float64, bool) { return r.Summary.NDCG, true }},
	{"MRR@%d", 3, func(r Report) (float64, bool) { return r.Summary.MRR, true }},
	{"hit@%d", 3, func(r Report) (float64, bool) { return r.Summary.HitRate, true }},
	{"recall@5", 3, func(r Report) (float64, bool) { return r.Summary.Recall5, true }},
	{"recall@10", 3, func(r Report) (float64, bool) { return r.Summary.Recall10, true }},
	{"rounds to right doc", 2, func(r Report) (float64, bool) { return r.Summary.AvgRounds, r.Summary.AvgRounds > 0 }},
	{"facet leaks", 0, func(r Report) (float64, bool) { return float64(r.Summary.FacetLeaks), true }},
	{"failed queries", 0, func(r Report) (float64, bool) { return float64(r.Summary.Failed), true }},
	{"queries without hits", 0, func(r Report) (float64, bool) { return float64(r.Summary.Empty), true }},
	{"search p50 ms", 2, timed(func(t *Timing) float64 { return t.P50 })},
	{"search p95 ms", 2, timed(func(t *Timing) float64 { return t.P95 })},
	{"peak memory MiB", 0, timed(func(t *Timing) float64 { return t.PeakRSS })},
}

func timed(of func(*Timing) float64) func(Report) (float64, bool) {
	return func(r Report) (float64, bool) {
		if r.Timing == nil {
			return 0, false
		}
		value := of(r.Timing)
		return value, value > 0
	}
}

func (m metric) title(k int) string { return strings.ReplaceAll(m.name, "%d", strconv.Itoa(k)) }

// signed formats a difference with its sign, or without one if it rounds to zero.
func signed(delta float64, digits int) string {
	if math.Abs(delta) < 0.5*math.Pow10(-digits) {
		return fmt.Sprintf("%.*f", digits, 0.0)
	}
	return fmt.Sprintf("%+.*f", digits, delta)
}

// roundTo rounds value to the given number of decimals.
func roundTo(value float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(value*scale) / scale
}
