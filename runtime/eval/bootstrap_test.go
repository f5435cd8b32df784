package eval

import (
	"math"
	"slices"
	"testing"
)

// ones are n differences, the first k of them 1 and the others 0. The mean of a
// resample, times n, is then binomial.
func ones(k, n int) []float64 {
	differences := make([]float64, n)
	for i := range k {
		differences[i] = 1
	}
	return differences
}

func TestBootstrapIsTheQuantilesOfResampledMeans(t *testing.T) {
	for name, c := range map[string]struct {
		groups [][]float64
		want   Interval
	}{
		"all the same":             {[][]float64{{0.25, 0.25, 0.25}}, Interval{0.25, 0.25}},
		"2 cases":                  {[][]float64{ones(1, 2)}, Interval{0, 1}},                // 0 and 1 have 25 % each
		"1 of 10":                  {[][]float64{ones(1, 10)}, Interval{0, 0.3}},             // P(<=2) = 93.0 %, P(<=3) = 98.7 %
		"10 of 20":                 {[][]float64{ones(10, 20)}, Interval{0.3, 0.7}},          // P(<=5) = 2.1 %, P(<=6) = 5.8 %
		"groups count alike":       {[][]float64{{1, 1, 1, 1}, {3, 3}}, Interval{2, 2}},      // not 10/6
		"a group of one":           {[][]float64{ones(1, 2), {1}}, Interval{0.5, 1}},         // that never changes
		"groups are drawn apart":   {[][]float64{ones(1, 2), ones(1, 2)}, Interval{0, 1}},    // 0 and 2 have 1/16 each
		"and make a mean narrower": {[][]float64{ones(1, 10), {0, 0}}, Interval{0, 0.3 / 2}}, // half of that above
	} {
		got := Bootstrap(c.groups...)
		if got == nil || math.Abs(got.Low-c.want.Low) > 1e-9 || math.Abs(got.High-c.want.High) > 1e-9 {
			t.Errorf("%s: Bootstrap(%v) = %v, want %v", name, c.groups, got, c.want)
		}
	}
	for name, groups := range map[string][][]float64{"nothing": nil, "one case": {{0.5}}, "an empty group": {{1, 2}, {}}} {
		if got := Bootstrap(groups...); got != nil {
			t.Errorf("%s: Bootstrap(%v) = %v, want nil", name, groups, got)
		}
	}
}

// The interval of many small differences is that of the normal distribution.
func TestBootstrapIsTheSameInAnyOrder(t *testing.T) {
	differences := make([]float64, 100)
	for i := range differences {
		differences[i] = float64(i%10) / 100 // mean 0.045
	}
	a := Bootstrap(differences)
	slices.Reverse(differences)
	b := Bootstrap(differences)
	if *a != *b {
		t.Errorf("intervals %v and %v of the same cases in another order differ", a, b)
	}
	// The standard error is 0.0287 / 10, and 1.96 of it on each side is expected.
	if math.Abs(a.Low-0.0394) > 0.0005 || math.Abs(a.High-0.0506) > 0.0005 {
		t.Errorf("interval = %v, want about 0.0394 to 0.0506", a)
	}
}

func TestDifferencesPairCasesByName(t *testing.T) {
	base := Report{Cases: []CaseResult{{Name: "a", NDCG: 0.5}, {Name: "b", NDCG: 1}, {Name: "gone", NDCG: 1}}}
	current := Report{Cases: []CaseResult{{Name: "b", NDCG: 0.75}, {Name: "new", NDCG: 1}, {Name: "a", NDCG: 1}}}
	if got, want := Differences(base, current), []float64{-0.25, 0.5}; !slices.Equal(got, want) {
		t.Errorf("Differences = %v, want %v", got, want)
	}
}
