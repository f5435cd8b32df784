package search

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// poolSize is the number of the best chunks that are ranked against each other,
// half of them by keyword and half by meaning if both are used. Ranking twice as
// many chunks finds nothing more (docs/ranking.md). Later pages continue by
// keyword only.
const poolSize = 60

// nearSize is the number of the pool's best chunks that are read to check whether
// the question's words are close together. It covers a page of hits, and some
// chunks that may move onto that page.
const nearSize = 16

// leastCosine is the minimum cosine of a hit that shares no word with the question.
// For questions about something else, most cosines are below it.
const leastCosine = 0.35

// phraseLimit is the maximum number of chunks that are read, best first, to check
// the order of a phrase's words. All of these chunks contain all words of the
// phrase. The limit keeps a query like "of the" in a large corpus within a few
// tenths of a second.
const phraseLimit = 1000

// ranked is a chunk with its evidence.
type ranked struct {
	chunk    int
	score    float64
	evidence Evidence
	variants []int // chunks with the same section in another version or language
	looked   bool  // whether the chunk's text was read
	snippet  string
	held     float64  // how much of the question's evidence the snippet holds
	row      textSpan // of its text: what is nearest to the question
	packed   textSpan // its packed text in run.packed; empty if it was not read
}

// rank returns at least want hits in their final order, if there are that many. The
// order of the first hits does not depend on want, so pages do not overlap.
func (r *run) rank(ctx context.Context, want int) ([]ranked, error) {
	keep, err := r.filter()
	if err != nil {
		return nil, err
	}
	depth := r.each()
	if len(r.phrases) > 0 {
		depth = phraseLimit
	}
	pool, met, err := r.pool(depth, keep)
	if err != nil {
		return nil, err
	}
	hits, err := r.sieve(ctx, pool, want)
	if len(r.phrases) > 0 {
		r.cut = met == depth && len(hits) < want
		return hits, err
	}
	for err == nil && len(hits) < want && met == depth && depth < r.reader.Len() {
		depth = min(4*depth, r.reader.Len())
		var further []ranked
		if further, met, err = r.further(pool, depth, keep); err == nil {
			hits, err = r.sieve(ctx, further, want)
		}
	}
	return hits, err
}

// each returns how many chunks by keyword, and how many by meaning, the pool takes.
func (r *run) each() int {
	if r.most > 0 {
		return r.most
	}
	if r.vector == nil || r.by == Meaning {
		return poolSize
	}
	return poolSize / 2
}

// pool returns the best chunks by keyword, up to depth, and the best by meaning,
// in their final order. met is the number of chunks, at most depth, that contain
// a word of the question.
func (r *run) pool(depth int, keep func(int) bool) (pool []ranked, met int, err error) {
	if pool, met, err = r.gather(depth, keep); err != nil {
		return nil, 0, err
	}
	r.best = r.bestOf(pool)
	r.learnt = r.unfound()
	if err = r.sum(pool); err == nil && r.learnt {
		err = r.rerank(pool)
	}
	return pool, met, err
}

// sum brings a gathered pool into the order of the weighted sums.
func (r *run) sum(pool []ranked) error {
	r.weighPool(pool, r.spread)
	if err := r.addPaths(pool); err != nil {
		return err
	}
	r.order(pool)
	// Nearness only raises a score, so the other chunks stay below.
	first := pool[:min(nearSize, len(pool))]
	if err := r.quotes(first); err != nil {
		return err
	}
	for i := range first {
		if err := r.look(&first[i]); err != nil {
			return err
		}
	}
	r.order(first)
	return nil
}

// gather returns the pool before its scores are weighted: Words is the BM25 score
// and Meaning the cosine, both unscaled.
func (r *run) gather(depth int, keep func(int) bool) (pool []ranked, met int, err error) {
	var found []artifact.Scored
	if r.by != Meaning {
		if found, err = r.lexical(depth, keep); err != nil {
			return nil, 0, err
		}
	}
	met = min(len(found), depth)
	pool = make([]ranked, 0, met+r.each())
	for _, s := range found {
		pool = append(pool, ranked{chunk: s.Chunk, evidence: Evidence{Words: s.Score}})
	}
	pool, err = r.addMeaning(pool, keep)
	return pool, met, err
}

// lexical returns the best chunks by keyword in the question's language, followed
// by the best in other languages. Each of the two lists has at most depth chunks.
func (r *run) lexical(depth int, keep func(int) bool) ([]artifact.Scored, error) {
	if r.spoken == nil {
		return r.reader.Lexical(r.terms, depth, keep)
	}
	found, err := r.reader.Lexical(r.terms, depth, r.ownOnly(keep))
	if err != nil || len(r.spoken.all) == 1 {
		return found, err
	}
	others, err := r.reader.Lexical(r.terms, depth, r.othersOnly(keep))
	return append(found, others...), err
}

