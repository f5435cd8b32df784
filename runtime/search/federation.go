package search

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/text"
)

// Library is a named index in a Federation.
type Library struct {
	// ID is unique in a federation: NAME, or NAME@VERSION. Name excludes the
	// version; libraries with the same name are versions of one library.
	ID, Name, Version string
	Engine            *Engine
}

// Federation searches several libraries as one: word rarity, the best keyword score
// and the nearest cosine are computed over all libraries in scope. A Federation may
// be used concurrently. The caller of Federate still owns the engines.
type Federation struct{ libraries []Library }

// Federate returns a Federation over libraries. Hits with equal scores are in the
// order of their libraries.
func Federate(libraries []Library) *Federation { return &Federation{slices.Clone(libraries)} }

// Libraries returns the federation's libraries. The caller must not change the
// list.
func (f *Federation) Libraries() []Library { return f.libraries }

// Named returns the library with this ID, or else all versions of the library with
// this name, or nil if there is none.
func (f *Federation) Named(id string) (found []Library) {
	for _, l := range f.libraries {
		if l.ID == id {
			return []Library{l}
		}
		if l.Name == id {
			found = append(found, l)
		}
	}
	return found
}

// Split splits LIBRARY:ID into the library and the ID of a chunk or page. An ID
// without a library belongs to the only library that contains it. Faults:
// "invalid_argument" if several libraries contain the ID, "chunk_not_found" if no
// library does.
func (f *Federation) Split(id string) (Library, string, error) {
	for _, l := range f.libraries {
		if rest, ok := strings.CutPrefix(id, l.ID+":"); ok {
			return l, rest, nil
		}
	}
	for i := len(f.libraries) - 1; i >= 0; i-- { // the last of several versions of a library
		if rest, ok := strings.CutPrefix(id, f.libraries[i].Name+":"); ok {
			return f.libraries[i], rest, nil
		}
	}
	var having []Library
	for _, l := range f.libraries {
		if page, _, _ := strings.Cut(id, "#"); page != "" {
			if ok, err := l.Engine.Has(page); err == nil && ok {
				having = append(having, l)
			}
		}
	}
	switch len(having) {
	case 1:
		return having[0], id, nil
	case 0:
		return Library{}, "", fault.New("chunk_not_found", fmt.Sprintf("Chunk ID '%s' not found. Use search_docs to discover valid chunk IDs.", shorten(id)), "")
	}
	ids := make([]string, 0, 5)
	for _, l := range having[:min(len(having), 5)] {
		ids = append(ids, l.ID+":"+shorten(id))
	}
	return Library{}, "", invalid(fmt.Sprintf("%d libraries have '%s'. Name one of them: %s", len(having), shorten(id), strings.Join(ids, ", ")))
}

// LibraryHit is a hit and its library. The hit's ID does not include the library.
type LibraryHit struct {
	Library Library
	Hit
}

// LibraryPage is one page of hits from several libraries, best first. Its fields
// are like those of Page.
type LibraryPage struct {
	Hits    []LibraryHit
	Next    string
	Hint    *Hint
	Lexical string
}

// scope returns the libraries to search: those with the given ID or name, or all if
// that is empty. A library that does not have a filter's facet value is left out.
func (f *Federation) scope(library string, filters map[string]string) ([]Library, error) {
	all := f.libraries
	if library != "" {
		if all = f.Named(library); all == nil {
			return nil, invalid(fmt.Sprintf("There is no library '%s'.%s", shorten(library), f.similar(library)))
		}
	}
	if len(filters) == 0 {
		return all, nil
	}
	var in []Library
	for _, l := range all {
		taxonomy := l.Engine.Metadata().Taxonomy
		if !slices.ContainsFunc(slices.Collect(maps.Keys(filters)), func(k string) bool { return !slices.Contains(taxonomy[k].Values, filters[k]) }) {
			in = append(in, l)
		}
	}
	if in == nil {
		for _, k := range slices.Sorted(maps.Keys(filters)) {
			if !slices.ContainsFunc(all, func(l Library) bool { return l.Engine.Metadata().Taxonomy[k].Values != nil }) {
				return nil, invalid(fmt.Sprintf("Unexpected field '%s'", k))
			}
		}
		return nil, invalid("No library has all of these filter values. Leave some out.")
	}
	return in, nil
}

