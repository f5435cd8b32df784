package search

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
)

// byWords and byMeaning are the numbers of chunks that a search over several libraries
// ranks. They are higher than for one index, because versions of a library have the
// same sections. Paging ends when these hits run out.
const (
	byWords   = poolSize
	byMeaning = poolSize
)

// kept is the number of gathered chunks that are ranked further, unless a later
// page needs more.
const kept = 4 * poolSize

// Search searches the libraries in scope. library is an ID or a name; empty means
// all. The expected failures are those of Engine.Search. In a scope of one library, the
// hits are those of its engine.
func (f *Federation) Search(ctx context.Context, library string, q Query) (page LibraryPage, err error) {
	text := strings.TrimSpace(chunker.Visible(q.Text))
	if text == "" {
		return page, invalid("query must be a non-empty string")
	}
	limit := cmp.Or(q.Limit, DefaultLimit)
	if limit < 1 || limit > MaxLimit {
		return page, invalid(fmt.Sprintf("limit must be between 1 and %d", MaxLimit))
	}
	in, err := f.scope(library, q.Filters)
	if err != nil {
		return page, err
	}
	if len(in) == 1 {
		return in[0].search(ctx, q, library)
	}
	for {
		whole, damage, err := withoutDamaged(in)
		if err != nil {
			return page, err
		}
		if page, err = f.searchIn(ctx, library, text, limit, whole, q); err == nil && damage != nil {
			page.Hint = damagedHint(page.Hint, damage)
		}
		if err == nil || len(damaged(whole)) == 0 {
			return page, err
		}
		// The search found damage in one of the libraries, so it is repeated without it.
	}
}

// searchIn searches several libraries, or what damage has left of them.
func (f *Federation) searchIn(ctx context.Context, library, text string, limit int, in []Library, q Query) (page LibraryPage, err error) {
	asked := question{text + "\x00" + library, q.Filters, q.By}
	from := cursor{Limit: limit}
	if q.Cursor != nil {
		if from, err = parseCursor(*q.Cursor, asked, 2*len(in)*phraseLimit); err != nil {
			return page, err
		}
		from.Limit = limit
	}
	joint := &joint{q: q, text: cutText(text, maxQueryBytes)}
	defer joint.release()
	if err := joint.open(ctx, f, in); err != nil {
		return page, err
	}
	if f.searches.Load() == 0 {
		var ahead sync.WaitGroup
		ahead.Go(func() { openVectors(joint.all.of) })
		defer ahead.Wait()
	}
	if err := joint.read(ctx); err != nil {
		return page, err
	}
	hits, unquoted, err := joint.rankOrUnquote(ctx, from.Offset+limit+1)
	if err != nil {
		return page, err
	}
	page.Lexical = joint.lexical
	if len(hits) > from.Offset+limit {
		page.Next = cursor{Offset: from.Offset + limit, Limit: limit}.encode(asked)
		hits = hits[:from.Offset+limit]
	}
	if from.Offset == 0 {
		if page.Hint, err = joint.hint(text, hits); err != nil {
			return page, err
		}
		if unquoted {
			page.Hint = unquotedHint(page.Hint)
		}
	}
	for _, h := range hits[min(from.Offset, len(hits)):] {
		hit, err := joint.hit(h)
		if err != nil {
			return page, err
		}
		page.Hits = append(page.Hits, hit)
	}
	f.learnWords(joint.all)
	f.forget(joint)
	return page, nil
}

// A search of many libraries maps some megabytes of their files, of which the next ones need
// little. This memory is given back after the first search, after forgetEvery more, and
// when there was none for forgetAfter. To read it again takes a third of a search's time.
const (
	forgetEvery = 16
	forgetAfter = 2 * time.Second
)

// forget gives back memory in the background, so that no answer waits for it.
func (f *Federation) forget(j *joint) {
	searches := f.searches.Add(1)
	if len(j.parts) <= fewIndexes && searches > 1 {
		return
	}
	after := forgetAfter
	if searches%forgetEvery == 1 {
		after = 0
	}
	f.idle.Lock()
	defer f.idle.Unlock()
	if f.timer == nil {
		f.timer = time.AfterFunc(after, f.forgetAll)
		return
	}
	f.timer.Reset(after)
}

// forgetAll gives back the mapped memory of all libraries that are still open.
func (f *Federation) forgetAll() {
	for _, l := range f.libraries {
		if ed, release, err := l.Engine.use(); err == nil {
			ed.reader.Forget()
			release()
		}
	}
}

// damaged returns the libraries in which a query has found damage, each with its fault.
func damaged(in []Library) map[string]*fault.Fault {
	found := map[string]*fault.Fault{}
	for _, l := range in {
		if damage := l.Engine.damage(); damage != nil {
			found[l.ID] = damage
		}
	}
	return found
}

