package eval

import (
	"math"
	"slices"
)

// How NDCG and the other scores are defined.
//
// An expected entry has a grade g from 0 to 3, worth a gain of 2^g - 1 (0, 1, 3
// or 7). The gain at rank r, counted from 1, is divided by log2(r + 1):
//
//	DCG@k = sum over r = 1..k of (2^g(r) - 1) / log2(r + 1)
//
// NDCG@k is the DCG@k of the ranking divided by the DCG@k of the best possible
// ranking, so 1 is perfect, and 0 means that nothing was found. The grade g(r) of a
// hit is the best grade among the entries that the hit covers (see Entry) and that no
// hit above it covered. Three rules make engines comparable even if they split files
// differently:
//
//   - An entry that a hit covers is used up: a second chunk of the same section earns
//     nothing.
//   - Entries that one hit covers are one answer: they count once, with their
//     best grade, in the ranking and in the ideal, so a coarse chunk can
//     still reach 1.
//   - With Options.Collapse, entries with the same Same are one answer too.
//     Whichever is found uses up the others, and the ideal has the best of them.
//
// MRR@k is 1 / rank of the first good hit, or 0 if there is no good hit among the
// first k. The hit rate is the share of the queries with such a hit. Recall@n is the
// share of the good entries that the first n hits cover. A good grade is Case.Good or
// better. Means are over queries, and a query without hits or with an error counts as
// 0 in all of them.

// credit is the credit that one hit earns.
type credit struct {
	// grade is the best grade among the entries that this hit is the first to
	// cover, or 0 if there are none.
	grade int
	// uses holds the indexes of those entries. If Collapse is set, it also holds
	// the indexes of the entries with the same value of Same.
	uses []int
}

// judge scores the growing ranking of one query.
type judge struct {
	good    int
	opts    Options
	filters map[string]string
	targets []target
	used    []bool
	credits []credit
	hits    []Hit
	leaks   int
}

func newJudge(c Case, opts Options) *judge {
	j := &judge{good: max(1, c.Good), opts: opts, filters: c.Filters, used: make([]bool, len(c.Expected))}
	for _, e := range c.Expected {
		j.targets = append(j.targets, newTarget(e, opts.Title))
	}
	return j
}

// add appends hits to the ranking.
func (j *judge) add(hits []Hit, text func(id string) string) {
	for _, hit := range hits {
		j.hits = append(j.hits, hit)
		j.credits = append(j.credits, j.credit(newPlace(hit, text)))
		if j.opts.Leaks(hit, j.filters) {
			j.leaks++
		}
	}
}

func (j *judge) credit(p *place) credit {
	var c credit
	groups := map[int]bool{}
	use := func(i int) {
		j.used[i] = true
		c.uses = append(c.uses, i)
	}
	for i, t := range j.targets {
		if !j.used[i] && t.coveredBy(p) {
			use(i)
			c.grade = max(c.grade, t.Grade)
			groups[t.Same] = j.opts.Collapse && t.Same != 0
		}
	}
	for i, t := range j.targets {
		if !j.used[i] && groups[t.Same] {
			use(i)
		}
	}
	return c
}

// answerID identifies an answer: a single entry or a collapsed group.
type answerID struct{ group, entry int }

func (j *judge) answer(i int) answerID {
	if same := j.targets[i].Same; j.opts.Collapse && same != 0 {
		return answerID{group: same, entry: -1}
	}
	return answerID{entry: i}
}

// firstGood returns the rank of the first good hit, from 1, or 0 if there is none.
func (j *judge) firstGood() int {
	return 1 + slices.IndexFunc(j.credits, func(c credit) bool { return c.grade >= j.good })
}

func (j *judge) ndcg(k int) float64 {
	top := j.credits[:min(k, len(j.credits))]
	used := make([]bool, len(j.targets))
	var got []int
	for _, c := range top {
		got = append(got, c.grade)
		for _, i := range c.uses {
			used[i] = true
		}
	}
	ideal, left := slices.Clone(got), map[answerID]int{}
	for i, t := range j.targets {
		if !used[i] {
			left[j.answer(i)] = max(left[j.answer(i)], t.Grade)
		}
	}
	for _, grade := range left {
		ideal = append(ideal, grade)
	}
	slices.SortFunc(ideal, func(a, b int) int { return b - a })
	best := dcg(ideal[:min(k, len(ideal))])
	if best == 0 {
		return 0
	}
	return dcg(got) / best
}

// dcg returns the discounted gain of grades in rank order.
func dcg(grades []int) float64 {
	sum := 0.0
	for i, g := range grades {
		sum += (math.Exp2(float64(g)) - 1) / math.Log2(float64(i)+2)
	}
	return sum
}

// recall returns the share of the good answers that the first n hits cover.
func (j *judge) recall(n int) float64 {
	all, found := map[answerID]bool{}, map[answerID]bool{}
	for i, t := range j.targets {
		if t.Grade >= j.good {
			all[j.answer(i)] = true
		}
	}
	for _, c := range j.credits[:min(n, len(j.credits))] {
		for _, i := range c.uses {
			if all[j.answer(i)] {
				found[j.answer(i)] = true
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	return float64(len(found)) / float64(len(all))
}

// fill writes the scores of the ranking so far into result.
func (j *judge) fill(result *CaseResult) {
	k := j.opts.K
	result.NDCG = j.ndcg(k)
	result.FirstGood = j.firstGood()
	if result.FirstGood > 0 && result.FirstGood <= k {
		result.ReciprocalRank = 1 / float64(result.FirstGood)
	}
	result.Recall5, result.Recall10 = j.recall(5), j.recall(10)
	result.Hits, result.FacetLeaks = len(j.hits), j.leaks
	for i, c := range j.credits[:min(k, len(j.credits))] {
		result.Top = append(result.Top, Ranked{ChunkID: j.hits[i].ID, Grade: c.grade})
	}
	for i, t := range j.targets {
		if t.Grade >= j.good && !j.used[i] {
			result.Missed = append(result.Missed, t.label())
		}
	}
}
