package eval

import (
	"math/rand/v2"
	"slices"
)

// Interval is the range of the middle 95 % of the mean differences in many
// resamples of the cases. If it contains zero, these cases do not show a
// difference.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// resamples is the number of resamples. With 10,000 resamples, the ends of an
// interval of ±0.03 differ by about 0.0005 between two seeds.
const resamples = 10_000

// Bootstrap returns the confidence interval of the mean difference between two
// systems. It is a paired bootstrap over the differences, case by case: each
// resample draws as many cases as there are, with replacement. Each group is
// resampled separately, and the means of all groups have equal weight, as in a mean
// over several sets. Bootstrap returns nil if a group is empty or no group has at
// least two cases.
//
// Its random numbers are always the same, and the order of the differences does not
// matter.
func Bootstrap(groups ...[]float64) *Interval {
	tells := false
	sorted := make([][]float64, len(groups))
	for i, differences := range groups {
		if len(differences) == 0 {
			return nil
		}
		tells = tells || len(differences) > 1
		sorted[i] = slices.Sorted(slices.Values(differences))
	}
	if !tells {
		return nil
	}
	random := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, resamples)
	for i := range means {
		for _, differences := range sorted {
			sum := 0.0
			for range differences {
				sum += differences[random.IntN(len(differences))]
			}
			means[i] += sum / float64(len(differences))
		}
		means[i] /= float64(len(groups))
	}
	slices.Sort(means)
	return &Interval{Low: roundTo(means[resamples*25/1000], 9), High: roundTo(means[resamples*975/1000-1], 9)}
}

// Differences returns the NDCG of current minus that of base, over the cases that
// are in both reports, in the order of current.
func Differences(base, current Report) []float64 {
	var differences []float64
	for _, pair := range pairs(base, current) {
		differences = append(differences, pair.now.NDCG-pair.was.NDCG)
	}
	return differences
}

// interval returns the interval of a category, or of all cases if row is overall.
func (d *Delta) interval(row string) *Interval {
	if row == overall {
		return d.Interval
	}
	for _, c := range d.Categories {
		if c.Name == row {
			return c.Interval
		}
	}
	return nil
}

// String returns the interval with three decimals, or "-" if i is nil.
func (i *Interval) String() string {
	if i == nil {
		return "-"
	}
	return signed(i.Low, 3) + " to " + signed(i.High, 3)
}

func (i Interval) verdict() string {
	switch {
	case i.Low > 0:
		return "better"
	case i.High < 0:
		return "worse"
	}
	return "no significant difference"
}