// withoutDamaged returns the libraries in which no query has found damage, and a sentence
// that says what is damaged for each other one. If all are damaged, it returns the
// damage of the first.
func withoutDamaged(in []Library) (whole []Library, damage []string, err error) {
	bad := damaged(in)
	if len(bad) == 0 {
		return in, nil, nil
	}
	if len(bad) == len(in) {
		return nil, nil, bad[in[0].ID]
	}
	for _, l := range in {
		if f := bad[l.ID]; f != nil {
			damage = append(damage, fmt.Sprintf("The library %s was not searched: %s. Rebuild it with \"deskhand update %s\".", l.ID, f.Message, l.ID))
			continue
		}
		whole = append(whole, l)
	}
	return whole, damage, nil
}

// maxDamaged is the maximum number of damaged libraries that a hint describes.
const maxDamaged = 3

// damagedHint adds what is damaged to a hint, which may be nil.
func damagedHint(h *Hint, damage []string) *Hint {
	if h == nil {
		h = &Hint{Suggested: map[string][]string{}}
	}
	if more := len(damage) - maxDamaged; more > 0 {
		damage = append(damage[:maxDamaged:maxDamaged], fmt.Sprintf("%d more libraries are damaged.", more))
	}
	h.Message = strings.TrimSpace(h.Message + " " + strings.Join(damage, " "))
	return h
}

// search searches one library. Its cursors belong to the scope that named it.
func (l Library) search(ctx context.Context, q Query, scope string) (LibraryPage, error) {
	found, err := l.Engine.search(ctx, q, "\x00"+scope)
	page := LibraryPage{Next: found.Next, Hint: found.Hint, Lexical: found.Lexical}
	for _, h := range found.Hits {
		page.Hits = append(page.Hits, LibraryHit{l, h})
	}
	return page, err
}

// part is one library's share of a joint search.
type part struct {
	library Library
	place   int // among the libraries searched
	run     *run
	bound   float64 // no chunk has a higher BM25 score
	pool    []ranked
}

// joint is one question to several libraries.
type joint struct {
	q        Query
	text     string
	parts    []*part
	all      *vocabulary
	analyzer *artifact.Analyzer
	releases []func()
	lexical  string
	cut      bool // not all chunks with the words of the quoted text were read
}

// quotes reports whether the question has quoted text.
func (j *joint) quotes() bool { return len(j.parts) > 0 && len(j.parts[0].run.phrases) > 0 }

// jointHit is a ranked chunk of a part.
type jointHit struct {
	ranked
	part     *part
	versions []string // other versions that have the same section
}

func (j *joint) release() {
	for _, release := range slices.Backward(j.releases) {
		release()
	}
}

// openVectors opens the vectors of indexes, which a search by keyword does not wait for.
func openVectors(of []*snapshot) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, ed := range of {
		_ = ed.guarded(ed.reader.OpenVectors) // the search by meaning returns the error
	}
}

// damaged reports whether one of the indexes was found to be damaged.
func (j *joint) damaged() bool {
	return slices.ContainsFunc(j.all.of, func(ed *snapshot) bool { return ed.broken.Load() != nil })
}

// open opens the libraries. Those in English only share one scratch.
func (j *joint) open(ctx context.Context, f *Federation, in []Library) error {
	select {
	case j.analyzer = <-f.analyzers:
	case <-ctx.Done():
		return ctx.Err()
	}
	common := scratches.Get().(*scratch)
	j.releases = append(j.releases, func() {
		if j.damaged() { // after a panic, they may be in an inconsistent state
			f.analyzers <- newAnalyzer()
			return
		}
		f.analyzers <- j.analyzer
		common.giveBack()
	})
	j.all = newVocabulary()
	runs, parts := make([]run, len(in)), make([]part, len(in))
	for i, l := range in {
		ed, release, err := l.Engine.use()
		if err != nil {
			return fmt.Errorf("search %s: %w", l.ID, err)
		}
		j.releases = append(j.releases, release)
		r, p := &runs[i], &parts[i]
		*r = run{snapshot: ed, filters: j.q.Filters, explain: j.q.Explain, by: cmp.Or(j.q.By, Both), all: j.all, place: i, analyzer: j.analyzer, scratch: common}
		*p = part{library: l, place: i, run: r}
		j.all.add(ed)
		if err := p.do(func() error { r.spoken, err = r.tongues(); return err }); err != nil {
			return err
		}
		if r.spoken != nil {
			r.scratch = scratches.Get().(*scratch)
			j.releases = append(j.releases, func() {
				if !j.damaged() {
					r.giveBack()
				}
			})
		}
		j.parts = append(j.parts, p)
	}
	j.all.index = f.index(j.all.of)
	return nil
}

