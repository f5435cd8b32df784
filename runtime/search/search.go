// Package search answers questions from one open artifact: ranked hits page by
// page, chunks with their neighbours, and an outline of the corpus.
//
// Its results are deterministic: the same artifact and query give the same bytes
// in every process.
package search

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Limits of a query.
const (
	DefaultLimit = 10
	MaxLimit     = 50
)

// Engine searches the artifact in one folder. It may be used concurrently.
// Reload replaces the artifact without disturbing running queries.
type Engine struct {
	dir       string
	options   Options
	analyzers chan *artifact.Analyzer
	mu        sync.Mutex
	current   *snapshot    // nil if there is no artifact yet
	why       func() error // returns an error that says why there is no artifact
	closed    bool
}

// Query is one question.
type Query struct {
	// Text is the text to search for. Words in double quotes must be adjacent in
	// the chunk, in that order.
	Text string
	// Filters holds facet keys and values; hits match all of them.
	Filters map[string]string
	// Limit is how many hits to return, 1 to MaxLimit. Zero means DefaultLimit.
	Limit int
	// Cursor is the previous page's Page.Next. Nil means the first page.
	Cursor *string
	// Explain asks for the evidence of each hit.
	Explain bool
	// By restricts ranking to one kind of evidence, for comparison. Empty means
	// Both.
	By By
	// Lexical restricts ranking to keywords, as Cursor does if the previous
	// page was ranked that way.
	Lexical bool
}

// Page is one page of hits, best first.
type Page struct {
	Hits []Hit
	// Next is the cursor of the next page; empty on the last one.
	Next string
	// Hint is set if there are no hits, or if the hits may not answer the
	// question.
	Hint *Hint
	// Cut reports whether only the best chunks were checked, because too many
	// chunks contain all words of a phrase.
	Cut bool
	// Lexical explains, in a sentence without a full stop, why hits were ranked by
	// keyword only even though the index has vectors. It is empty if hits were
	// ranked by meaning too, or if the index has no vectors.
	Lexical string
}

// Hit is one chunk that answers a query.
type Hit struct {
	ID    string
	Score float64
	// Path and Title describe the page. Title may be empty.
	Path, Title         string
	Heading, Breadcrumb string
	// Snippet is plain text around the best evidence, with the matched words in
	// **bold**, at most about 250 characters. If the ranker found a row (a paragraph,
	// a list item or a row of a table) that is nearest to the question, it begins
	// there, unless another place has far more of the question's words. Otherwise, it
	// begins at the row with the best evidence if the start of that row is near.
	Snippet string
	// StartLine and EndLine are the chunk's lines in its file.
	StartLine, EndLine int
	Metadata           map[string]string
	// Variants holds those other values of collapsing facets for which the same
	// section also ranked among the best chunks; see artifact.Facet. A search
	// that filters by such a value finds that section. It is nil if there are
	// none.
	Variants map[string][]string
	// Evidence explains the hit's rank. It is nil unless Query.Explain is set.
	Evidence *Evidence
}

// Found says how well a search's hits answer the question.
type Found string

// Values of [Found]. FoundSome, the zero value, means that nothing suggests that
// the hits are wrong.
const (
	FoundSome Found = ""
	// FoundUnsure means that the hits may not answer the question.
	FoundUnsure Found = "unsure"
	// FoundAbsent means that the corpus probably does not answer the question.
	FoundAbsent Found = "absent"
	// FoundNothing means that there are no hits.
	FoundNothing Found = "nothing"
)

// Hint suggests what to do if little or nothing was found.
type Hint struct {
	// Found is FoundSome only if the hint is just that a library is damaged.
	Found   Found
	Message string
	// Suggested holds, by facet key, values that give results.
	Suggested map[string][]string
}

// maxQueryBytes is the maximum number of bytes of a query that are read: more than
// any question has, and far fewer than would keep a core busy.
const maxQueryBytes = 8 << 10

// Search returns one page of hits. The expected failures are faults with code
// "invalid_argument".
func (e *Engine) Search(ctx context.Context, q Query) (Page, error) { return e.search(ctx, q, "") }

// search does the same as Search. Its cursors are also tied to scope.
func (e *Engine) search(ctx context.Context, q Query, scope string) (page Page, err error) {
	ed, release, err := e.use()
	if err != nil {
		return Page{}, err
	}
	defer release()
	defer recoverAs(&err, ed)
	text := strings.TrimSpace(chunker.Visible(q.Text))
	if text == "" {
		return Page{}, invalid("query must be a non-empty string")
	}
	limit := q.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	if limit < 1 || limit > MaxLimit {
		return Page{}, invalid(fmt.Sprintf("limit must be between 1 and %d", MaxLimit))
	}
	if err := ed.checkFilters(q.Filters); err != nil {
		return Page{}, err
	}
	if err := ed.checkBy(&q.By); err != nil {
		return Page{}, err
	}
	asked := question{text + scope, q.Filters, q.By}
	from := cursor{Limit: limit}
	if q.Cursor != nil {
		if from, err = parseCursor(*q.Cursor, asked, ed.reader.Len()); err != nil {
			return Page{}, err
		}
		from.Limit = limit
	}
	search := &run{snapshot: ed, filters: q.Filters, explain: q.Explain, by: q.By, scratch: scratches.Get().(*scratch)}
	defer search.giveBack()
	if err := e.withAnalyzer(ctx, search, func() error { return search.read(cutText(text, maxQueryBytes)) }); err != nil {
		return Page{}, err
	}
	// An embedding service may be slow. This must not delay other queries, so
	// they can use the analyzer in the meantime.
	switch {
	case from.Lexical:
		page.Lexical = byWordsBefore
	case search.sensible && !q.Lexical && q.By != Words:
		search.vector, page.Lexical = ed.vector(ctx, search.meant)
	}
	from.Lexical = q.Lexical || page.Lexical != ""
	if err := e.withAnalyzer(ctx, search, func() error { return search.answer(ctx, &page, asked, from) }); err != nil {
		return Page{}, err
	}
	return page, nil
}