// bestOf returns the best BM25 score of a pool whose scores are not weighted yet.
func bestOf(pool []ranked) (best float64) {
	for _, p := range pool {
		best = max(best, p.evidence.Words)
	}
	return best
}

// bestOf returns the best BM25 score of the pool's chunks in the question's
// language, or of all chunks if none of those has a score.
func (r *run) bestOf(pool []ranked) (best float64) {
	if r.spoken != nil {
		for _, p := range pool {
			if !r.isForeign(p.chunk) {
				best = max(best, p.evidence.Words)
			}
		}
	}
	if best == 0 {
		return bestOf(pool)
	}
	return best
}

// weighPool scales the pool's keyword scores to r.best and its meaning to the spread
// of the cosines, and adjusts the question's weights. If the ranker orders the hits,
// it replaces doubt.
func (r *run) weighPool(pool []ranked, spread artifact.Spread) {
	best := r.best
	if r.vector == nil {
		r.weigh = r.weigh.withoutMeaning()
	}
	if spread.Max > spread.Mean {
		r.ahead, r.nearest = spread.Max-spread.Mean, spread.Max
	}
	for i := range pool {
		e := &pool[i].evidence
		if best > 0 {
			e.Words = e.Words / best
			if r.spoken != nil {
				e.Words = min(1, e.Words)
			}
		}
		e.Meaning = scale(e.Meaning, spread.Mean, spread.Max)
	}
	switch {
	case r.untaught():
		r.weigh = r.weigh.untaught()
	case best > 0 && !r.learnt:
		r.weigh = r.weigh.doubt(best/max(r.total, 1e-9), r.ahead)
	}
}

// order scores and sorts the pool. Equal scores stay in corpus order.
func (r *run) order(pool []ranked) {
	r.score(pool)
	sortRanked(pool)
}

func sortRanked(pool []ranked) {
	slices.SortFunc(pool, func(x, y ranked) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.chunk, y.chunk))
	})
}

// addMeaning sets the cosines of the chunks found by keyword, and adds the chunks
// found by meaning.
func (r *run) addMeaning(pool []ranked, keep func(int) bool) ([]ranked, error) {
	if r.vector == nil {
		return pool, nil
	}
	nearest, spread, err := r.nearestChunks(keep)
	if err != nil || spread.Max <= spread.Mean {
		return pool, err
	}
	r.spread = spread
	return r.join(pool, nearest)
}

// join sets the cosines of the chunks in the pool, which were found by keyword, and adds
// those of nearest, which were found by meaning.
func (r *run) join(pool []ranked, nearest []artifact.Scored) ([]ranked, error) {
	chunks := make([]int, len(pool))
	known := make(map[int]bool, len(pool))
	for i, p := range pool {
		chunks[i] = p.chunk
		known[p.chunk] = true
	}
	cosines, err := r.reader.Cosines(r.vector, chunks)
	if err != nil {
		return nil, err
	}
	for i, cosine := range cosines {
		pool[i].evidence.Meaning = cosine
	}
	nearest = slices.DeleteFunc(nearest, func(s artifact.Scored) bool { return known[s.Chunk] })
	chunks = chunks[:0]
	for _, s := range nearest {
		chunks = append(chunks, s.Chunk)
	}
	words, err := r.reader.LexicalOf(r.terms, chunks)
	if err != nil {
		return nil, err
	}
	for i, s := range nearest {
		if words[i] > 0 || s.Score >= leastCosine || r.by == Meaning {
			pool = append(pool, ranked{chunk: s.Chunk, evidence: Evidence{Words: words[i] + r.common, Meaning: s.Score}})
		}
	}
	return pool, nil
}

// nearestChunks returns the nearest chunks by meaning: those in the question's
// language, followed by the nearest in other languages.
func (r *run) nearestChunks(keep func(int) bool) ([]artifact.Scored, artifact.Spread, error) {
	if r.spoken == nil {
		return r.reader.Nearest(r.vector, r.each(), keep)
	}
	found, spread, err := r.reader.Nearest(r.vector, r.each(), r.ownOnly(keep))
	if err != nil || len(r.spoken.all) == 1 {
		return found, spread, err
	}
	if len(found) > 0 {
		spread.Max = found[0].Score
	}
	others, all, err := r.reader.Nearest(r.vector, r.each(), r.othersOnly(keep))
	if len(found) == 0 {
		spread = all
	}
	return append(found, others...), spread, err
}

