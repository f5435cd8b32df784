package eval

import (
	"fmt"
	"math"
	"testing"
)

// Whatever the order, graded candidates are worth what the same list of hits is worth.
func TestGradedCandidatesAreWorthWhatTheirHitsAre(t *testing.T) {
	twin := func(file string) Entry {
		e := entry(file, "Retries", 3)
		e.Same = 1
		return e
	}
	c := Case{Good: 2, Expected: []Entry{twin("go/retry.md"), twin("java/retry.md"), entry("tune.md", "Limits", 2)}}
	hits := []Hit{sectionHit("go/retry.md", "Retries"), sectionHit("b.md", "B"), sectionHit("tune.md", "Limits"), sectionHit("java/retry.md", "Retries")}
	for _, o := range []Options{{}, {Collapse: true}} {
		g := Grade(c, hits, noText, o)
		if got := fmt.Sprint(g.Grades); got != "[3 0 2 3]" {
			t.Errorf("grades are %s, want [3 0 2 3]", got)
		}
		for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 0, 3}, {2}, {}} {
			var listed []Hit
			for _, at := range order {
				listed = append(listed, hits[at])
			}
			if got, want := g.NDCG(order), judged(t, c, o, listed...).NDCG; math.Abs(got-want) > 1e-12 {
				t.Errorf("collapse %t, order %v: NDCG = %g, want %g", o.Collapse, order, got, want)
			}
		}
	}
}
