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
	of := map[closeKey][]*jointHit{}
	at := map[*jointHit]int{}
	for i, h := range first {
		at[h] = i
		of[h.part.closeKey()] = append(of[h.part.closeKey()], h)
	}
	all, pages := make([]ranker.Candidate, len(first)), make([]int, len(first))
	for _, together := range of {
		err := j.examine(together, func(h *jointHit, c ranker.Candidate) {
			all[at[h]], pages[at[h]] = c, h.part.place<<32|h.part.run.reader.PageOf(h.chunk)
		})
		if err != nil {
			return err
		}
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

// closeKey is equal for parts whose texts are read together: those in English have the same
// question, and with one model the same vector. place is 0 for them, and otherwise the part's
// place and 1.
type closeKey struct {
	model string
	place int
}

func (p *part) closeKey() closeKey {
	if p.run.spoken == nil {
		return closeKey{p.run.name, 0}
	}
	return closeKey{p.run.name, p.place + 1}
}

// examine calls visit with what the ranker sees of each of the hits, whose parts have the same
// closeKey, and sets their best rows. A token that several texts have is compared once.
func (j *joint) examine(hits []*jointHit, visit func(*jointHit, ranker.Candidate)) error {
	var c *closeup
	first := hits[0].part
	if err := first.do(func() error { c = first.run.closeup(first.run.teachable()); return nil }); err != nil {
		return err
	}
	defer c.giveBack()
	for _, h := range hits {
		if err := h.part.do(func() error { return c.readText(h.part.run, &h.ranked) }); err != nil {
			return err
		}
	}
	c.compare()
	for i, h := range hits {
		err := h.part.do(func() error {
			seen, err := c.candidate(h.part.run, &h.ranked, i)
			visit(h, seen)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