// each calls the function work for each part.
func (j *joint) each(work func(*part) error) error {
	for _, p := range j.parts {
		if err := p.do(func() error { return work(p) }); err != nil {
			return err
		}
	}
	return nil
}

// do runs part of a search with the analyzer in the part's language.
func (p *part) do(work func() error) (err error) {
	defer recoverAs(&err, p.run.snapshot)
	p.run.analyzer.Speak(p.run.language)
	return work()
}

// read parses the question, once for all libraries that are in English and have the
// same model, and for each other library. It requests the question's vector once for
// each model.
func (j *joint) read(ctx context.Context) error {
	english := map[string]*run{}
	mixed := slices.ContainsFunc(j.parts, func(p *part) bool { return p.run.spoken == nil })
	if err := j.each(func(p *part) error {
		if err := p.run.checkBy(&p.run.by); err != nil {
			return err
		}
		model := p.run.name
		if first := english[model]; first != nil && p.run.spoken == nil {
			p.run.follow(first)
			return nil
		}
		if p.run.spoken == nil {
			english[model] = p.run
		}
		p.run.exact = mixed && p.run.spoken != nil
		return p.run.read(j.text)
	}); err != nil {
		return err
	}
	vectors := map[meaningKey][]float32{}
	for _, p := range j.parts {
		if !p.run.sensible || p.run.by == Words {
			continue
		}
		key := p.run.meaningKey()
		v, known := vectors[key]
		if !known {
			var why string
			v, why = p.run.snapshot.vector(ctx, p.run.meant)
			j.lexical = cmp.Or(j.lexical, why)
			vectors[key] = v
		}
		p.run.vector = v
	}
	return nil
}

// rankOrUnquote is [run.rankOrUnquote] for all parts together.
func (j *joint) rankOrUnquote(ctx context.Context, want int) (hits []*jointHit, unquoted bool, err error) {
	if !j.quotes() {
		hits, err = j.rank(ctx, want)
		return hits, false, err
	}
	open := make([]run, len(j.parts))
	for i, p := range j.parts {
		open[i] = *p.run
		open[i].phrases, open[i].quoted = nil, nil
	}
	if hits, err = j.rank(ctx, want); err != nil || len(hits) > 0 || j.cut {
		return hits, false, err
	}
	for i, p := range j.parts {
		*p.run, p.pool = open[i], nil
	}
	hits, err = j.rank(ctx, want)
	return hits, len(hits) > 0, err
}

// rank returns at least want hits in their final order, if there are that many.
func (j *joint) rank(ctx context.Context, want int) ([]*jointHit, error) {
	if err := j.gather(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	j.weigh()
	var hits []*jointHit
	for _, p := range j.parts {
		p.run.score(p.pool)
		all := make([]jointHit, len(p.pool))
		for i, h := range p.pool {
			all[i] = jointHit{ranked: h, part: p}
			hits = append(hits, &all[i])
		}
	}
	sortJoint(hits)
	most := max(kept, 2*want)
	if j.quotes() {
		most = max(most, 2*phraseLimit)
	}
	if len(hits) > most {
		hits = hits[:most]
	}
	if err := j.addPaths(hits); err != nil {
		return nil, err
	}
	sortJoint(hits)
	near := hits[:min(nearSize, len(hits))]
	if err := j.quoted(near); err != nil {
		return nil, err
	}
	for _, h := range near {
		if err := h.part.do(func() error { return h.part.run.look(&h.ranked) }); err != nil {
			return nil, err
		}
		h.score = h.part.run.scoreOf(&h.ranked)
	}
	sortJoint(near)
	if err := j.rerank(hits); err != nil {
		return nil, err
	}
	return j.sieve(ctx, hits, want)
}

// quoted decides whether texts are searched for runs of the question's words, see
// [run.quotes].
func (j *joint) quoted(near []*jointHit) error {
	verbatim := true
	for _, h := range near {
		err := h.part.do(func() error { return h.part.run.quotes([]ranked{h.ranked}) })
		if err != nil {
			return err
		}
		verbatim = verbatim && h.part.run.verbatim
	}
	for _, p := range j.parts {
		p.run.verbatim = verbatim && p.run.wordOrder != nil
	}
	return nil
}

func sortJoint(hits []*jointHit) {
	slices.SortFunc(hits, func(a, b *jointHit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.part.place, b.part.place), cmp.Compare(a.chunk, b.chunk))
	})
}

