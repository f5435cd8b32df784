package search

import (
	"slices"

	"github.com/deskhand/deskhand/runtime/ranker"
)

// teach decides in which parts the ranker orders the hits: those in which it can.
func (j *joint) teach() {
	for _, p := range j.parts {
		p.run.learnt = len(p.pool) > 0 && p.run.unfound()
	}
}

// rerank orders the first hits of several libraries by the ranker, as one pool. Hits that
// it cannot order keep their places among the others: those of a library in another
// language, or without vectors.
func (j *joint) rerank(hits []*jointHit) error {
	hits = hits[:min(reranked, len(hits)):len(hits)]
	first := slices.DeleteFunc(slices.Clone(hits), func(h *jointHit) bool { return !h.part.run.learnt })
	if len(first) == 0 {
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
	for i, judged := range ranker.Default().Rank(all, j.q.Explain) {
		first[i].judge(judged)
	}
	sortJoint(first)
	place(hits, first)
	least := hits[len(hits)-1].score
	for _, h := range hits[len(hits):cap(hits)] {
		h.score = min(least, h.score)
	}
	return nil
}

// place puts the hits that the ranker has ordered at the places of such hits. The scores
// of the others fit in.
func place(hits, ordered []*jointHit) {
	above := 1.0
	for i, h := range hits {
		if h.part.run.learnt {
			hits[i], ordered = ordered[0], ordered[1:]
		} else {
			below := 0.0
			if len(ordered) > 0 {
				below = ordered[0].score
			}
			h.score = max(below, min(above, h.score))
		}
		above = hits[i].score
	}
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
