package search

import (
	"math"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/ranker"
)

// teachable returns the model by which the ranker reads texts. It is nil if the
// ranker cannot order the hits of this question: it has no vector, is asked of short
// texts, by one kind of evidence or in another language than those that the ranker
// learnt from, or the vectors of the index come from elsewhere.
func (r *run) teachable() *embed.Static {
	model, ok := r.embedder.(*embed.Static)
	if !ok || r.by != Both || r.short || r.vector == nil || r.untaught() {
		return nil
	}
	return model
}

// unfound reports whether the ranker orders the hits: it can, the question is not
// literal, and no section has ranker.MostFound of it by keyword. r.best must be set.
func (r *run) unfound() bool {
	return r.teachable() != nil && !r.literal && r.best < ranker.MostFound*r.total
}

// examine returns the ranker's inputs for candidates, except those that depend on the
// other candidates. It sets the candidates' best rows.
func (r *run) examine(pool []ranked) ([]ranker.Candidate, error) {
	c := r.closeup(r.teachable())
	defer c.giveBack()
	for i := range pool {
		if err := c.readText(r, &pool[i]); err != nil {
			return nil, err
		}
	}
	c.compare()
	out := make([]ranker.Candidate, len(pool))
	for i := range pool {
		var err error
		if out[i], err = c.candidate(r, &pool[i], i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// candidate returns what the ranker sees of p, whose text r has read as the given one. It
// sets the best row of p.
func (c *closeup) candidate(r *run, p *ranked, text int) (ranker.Candidate, error) {
	t := &c.texts[c.texts[text].of]
	in, row := c.inputs(p, t)
	path, err := r.reader.PagePath(r.reader.PageOf(p.chunk))
	if err != nil {
		return ranker.Candidate{}, err
	}
	kindInputs(in, path)
	if row >= 0 {
		p.row = textSpan{int(t.rows[row].from), int(t.rows[row].to)}
	}
	p.evidence.Row = max(0, min(1, float64(in[ranker.InRowScaled])))
	p.evidence.Each = float64(in[ranker.InText])
	return ranker.Candidate{Sum: p.score, Inputs: in}, nil
}

// textSpan is a part of a text; empty: none.
type textSpan struct{ from, to int }

// pageInputs sets each candidate against the others of its page. pages are equal
// for candidates of one page.
func pageInputs(of []Evidence, pages []int, all []ranker.Candidate) {
	for i := range all {
		words, meaning, others := 0.0, 0.0, 0
		for j := range all {
			if j != i && pages[j] == pages[i] {
				words, meaning, others = max(words, of[j].Words), max(meaning, of[j].Meaning), others+1
			}
		}
		in := all[i].Inputs
		in[ranker.InPageWords], in[ranker.InPageMeaning] = float32(words), float32(meaning)
		in[ranker.InPageOthers] = float32(math.Log1p(float64(others)) / 2)
	}
}

// candidates are those of a pool in full.
func (r *run) candidates(pool []ranked) ([]ranker.Candidate, error) {
	all, err := r.examine(pool)
	if err != nil {
		return nil, err
	}
	evidence, pages := make([]Evidence, len(pool)), make([]int, len(pool))
	for i, p := range pool {
		evidence[i], pages[i] = p.evidence, r.reader.PageOf(p.chunk)
	}
	pageInputs(evidence, pages, all)
	return all, nil
}

// reranked is how many of the pool the ranker orders. More cost more and gain nothing
// (docs/ranking.md).
const reranked = 24

// rerank orders the first of a pool by the ranker; the others stay behind them.
func (r *run) rerank(pool []ranked) error {
	first := pool[:min(reranked, len(pool))]
	all, err := r.candidates(first)
	if err != nil {
		return err
	}
	least := 1.0
	for i, judged := range ranker.Default().Rank(all, r.explain) {
		first[i].judge(judged)
		least = min(least, first[i].score)
	}
	sortRanked(first)
	for i := len(first); i < len(pool); i++ {
		pool[i].score = min(least, pool[i].score)
	}
	return nil
}

// judge gives a hit the ranker's score.
func (p *ranked) judge(judged ranker.Ranked) {
	p.score = ranker.Share(judged.Score)
	if judged.Parts != nil {
		p.evidence.Learnt = map[string]float64{}
		for g, x := range judged.Parts {
			p.evidence.Learnt[string(g)] = x
		}
	}
}
