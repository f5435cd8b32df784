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
	Questions    int
	// Without and With are the means without and with the ranker.
	Without, With float64
	// Low and High are the 95 % interval of the difference.
	Low, High float64
}

// Measured is what a ranker gains on questions that it was not trained on.
type Measured struct {
	Sets, Categories []Gain
	// Mean is that of Sets, each with the same weight, of the questions alone.
	Mean float64
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
			bySet[[2]string{q.Set, q.Reader}] = append(bySet[[2]string{q.Set, q.Reader}], v)
			byCategory[[2]string{q.Category, q.Reader}] = append(byCategory[[2]string{q.Category, q.Reader}], v)
		}
	}
	m := Measured{Sets: bySet.gains(), Categories: byCategory.gains()}
	for _, g := range m.Sets {
		if g.Reader == "" {
			m.Mean += (g.With - g.Without) / float64(len(all))
		}
	}
	return m, nil
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

// values are the NDCG@5 of questions by the sum and by the ranker, by name and
// reader.
type values map[[2]string][][2]float64

func (of values) gains() (out []Gain) {
	for key, values := range of {
		g := Gain{Name: key[0], Reader: key[1], Questions: len(values)}
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
	slices.SortFunc(out, func(a, b Gain) int { return cmp.Or(cmp.Compare(a.Reader, b.Reader), cmp.Compare(a.Name, b.Name)) })
	return out
}

// Print writes what was measured as a table.
func (m Measured) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s %-10s %9s %7s %7s %7s  %s\n", "set or category", "asked by", "questions", "without", "with", "gain", "95 %")
	for _, g := range slices.Concat(m.Sets, m.Categories) {
		fmt.Fprintf(&b, "%-22s %-10s %9d %7.4f %7.4f %+7.4f  %+.3f to %+.3f\n", g.Name, cmp.Or(g.Reader, "-"), g.Questions, g.Without, g.With, g.With-g.Without, g.Low, g.High)
	}
	fmt.Fprintf(&b, "mean gain of all sets, without rephrasings: %+.4f\n", m.Mean)
	_, err := io.WriteString(w, b.String())
	return err
}