// similar returns advice for an unknown library name: libraries with a similar
// name, or how to list them all.
func (f *Federation) similar(name string) string {
	var ids []string
	for _, l := range f.libraries {
		if strings.Contains(strings.ToLower(l.ID), strings.ToLower(name)) || strings.Contains(strings.ToLower(name), strings.ToLower(l.Name)) || text.Edits(l.Name, name) <= 2 {
			ids = append(ids, l.ID)
		}
	}
	if len(ids) == 0 {
		return " Call list_docs to see the libraries."
	}
	return " Did you mean " + strings.Join(ids[:min(len(ids), 5)], ", ") + "?"
}

// statistics counts the chunks of the indexes searched together, and how many of
// these chunks have a term.
type statistics struct {
	readers []*artifact.Reader
	chunks  int
	with    map[string]int
}

func (s *statistics) of(term string) (chunks, with int, err error) {
	with, known := s.with[term]
	if !known {
		for _, r := range s.readers {
			p, err := r.Postings(term)
			if err != nil {
				return 0, 0, err
			}
			with += p.Chunks
		}
		s.with[term] = with
	}
	return s.chunks, with, nil
}

// deepest is the number of keyword matches per library that are ranked for a
// question; half as many semantic matches are added. With many libraries the number
// drops to shallowest, because the best chunks overall are among the best of each
// library. Paging ends when these hits run out.
const (
	deepest    = 2 * poolSize
	shallowest = 12
)

// depthOf returns how many keyword matches to take from each of n libraries.
func depthOf(n int) int { return max(shallowest, min(deepest, 8*poolSize/max(1, n))) }

// kept is the number of gathered chunks that are ranked further, unless a later
// page needs more.
const kept = 4 * poolSize

// Search searches the libraries in scope. library is an ID or a name; empty means
// all. The expected failures are those of Engine.Search.
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
	asked := question{text + "\x00" + library, q.Filters, q.By}
	from := cursor{Limit: limit}
	if q.Cursor != nil {
		if from, err = parseCursor(*q.Cursor, asked, len(in)*2*deepest); err != nil {
			return page, err
		}
		from.Limit = limit
	}
	joint := &joint{q: q, text: cutText(text, maxQueryBytes)}
	defer joint.release()
	if err := joint.open(in); err != nil {
		return page, err
	}
	if err := joint.read(ctx); err != nil {
		return page, err
	}
	hits, err := joint.rank(ctx, from.Offset+limit+1)
	if err != nil {
		return page, err
	}
	page.Lexical = joint.lexical
	if len(hits) > from.Offset+limit {
		page.Next = cursor{Offset: from.Offset + limit, Limit: limit}.encode(asked)
		hits = hits[:from.Offset+limit]
	}
	if from.Offset == 0 {
		if page.Hint, err = joint.hint(ctx, text, hits); err != nil {
			return page, err
		}
	}
	for _, h := range hits[min(from.Offset, len(hits)):] {
		hit, err := joint.hit(h)
		if err != nil {
			return page, err
		}
		page.Hits = append(page.Hits, hit)
	}
	return page, nil
}

// part is one library's share of a joint search.
type part struct {
	library Library
	engine  *Engine
	run     *run
	pool    []ranked
}

// joint is one question to several libraries.
type joint struct {
	q        Query
	text     string
	parts    []*part
	releases []func()
	lexical  string
}

// jointHit is a ranked chunk of a part.
type jointHit struct {
	ranked
	part     *part
	library  int      // its index among the libraries searched
	versions []string // other versions that have the same section
}

func (j *joint) release() {
	for _, release := range slices.Backward(j.releases) {
		release()
	}
}

