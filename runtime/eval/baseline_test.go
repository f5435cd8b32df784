package eval

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

func TestCompareNamesWhatGotBetterAndWorse(t *testing.T) {
	d := Compare(before(t), after(t))
	names := func(changes []CaseChange) (names []string) {
		for _, c := range changes {
			names = append(names, fmt.Sprintf("%s %d to %d", c.Name, c.BaselineRank, c.Rank))
		}
		return names
	}
	if got, want := names(d.Regressions), []string{"anchor-drags 2 to 0"}; !reflect.DeepEqual(got, want) {
		t.Errorf("regressions = %q, want %q", got, want)
	}
	// NDCG@5 does not see the fee at rank 7, so it comes last.
	if got, want := names(d.Improvements), []string{"tie-up 2 to 1", "fee 0 to 7"}; !reflect.DeepEqual(got, want) {
		t.Errorf("improvements = %q, want %q", got, want)
	}
	if m := d.Metrics[0]; m.Name != "NDCG@5" || math.Abs(m.Current-m.Baseline-m.Delta) > 1e-8 || m.Delta >= 0 {
		t.Errorf("first metric = %+v, want NDCG@5 with a drop", m)
	}
}

func TestCompareLeavesOutCasesThatOnlyOneHas(t *testing.T) {
	report := func(ndcg map[string]float64) Report {
		var cases []CaseResult
		for _, name := range []string{"a", "b", "c"} {
			if v, ok := ndcg[name]; ok {
				cases = append(cases, CaseResult{Name: name, Category: "x", NDCG: v})
			}
		}
		return newReport(Options{K: 5}, cases)
	}
	d := Compare(report(map[string]float64{"a": 0.5, "b": 1}), report(map[string]float64{"a": 0.75, "c": 0}))
	if !slices.Equal(d.Added, []string{"c"}) || !slices.Equal(d.Removed, []string{"b"}) {
		t.Errorf("added %q, removed %q; want c and b", d.Added, d.Removed)
	}
	if m := d.Metrics[0]; m.Baseline != 0.5 || m.Current != 0.75 {
		t.Errorf("NDCG = %+v, want that of the common case, 0.5 to 0.75", m)
	}
	if err := Gate(report(map[string]float64{"c": 0.4}), &Delta{}, 0, 0); err != nil {
		t.Errorf("Gate without a common case = %v, want nil", err)
	}
}

func TestCompareNotesOtherMeasures(t *testing.T) {
	a, b := before(t), before(t)
	b.K, b.Collapse, b.Cases[0].Query = 10, true, "something else"
	if d := Compare(a, b); len(d.Notes) != 3 {
		t.Errorf("notes = %q, want one each for rank, collapse and query", d.Notes)
	}
}

func TestGate(t *testing.T) {
	current := Report{K: 5, Summary: Scores{NDCG: 0.6}}
	fell := &Delta{Metrics: []Change{{Name: "NDCG@5", Baseline: 0.65, Current: 0.6, Delta: -0.05}}}
	rose := &Delta{Metrics: []Change{{Name: "NDCG@5", Baseline: 0.5, Current: 0.6, Delta: 0.1}}}
	for name, test := range map[string]struct {
		delta            *Delta
		minNDCG, maxDrop float64
		code             string
	}{
		"nothing asked":       {nil, 0, -1, ""},
		"exactly the minimum": {nil, 0.6, -1, ""},
		"under the minimum":   {nil, 0.61, -1, "score_too_low"},
		"drop, not asked":     {fell, 0, -1, ""},
		"drop, allowed":       {fell, 0, 0.05, ""},
		"drop, too much":      {fell, 0, 0.04, "score_dropped"},
		"drop, none allowed":  {fell, 0, 0, "score_dropped"},
		"no baseline":         {nil, 0, 0, ""},
		"rise":                {rose, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := Gate(current, test.delta, test.minNDCG, test.maxDrop)
			code := ""
			if f := fault.Of(err); f != nil {
				code = f.Code
			}
			if code != test.code || (err == nil) != (test.code == "") {
				t.Errorf("Gate(0.6, min %v, max drop %v) = %v, want %q", test.minNDCG, test.maxDrop, err, test.code)
			}
		})
	}
	current.MissingFiles = []MissingFile{{Case: "a", Filepath: "gone.md"}}
	if err := Gate(current, nil, 0.61, -1); fault.Of(err) == nil || !strings.HasPrefix(fault.Of(err).Hint, "1 expected file missing from the corpus") {
		t.Errorf("Gate with a missing file = %v, want a hint that names it", err)
	}
	want := "NDCG@5 fell by 0.0500, from 0.6500 to 0.6000; at most 0.0400 is allowed"
	if err := Gate(current, fell, 0, 0.04); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Gate = %v, want %q", err, want)
	}
}
