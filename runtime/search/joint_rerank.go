package search

import "github.com/deskhand/deskhand/runtime/ranker"

// teach decides whether the ranker orders the hits of all parts: scores of two kinds
// cannot be compared, so it does only if it can in each that has hits.
func (j *joint) teach() {
	learnt := true
	for _, p := range j.parts {
		learnt = learnt && (len(p.pool) == 0 || p.run.unfound())
	}
	for _, p := range j.parts {
		p.run.learnt = learnt
	}
}

// rerank orders the first hits of several libraries by the ranker, as one pool.
func (j *joint) rerank(hits []*jointHit) error {
	first := hits[:min(reranked, len(hits))]
	if len(first) == 0 || !first[0].part.run.learnt {
		return nil
	}
	of := map[*part][]int{}
	for i, h := range first {
		of[h.part] = append(of[h.part], i)
	}
	all, pages := make([]ranker.Candidate, len(first)), make([]int, len(first))
	if err := j.each(func(p *part) error { return p.examine(first, of[p], all, pages) }); err != nil {
		return err
	}
	evidence := make([]Evidence, len(first))
	for i, h := range first {
		evidence[i] = h.evidence
	}
	pageInputs(evidence, pages, all)
	least := 1.0
	for i, judged := range ranker.Default().Rank(all, j.q.Explain) {
		first[i].judge(judged)
		least = min(least, first[i].score)
	}
	sortJoint(first)
	for _, h := range hits[len(first):] {
		h.score = min(least, h.score)
	}
	return nil
}

// examine fills in what the ranker sees of the hits at places, which are the
// part's, and a number for the page of each.
func (p *part) examine(hits []*jointHit, places []int, all []ranker.Candidate, pages []int) error {
	if len(places) == 0 {
		return nil
	}
	p.pool = p.pool[:0]
	for _, i := range places {
		p.pool = append(p.pool, hits[i].ranked)
	}
	seen, err := p.run.examine(p.pool)
	for n, c := range seen {
		i := places[n]
		hits[i].ranked, all[i] = p.pool[n], c
		pages[i] = p.place<<32 | p.run.reader.PageOf(hits[i].chunk)
	}
	return err
}