// addPaths searches the paths of the chunks' pages for the question.
func (r *run) addPaths(pool []ranked) error {
	r.analyzer.Wanted = &r.want
	defer func() { r.analyzer.Wanted = nil }()
	shares := map[int]float64{}
	for i := range pool {
		page := r.reader.PageOf(pool[i].chunk)
		share, ok := shares[page]
		if !ok {
			path, err := r.reader.PagePath(page)
			if err != nil {
				return err
			}
			r.line = append(r.line[:0], path...)
			for at, c := range r.line {
				if c == '/' || c == '-' || c == '_' || c == '.' {
					r.line[at] = ' '
				}
			}
			share = r.share(string(r.line))
			shares[page] = share
		}
		pool[i].evidence.Path = share
	}
	return nil
}

// share returns the share of the question's evidence that is in a short piece of
// text.
func (r *run) share(text string) float64 {
	sum := 0.0
	terms := r.analyzer.Terms(text)
	for i, t := range terms {
		if w := r.weights[t.Text]; w > 0 && !slices.ContainsFunc(terms[:i], func(e artifact.Term) bool { return e.Text == t.Text }) {
			sum += w
		}
	}
	return min(1, sum/max(r.total, 1e-9))
}

// look reads a chunk's text, and sets the chunk's snippet and its score for how
// close together the question's words are. The same section in another version
// mostly has the same text, which is then unpacked only once.
func (r *run) look(p *ranked) error {
	heading, err := r.reader.Heading(p.chunk)
	if err != nil {
		return err
	}
	packed, err := r.pack(p)
	if err != nil {
		return err
	}
	for _, s := range r.seen {
		if s.heading == heading && bytes.Equal(r.packed[s.packed.from:s.packed.to], packed) {
			p.snippet, p.held, p.looked = s.snippet, s.held, true
			p.evidence.Near, p.evidence.Verbatim = s.near, s.verbatim
			return nil
		}
	}
	if r.text, err = r.reader.UnpackText(r.text, packed); err != nil {
		return err
	}
	var verbatim float64
	p.snippet, p.held, verbatim = r.snippet(r.text, heading)
	p.looked = true
	p.evidence.Near, p.evidence.Verbatim = min(1, p.held/max(r.total, 1e-9)), min(1, verbatim/max(r.total, 1e-9))
	r.seen = append(r.seen, seen{p.packed, heading, p.snippet, p.held, p.evidence.Near, p.evidence.Verbatim})
	return nil
}

// pack returns the packed text of p, which is read once.
func (r *run) pack(p *ranked) (packed []byte, err error) {
	if p.packed == (textSpan{}) {
		from := len(r.packed)
		if r.packed, err = r.reader.AppendPacked(r.packed, p.chunk); err != nil {
			return nil, err
		}
		p.packed = textSpan{from, len(r.packed)}
	}
	return r.packed[p.packed.from:p.packed.to], nil
}

// seen holds text that was read, and the result of look for that text.
type seen struct {
	packed               textSpan
	heading, snippet     string
	held, near, verbatim float64
}

func (r *run) score(pool []ranked) {
	for i := range pool {
		pool[i].score = r.scoreOf(&pool[i])
	}
}

// further returns the pool, followed by other chunks that have a word of the
// question. It looks only at the best chunks by keyword, up to depth.
func (r *run) further(pool []ranked, depth int, keep func(int) bool) (all []ranked, met int, err error) {
	found, err := r.reader.Lexical(r.terms, depth, keep)
	if err != nil {
		return nil, 0, err
	}
	all = slices.Clone(pool)
	in := make(map[int]bool, len(pool))
	least := 0.0
	for _, p := range pool {
		in[p.chunk] = true
		least = p.score
	}
	for _, s := range found {
		if !in[s.Chunk] {
			p := ranked{chunk: s.Chunk, evidence: Evidence{Words: s.Score / r.best}}
			p.score = min(least, r.scoreOf(&p))
			all = append(all, p)
		}
	}
	return all, len(found), nil
}

// sieve drops chunks that lack a phrase, and chunks that are variants of an earlier
// hit. It records such variants in that hit. It returns at most want hits.
func (r *run) sieve(ctx context.Context, found []ranked, want int) ([]ranked, error) {
	variants, err := r.variants()
	if err != nil {
		return nil, err
	}
	var out []ranked
	for _, s := range found {
		room := len(out) < want
		if !room && (len(variants.keys) == 0 || len(r.phrases) > 0) {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if ok, err := r.holdsPhrases(s.chunk); err != nil || !ok {
			if err != nil {
				return nil, err
			}
			continue
		}
		of, err := variants.of(s.chunk, room)
		if err != nil {
			return nil, err
		}
		switch {
		case of >= 0:
			out[of].variants = append(out[of].variants, s.chunk)
		case room:
			out = append(out, s)
		}
	}
	return out, nil
}