func (j *joint) open(in []Library) error {
	all := &statistics{with: map[string]int{}}
	for _, l := range in {
		ed, release, err := l.Engine.use()
		if err != nil {
			return fmt.Errorf("search %s: %w", l.ID, err)
		}
		r := &run{snapshot: ed, filters: j.q.Filters, explain: j.q.Explain, by: cmp.Or(j.q.By, Both), all: all, scratch: scratches.Get().(*scratch)}
		j.releases = append(j.releases, func() { r.giveBack(); release() })
		j.parts = append(j.parts, &part{library: l, engine: l.Engine, run: r})
		all.readers, all.chunks = append(all.readers, ed.reader), all.chunks+ed.reader.Len()
	}
	return nil
}

// each calls the function work for each part, with an analyzer of the part's
// engine.
func (j *joint) each(ctx context.Context, work func(*part) error) error {
	for _, p := range j.parts {
		if err := p.do(ctx, func() error { return work(p) }); err != nil {
			return err
		}
	}
	return nil
}

func (p *part) do(ctx context.Context, work func() error) (err error) {
	defer recoverAs(&err, p.run.snapshot)
	return p.engine.withAnalyzer(ctx, p.run, work)
}

// read parses the question for each library, and requests the question's vector
// once per embedder.
func (j *joint) read(ctx context.Context) error {
	if err := j.each(ctx, func(p *part) error {
		if err := p.run.checkBy(&p.run.by); err != nil {
			return err
		}
		return p.run.read(j.text)
	}); err != nil {
		return err
	}
	vectors := map[string][]float32{}
	for _, p := range j.parts {
		if !p.run.sensible || p.run.by == Words {
			continue
		}
		key := p.run.model() + "\x00" + p.run.meant
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

// model returns a name that identifies the index's embedder, or "" if the index
// has no vectors.
func (ed *snapshot) model() string {
	if e := ed.reader.Embedding(); e != nil {
		return e.String()
	}
	return ""
}

// rank returns at least want hits in their final order, if there are that many.
func (j *joint) rank(ctx context.Context, want int) ([]*jointHit, error) {
	depth := depthOf(len(j.parts))
	if err := j.each(ctx, func(p *part) error {
		if len(j.parts) > 1 {
			p.run.most = min(poolSize/2, max(8, depth/2))
		}
		keep, err := p.run.facetFilter(p.run.filters)
		if err == nil {
			p.pool, _, err = p.run.gather(depth, keep)
		}
		return err
	}); err != nil {
		return nil, err
	}
	j.weigh()
	total := 0
	for _, p := range j.parts {
		total += len(p.pool)
	}
	hits := make([]*jointHit, 0, total)
	all := make([]jointHit, 0, total)
	for i, p := range j.parts {
		p.run.score(p.pool)
		for _, h := range p.pool {
			all = append(all, jointHit{ranked: h, part: p, library: i})
			hits = append(hits, &all[len(all)-1])
		}
	}
	sortJoint(hits)
	if most := max(kept, 2*want); len(hits) > most {
		hits = hits[:most]
	}
	if err := j.addPaths(ctx, hits); err != nil {
		return nil, err
	}
	sortJoint(hits)
	near := hits[:min(nearSize, len(hits))]
	for i := range near {
		h := near[i]
		if err := h.part.do(ctx, func() error { return h.part.run.look(&h.ranked) }); err != nil {
			return nil, err
		}
		h.score = h.part.run.scoreOf(&h.ranked)
	}
	sortJoint(near)
	if err := j.rerank(ctx, hits); err != nil {
		return nil, err
	}
	return j.sieve(ctx, hits, want)
}

func sortJoint(hits []*jointHit) {
	slices.SortFunc(hits, func(a, b *jointHit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.library, b.library), cmp.Compare(a.chunk, b.chunk))
	})
}