// weigh scales the keyword scores of all parts to the best of all, and adjusts the
// weights. The cosines are already scaled to their spread.
func (j *joint) weigh() {
	best := 0.0
	for _, p := range j.parts {
		best = max(best, bestOf(p.pool))
	}
	for _, p := range j.parts {
		p.run.best = best
	}
	j.teach()
	for _, p := range j.parts {
		if len(p.pool) > 0 {
			p.run.weighPool(p.pool, p.run.spread)
		}
	}
}

// addPaths searches the paths of the hits' pages for the question, and rescores the
// hits.
func (j *joint) addPaths(hits []*jointHit) error {
	for _, p := range j.parts {
		p.pool = p.pool[:0]
	}
	for _, h := range hits {
		h.part.pool = append(h.part.pool, h.ranked)
	}
	err := j.each(func(p *part) error {
		if len(p.pool) == 0 {
			return nil
		}
		return p.run.addPaths(p.pool)
	})
	if err != nil {
		return err
	}
	for _, h := range hits {
		h.ranked, h.part.pool = h.part.pool[0], h.part.pool[1:]
		h.score = h.part.run.scoreOf(&h.ranked)
	}
	return nil
}

// sieve drops hits that lack a phrase and hits that are variants of an earlier hit.
// It finds variants within one library, as a search of that library does, and in
// other versions of the library.
func (j *joint) sieve(ctx context.Context, hits []*jointHit, want int) ([]*jointHit, error) {
	s := sieve{variants: map[*part]*variants{}, shown: map[*part][]int{}, sections: map[string]int{}}
	for _, h := range hits {
		if len(s.out) >= want {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := h.part.do(func() error { return s.add(h) }); err != nil {
			return nil, err
		}
	}
	return s.out, nil
}

// sieve holds the hits that are shown so far.
type sieve struct {
	out      []*jointHit
	variants map[*part]*variants
	shown    map[*part][]int // by the numbers of variants: the place in out, or -1
	sections map[string]int  // by library and section: the place in out
}

// add adds a hit, or counts it as a variant of one before it.
func (s *sieve) add(h *jointHit) error {
	r := h.part.run
	if keep, err := r.holdsPhrases(h.chunk); err != nil || !keep {
		return err
	}
	v := s.variants[h.part]
	if v == nil {
		var err error
		if v, err = r.variants(); err != nil {
			return err
		}
		s.variants[h.part] = v
	}
	of, err := v.of(h.chunk, true)
	if err != nil {
		return err
	}
	if shown := s.shown[h.part]; of >= 0 && of < len(shown) {
		if at := shown[of]; at >= 0 {
			s.out[at].variants = append(s.out[at].variants, h.chunk)
		}
		return nil
	}
	path, fragment, err := r.reader.Place(h.chunk)
	if err != nil {
		return err
	}
	section := h.part.library.Name + "\x00" + string(path) + "#" + string(fragment)
	if at, same := s.sections[section]; same && h.part.library.Version != "" {
		s.out[at].versions = append(s.out[at].versions, h.part.library.Version)
		s.shown[h.part] = append(s.shown[h.part], -1)
		return nil
	}
	s.sections[section] = len(s.out)
	s.shown[h.part] = append(s.shown[h.part], len(s.out))
	s.out = append(s.out, h)
	return nil
}

// hint returns advice on how to ask again if little was found, and nil otherwise.
func (j *joint) hint(text string, hits []*jointHit) (h *Hint, err error) {
	h, err = j.advice(text, hits)
	var runs []*run
	for _, p := range j.parts {
		runs = append(runs, p.run)
	}
	return languageHint(h, text, runs...), err
}

func (j *joint) advice(text string, hits []*jointHit) (h *Hint, err error) {
	if len(hits) == 0 {
		return &Hint{Found: FoundNothing, Message: "0 results found. No matches were found for this query in the libraries searched.", Suggested: map[string][]string{}}, nil
	}
	top := hits[0].part
	var own []ranked
	for _, hit := range hits {
		if hit.part == top {
			own = append(own, hit.ranked)
		}
	}
	err = top.do(func() error {
		h, err = top.run.advice(text, own)
		return err
	})
	return h, err
}

// hit returns the result for a ranked chunk.
func (j *joint) hit(h *jointHit) (hit LibraryHit, err error) {
	hit.Library = h.part.library
	err = h.part.do(func() error {
		hit.Hit, err = h.part.run.hit(h.ranked)
		return err
	})
	if len(h.versions) > 0 {
		if hit.Variants == nil {
			hit.Variants = map[string][]string{}
		}
		hit.Variants["version"] = slices.Sorted(slices.Values(h.versions))
	}
	return hit, err
}
