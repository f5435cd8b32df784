package eval

import (
	"math"
	"testing"
)

// sectionHit is a hit at a heading of a file.
func sectionHit(file, heading string) Hit {
	return Hit{ID: file + "#" + slug(heading), Path: file, Heading: heading, Breadcrumb: heading}
}

func entry(file, heading string, grade int) Entry {
	return Entry{Filepath: file, HasHeading: true, Heading: heading, Grade: grade}
}

func noText(string) string { return "" }

func judged(t *testing.T, c Case, opts Options, hits ...Hit) CaseResult {
	t.Helper()
	var result CaseResult
	j := newJudge(c, opts.withDefaults())
	j.add(hits, noText)
	j.fill(&result)
	return result
}

// The values on the right are worked out by hand: gains 1, 3, 7; discounts
// log2(2) = 1, log2(3) = 1.584963, log2(4) = 2, log2(5) = 2.321928, log2(6) = 2.584963.
func TestNDCGIsGainOverIdealGain(t *testing.T) {
	moor, tide, rope := entry("harbor.md", "Mooring", 3), entry("harbor.md", "Tides", 2), entry("rope.md", "Knots", 1)
	hitMoor, hitTide, hitRope := sectionHit("harbor.md", "Mooring"), sectionHit("harbor.md", "Tides"), sectionHit("rope.md", "Knots")
	other := sectionHit("sail.md", "Reefing")
	whole := Hit{ID: "harbor.md", Path: "harbor.md"}
	all := []Entry{moor, tide, rope}
	for name, test := range map[string]struct {
		expected []Entry
		hits     []Hit
		want     float64
	}{
		"best order": {all, []Hit{hitMoor, hitTide, hitRope}, 1},
		// (1 + 3/1.584963 + 7/2) / (7 + 3/1.584963 + 1/2) = 6.392789 / 9.392789
		"worst order": {all, []Hit{hitRope, hitTide, hitMoor}, 0.680606},
		// (7/1.584963) / 9.392789
		"one of three, second": {all, []Hit{other, hitMoor}, 0.470202},
		// 7 / 9.392789
		"a section twice earns once":  {all, []Hit{hitMoor, hitMoor, hitMoor}, 0.745253},
		"nothing found":               {all, []Hit{other, other}, 0},
		"no hits":                     {all, nil, 0},
		"rank 5 counts":               {[]Entry{moor}, []Hit{other, other, other, other, hitMoor}, 0.386853},
		"rank 6 does not":             {[]Entry{moor}, []Hit{other, other, other, other, other, hitMoor}, 0},
		"one hit for two is one of 1": {[]Entry{moor, tide}, []Hit{whole}, 1},
		// whole file (7) and Knots (1/1.584963), of the same two: the ideal has
		// no third answer.
		"one hit for two counts once in the ideal": {all, []Hit{whole, hitRope}, 1},
		// (1 + 7/1.584963) / (7 + 1/1.584963)
		"and in the wrong order":   {all, []Hit{hitRope, whole}, 0.709810},
		"grade 0 is worth nothing": {[]Entry{entry("harbor.md", "Mooring", 0)}, []Hit{hitMoor}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := judged(t, Case{Expected: test.expected}, Options{}, test.hits...).NDCG; math.Abs(got-test.want) > 1e-6 {
				t.Errorf("NDCG@5 = %.6f, want %.6f", got, test.want)
			}
		})
	}
}

func TestCollapseMakesTwinsOneAnswer(t *testing.T) {
	twin := func(file string, same int) Entry {
		e := entry(file, "Retries", 3)
		e.Same = same
		return e
	}
	c := Case{Good: 2, Expected: []Entry{twin("go/retry.md", 1), twin("java/retry.md", 1), entry("tune.md", "Limits", 2)}}
	goHit, javaHit, tune := sectionHit("go/retry.md", "Retries"), sectionHit("java/retry.md", "Retries"), sectionHit("tune.md", "Limits")
	for name, test := range map[string]struct {
		collapse        bool
		hits            []Hit
		ndcg, recallAt5 float64
	}{
		"apart, both shown":        {false, []Hit{goHit, javaHit, tune}, 1, 1},
		"apart, one shown":         {false, []Hit{goHit, tune}, (7 + 3/1.5849625) / (7 + 7/1.5849625 + 3/2.), 2 / 3.},
		"together, one shown":      {true, []Hit{javaHit, tune}, 1, 1},
		"together, the twin again": {true, []Hit{goHit, javaHit, tune}, (7 + 3/2.) / (7 + 3/1.5849625), 1},
		"together, none shown":     {true, []Hit{tune}, 3 / (7 + 3/1.5849625), 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			got := judged(t, c, Options{Collapse: test.collapse}, test.hits...)
			if math.Abs(got.NDCG-test.ndcg) > 1e-6 || math.Abs(got.Recall5-test.recallAt5) > 1e-9 {
				t.Errorf("NDCG = %.6f, recall = %.6f; want %.6f, %.6f", got.NDCG, got.Recall5, test.ndcg, test.recallAt5)
			}
		})
	}
}

func TestRankAndRecallCountFromTheGoodGrade(t *testing.T) {
	c := Case{Good: 2, Expected: []Entry{entry("a.md", "One", 3), entry("a.md", "Two", 2), entry("a.md", "Three", 1)}}
	other := sectionHit("b.md", "B")
	hits := []Hit{sectionHit("a.md", "Three"), other, sectionHit("a.md", "Two"), other, other, other, sectionHit("a.md", "One")}
	got := judged(t, c, Options{}, hits...)
	if got.FirstGood != 3 || math.Abs(got.ReciprocalRank-1/3.) > 1e-12 {
		t.Errorf("first good rank %d with reciprocal %.3f, want 3 and 0.333: grade 1 is not good", got.FirstGood, got.ReciprocalRank)
	}
	if got.Recall5 != 0.5 || got.Recall10 != 1 {
		t.Errorf("recall@5, @10 = %v, %v; want 0.5, 1", got.Recall5, got.Recall10)
	}
	if got := judged(t, c, Options{}, other, other, other, other, other, hits[6]); got.FirstGood != 6 || got.ReciprocalRank != 0 {
		t.Errorf("a good hit at rank 6 has rank %d, reciprocal %v; want 6, and 0 behind K", got.FirstGood, got.ReciprocalRank)
	}
}

// With one chunk that answers, NDCG is 1/log2(rank+1) and MRR 1/rank.
func TestOneExpectedChunkReducesToItsRank(t *testing.T) {
	c := Case{Expected: []Entry{{ChunkID: "a.md#x", Grade: 1}}}
	hits := []Hit{{ID: "a.md#y", Path: "a.md"}, {ID: "a.md", Path: "a.md"}, {ID: "a.md#x", Path: "a.md"}}
	got := judged(t, c, Options{}, hits...)
	if math.Abs(got.NDCG-0.5) > 1e-12 || math.Abs(got.ReciprocalRank-1/3.) > 1e-12 {
		t.Errorf("NDCG, reciprocal rank = %v, %v; want 0.5, 0.333 for rank 3", got.NDCG, got.ReciprocalRank)
	}
}