// weigh scales the keyword scores of all parts to the best of all, and the cosines
// of each model's parts to their joint spread.
func (j *joint) weigh() {
	best := 0.0
	spreads := map[string]artifact.Spread{}
	chunks := map[string]float64{}
	for _, p := range j.parts {
		best = max(best, bestOf(p.pool))
		if s := p.run.spread; s.Max > s.Mean {
			model, n := p.run.model(), float64(p.run.reader.Len())
			all := spreads[model]
			all.Mean = (all.Mean*chunks[model] + s.Mean*n) / (chunks[model] + n)
			all.Max = max(all.Max, s.Max)
			spreads[model], chunks[model] = all, chunks[model]+n
		}
	}
	for _, p := range j.parts {
		p.run.spread, p.run.best = spreads[p.run.model()], best
	}
	j.teach()
	for _, p := range j.parts {
		p.run.weighPool(p.pool, p.run.spread)
	}
}

// addPaths searches the paths of the hits' pages for the question, and rescores the
// hits.
func (j *joint) addPaths(ctx context.Context, hits []*jointHit) error {
	of := map[*part][]int{}
	for i, h := range hits {
		of[h.part] = append(of[h.part], i)
	}
	return j.each(ctx, func(p *part) error {
		p.pool = p.pool[:0]
		for _, i := range of[p] {
			p.pool = append(p.pool, hits[i].ranked)
		}
		if err := p.run.addPaths(p.pool); err != nil {
			return err
		}
		for n, i := range of[p] {
			hits[i].ranked = p.pool[n]
			hits[i].score = p.run.scoreOf(&hits[i].ranked)
		}
		return nil
	})
}

// sieve drops hits that lack a phrase and hits that are variants of an earlier hit.
// It finds variants within one library, as a search of that library does, and in
// other versions of the library.
func (j *joint) sieve(ctx context.Context, hits []*jointHit, want int) ([]*jointHit, error) {
	var out []*jointHit
	variants := map[*part]*variants{}
	shown := map[*part][]int{}
	sections := map[string]int{}
	for _, h := range hits {
		if len(out) >= want {
			break
		}
		keep := true
		err := h.part.do(ctx, func() (err error) {
			r := h.part.run
			if keep, err = r.holdsPhrases(h.chunk); err != nil || !keep {
				return err
			}
			v := variants[h.part]
			if v == nil {
				if v, err = r.variants(); err != nil {
					return err
				}
				variants[h.part] = v
			}
			of, err := v.of(h.chunk, true)
			if err != nil {
				return err
			}
			if of >= 0 && of < len(shown[h.part]) {
				keep = false
				if at := shown[h.part][of]; at >= 0 {
					out[at].variants = append(out[at].variants, h.chunk)
				}
				return nil
			}
			c, err := r.reader.Chunk(h.chunk)
			if err != nil {
				return err
			}
			section := h.part.library.Name + "\x00" + c.ID
			if at, same := sections[section]; same && h.part.library.Version != "" {
				keep = false
				out[at].versions = append(out[at].versions, h.part.library.Version)
				shown[h.part] = append(shown[h.part], -1)
				return nil
			}
			sections[section] = len(out)
			shown[h.part] = append(shown[h.part], len(out))
			return nil
		})
		if err != nil {
			return nil, err
		}
		if keep {
			out = append(out, h)
		}
	}
	return out, nil
}

// hint returns advice on how to ask again if little was found, and nil otherwise.
func (j *joint) hint(ctx context.Context, text string, hits []*jointHit) (h *Hint, err error) {
	if len(hits) == 0 {
		h = &Hint{Found: FoundNothing, Message: "0 results found. No matches were found for this query in the libraries searched.", Suggested: map[string][]string{}}
		if len(j.parts) > 0 {
			h.Message += j.parts[0].run.withoutQuotes()
		}
		return h, nil
	}
	top := hits[0].part
	var own []ranked
	for _, hit := range hits {
		if hit.part == top {
			own = append(own, hit.ranked)
		}
	}
	err = top.do(ctx, func() error {
		h, err = top.run.advice(text, own)
		return err
	})
	return h, err
}

// hit returns the result for a ranked chunk.
func (j *joint) hit(h *jointHit) (hit LibraryHit, err error) {
	hit.Library = h.part.library
	err = h.part.do(context.Background(), func() error {
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
