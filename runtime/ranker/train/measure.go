package train

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/ranker"
)

// Gain is what a ranker gains over a search without it, as NDCG@5.
type Gain struct {
	// Set or category, and the reader; empty: the questions alone.
	Name, Reader string
	// Held reports that these questions are never trained on.
	Held      bool
	Questions int
	// Without and With are the means without and with the ranker.
	Without, With float64
	// Low and High are the 95 % interval of the difference.
	Low, High float64
}

// Measured is what a ranker gains on questions that it was not trained on.
type Measured struct {
	Sets, Categories []Gain
	// Mean is that of Sets, each with the same weight, of the questions alone. Held is
	// that of the questions that are never trained on.
	Mean, Held float64
}

// Measure trains a ranker for each set on the others, and measures it there. It
// fails if there is only one set.
func Measure(ctx context.Context, questions []Question, o Options, progress func(set string)) (Measured, error) {
	all := sets(questions)
	if len(all) < 2 {
		return Measured{}, fault.New("bad_sets", "one set alone cannot be left out", "name two sets or more, or leave --measure out")
	}
	bySet, byCategory := values{}, values{}
	for _, s := range all {
		if progress != nil {
			progress(s.Name)
		}
		m, err := Train(ctx, slices.DeleteFunc(slices.Clone(questions), func(q Question) bool { return q.Set == s.Name }), o)
		if err != nil {
			return Measured{}, err
		}
		for i := range questions {
			q := &questions[i]
			if q.Set != s.Name || q.Shortened > 0 {
				continue
			}
			v := [2]float64{q.Graded.NDCG(q.unordered()), q.Graded.NDCG(q.ordered(m))}
			set, category := group{q.Set, q.Reader, q.Held}, group{q.Category, q.Reader, q.Held}
			bySet[set], byCategory[category] = append(bySet[set], v), append(byCategory[category], v)
		}
	}
	m := Measured{Sets: bySet.gains(), Categories: byCategory.gains()}
	m.Mean, m.Held = meanGain(m.Sets, false), meanGain(m.Sets, true)
	return m, nil
}

// meanGain is the mean gain of sets, of the questions alone.
func meanGain(sets []Gain, held bool) float64 {
	sum, n := 0.0, 0
	for _, g := range sets {
		if g.Reader == "" && g.Held == held {
			sum, n = sum+g.With-g.Without, n+1
		}
	}
	return sum / float64(max(1, n))
}

// unordered returns the candidates that are shown in the order without a ranker.
func (q *Question) unordered() []int {
	order := q.shown()
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(q.before[a], q.before[b]) })
	return order
}

// ordered returns the candidates that are shown in the order that a search with this
// ranker gives them.
func (q *Question) ordered(m *ranker.Model) []int {
	if !q.Ordered {
		return q.unordered()
	}
	ranked := m.Rank(q.Candidates, false)
	order := q.shown()
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranked[b].Score, ranked[a].Score) })
	return order
}

// group is what gains are summed up by.
type group struct {
	name, reader string
	held         bool
}

// values are the NDCG@5 of questions by the sum and by the ranker.
type values map[group][][2]float64

func (of values) gains() (out []Gain) {
	for key, values := range of {
		g := Gain{Name: key.name, Reader: key.reader, Held: key.held, Questions: len(values)}
		var differences []float64
		for _, v := range values {
			g.Without, g.With = g.Without+v[0]/float64(len(values)), g.With+v[1]/float64(len(values))
			differences = append(differences, v[1]-v[0])
		}
		if interval := eval.Bootstrap(differences); interval != nil {
			g.Low, g.High = interval.Low, interval.High
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b Gain) int {
		return cmp.Or(cmp.Compare(a.Reader, b.Reader), compareBool(a.Held, b.Held), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Print writes what was measured as a table.
func (m Measured) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-27s %-10s %9s %7s %7s %7s  %s\n", "set or category", "asked by", "questions", "without", "with", "gain", "95 %")
	for _, g := range slices.Concat(m.Sets, m.Categories) {
		if g.Held {
			g.Name += ", held"
		}
		fmt.Fprintf(&b, "%-27s %-10s %9d %7.4f %7.4f %+7.4f  %+.3f to %+.3f\n", g.Name, cmp.Or(g.Reader, "-"), g.Questions, g.Without, g.With, g.With-g.Without, g.Low, g.High)
	}
	fmt.Fprintf(&b, "mean gain of all sets, without rephrasings: %+.4f\n", m.Mean)
	if slices.ContainsFunc(m.Sets, func(g Gain) bool { return g.Held }) {
		fmt.Fprintf(&b, "mean gain of the held halves, without rephrasings: %+.4f\n", m.Held)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
