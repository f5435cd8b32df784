package eval

// Graded holds the candidates of one case with their grades. It tells what any order of
// them is worth.
type Graded struct {
	judge  *judge
	covers [][]int // by candidate, the entries of the case that it covers
	// Grades holds the best grade that each candidate covers, or 0 for none.
	Grades []int
}

// Grade judges the candidates of a case, each by itself. text returns a chunk's
// Markdown; Grade calls it only for candidates that it cannot judge without.
func Grade(c Case, candidates []Hit, text func(id string) string, o Options) Graded {
	g := Graded{judge: newJudge(c, o.withDefaults())}
	for _, hit := range candidates {
		p, grade := newPlace(hit, text), 0
		var covers []int
		for i := range g.judge.targets {
			if t := &g.judge.targets[i]; t.coveredBy(p) {
				covers, grade = append(covers, i), max(grade, t.Grade)
			}
		}
		g.covers, g.Grades = append(g.covers, covers), append(g.Grades, grade)
	}
	return g
}

// NDCG returns the NDCG@5 of the candidates in an order, the best first. order holds
// places of candidates; it may leave some out.
func (g Graded) NDCG(order []int) float64 {
	j := g.judge
	j.used, j.credits = make([]bool, len(j.targets)), j.credits[:0]
	for _, at := range order[:min(len(order), j.opts.K)] {
		var c credit
		groups := map[int]bool{}
		for _, i := range g.covers[at] {
			if !j.used[i] {
				j.used[i] = true
				c.uses = append(c.uses, i)
				c.grade = max(c.grade, j.targets[i].Grade)
				groups[j.targets[i].Same] = j.opts.Collapse && j.targets[i].Same != 0
			}
		}
		for i, t := range j.targets {
			if !j.used[i] && groups[t.Same] {
				j.used[i] = true
				c.uses = append(c.uses, i)
			}
		}
		j.credits = append(j.credits, c)
	}
	return j.ndcg(j.opts.K)
}