// byWordsBefore explains why a page is ranked by keyword only even though a vector
// may be available.
const byWordsBefore = "the previous pages of results came from keyword search only"

// withAnalyzer runs part of a search with one of the engine's analyzers. The
// analyzer is returned in any case, because a fault may end this query, but must
// not stop queries after the index is replaced.
func (e *Engine) withAnalyzer(ctx context.Context, r *run, part func() error) error {
	select {
	case r.analyzer = <-e.analyzers:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { e.analyzers <- r.analyzer }()
	r.analyzer.Speak(r.language)
	return part()
}

// answer fills page with from.Limit hits, starting at from.Offset.
func (r *run) answer(ctx context.Context, page *Page, asked question, from cursor) error {
	to := from.Offset + from.Limit
	ranked, unquoted, err := r.rankOrUnquote(ctx, to+1)
	if err != nil {
		return err
	}
	page.Cut = r.cut
	if len(ranked) == 0 && from.Offset == 0 {
		page.Hint, err = r.hint(ctx, asked.text)
		page.Hint = languageHint(page.Hint, asked.text, r)
		return err
	}
	if from.Offset == 0 {
		if page.Hint, err = r.advice(asked.text, ranked); err != nil {
			return err
		}
		page.Hint = languageHint(page.Hint, asked.text, r)
		if unquoted {
			page.Hint = unquotedHint(page.Hint)
		}
	}
	if len(ranked) > to {
		page.Next = cursor{Offset: to, Limit: from.Limit, Lexical: from.Lexical}.encode(asked)
		ranked = ranked[:to]
	}
	for _, s := range ranked[min(from.Offset, len(ranked)):] {
		hit, err := r.hit(s)
		if err != nil {
			return err
		}
		page.Hits = append(page.Hits, hit)
	}
	return nil
}

// hit returns the result for a ranked chunk.
func (r *run) hit(s ranked) (Hit, error) {
	c, err := r.reader.Chunk(s.chunk)
	if err != nil {
		return Hit{}, err
	}
	p, err := r.reader.Page(c.Page)
	if err != nil {
		return Hit{}, err
	}
	if !s.looked {
		ranked := s.evidence
		if err := r.look(&s); err != nil {
			return Hit{}, err
		}
		s.evidence = ranked // the values that the hit was ranked by
	}
	if err := r.showRow(&s, c.Heading); err != nil {
		return Hit{}, err
	}
	variants, err := r.otherValues(p.Metadata, s.variants)
	if err != nil {
		return Hit{}, err
	}
	var why *Evidence
	if r.explain {
		e := s.evidence.rounded()
		e.Weights = r.weightsOf(&s)
		why = &e
	}
	return Hit{
		ID: c.ID, Score: math.Round(min(1, s.score)*1e6) / 1e6,
		Path: p.Path, Title: p.Title, Heading: c.Heading, Breadcrumb: c.Breadcrumb,
		Snippet:   s.snippet,
		StartLine: c.StartLine, EndLine: c.EndLine,
		Metadata: p.Metadata, Variants: variants, Evidence: why,
	}, nil
}

// checkFilters rejects facets and values that the corpus does not have.
func (ed *snapshot) checkFilters(filters map[string]string) error {
	taxonomy := ed.reader.Metadata().Taxonomy
	keys := make([]string, 0, len(filters))
	for k := range filters {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		facet, ok := taxonomy[k]
		if !ok {
			return invalid(fmt.Sprintf("Unexpected field '%s'", k))
		}
		i := sort.SearchStrings(facet.Values, filters[k])
		if i == len(facet.Values) || facet.Values[i] != filters[k] {
			return invalid(fmt.Sprintf("Invalid taxonomy value for '%s': '%s'. Allowed values: %s", k, filters[k], strings.Join(facet.Values, ", ")))
		}
	}
	return nil
}

func invalid(message string) *fault.Fault { return fault.New("invalid_argument", message, "") }

// cutText truncates s to at most n bytes without splitting a character.
func cutText[text string | []byte](s text, n int) text {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// recoverAs turns a panic of this query into its error. The cause of such a panic
// is a data file that was truncated while it was mapped, or damage that a package
// does not check for.
func recoverAs(err *error, ed *snapshot) {
	if p := recover(); p != nil {
		// The packages used by this query may be in an inconsistent state, so this
		// artifact is no longer used.
		damage, found := p.(artifact.Damage)
		if !found {
			damage = artifact.Damage{Fault: damagedFault(ed.dir)}
		}
		ed.broken.CompareAndSwap(nil, damage.Fault)
		if *err = damage.Fault; !found {
			*err = fmt.Errorf("%w: panic: %v\n%s", damage.Fault, p, debug.Stack())
		}
	}
}

// guarded reads the index. A panic of read is the damage of this index.
func (ed *snapshot) guarded(read func() error) (err error) {
	defer recoverAs(&err, ed)
	return read()
}

// postings returns a term's postings, like guarded.
func (ed *snapshot) postings(term string) (p *artifact.Postings, err error) {
	defer recoverAs(&err, ed)
	return ed.reader.Postings(term)
}

func damagedFault(dir string) *fault.Fault {
	return fault.New("artifact_damaged", fmt.Sprintf("the index in %s is damaged: its data file changed while it was read", dir),
		"Rebuild it with \"deskhand index\"; the server switches to it automatically.")
}
