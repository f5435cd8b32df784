// Package eval measures a search engine with graded queries.
//
// Load reads the queries. Run sends each query to an Engine and measures the
// answers (NDCG@5 as defined in ndcg.go, and MRR, hit rate, recall, facet leaks
// and time). Compare compares two reports. Run uses only the interface Engine, so
// it measures a server behind a protocol in the same way as an engine in this
// process.
package eval

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Engine is the engine to measure. If Options.Workers is over 1, it is called
// concurrently.
type Engine interface {
	// Search returns at most limit hits, best first, and the cursor for the next
	// page, which is empty on the last page. The parameter cursor is empty for
	// the first page. filters holds facet values by facet; nil means none.
	Search(ctx context.Context, query string, filters map[string]string, limit int, cursor string) (hits []Hit, next string, err error)
	// Text returns the full Markdown of a chunk, without delimiter lines. It is
	// called only for hits that cannot be judged without their text.
	Text(ctx context.Context, chunkID string) (string, error)
}

// Hit is one search result as an agent sees it.
type Hit struct {
	// ID is the chunk ID. An ID without '#' stands for a whole file.
	ID string
	// Path is the file, relative to the indexed folder, with slashes, without the
	// library.
	Path string
	// Heading and Breadcrumb are as search_docs returns them; the parts of
	// Breadcrumb are separated by " > ". Both may be empty.
	Heading, Breadcrumb string
	// Metadata holds the chunk's facet values. Nil means unknown; such a hit
	// never counts as a facet leak.
	Metadata map[string]string
	// Library is the ID of the hit's library, NAME or NAME@VERSION. It is empty for
	// an index.
	Library string
}

// Options configure Run. The zero value is ready to use.
type Options struct {
	// Name labels the report, for example in a column heading. Empty means
	// "deskhand".
	Name string
	// K is the cut-off rank of NDCG, MRR and the hit rate. Zero means 5.
	K int
	// Limit is how many hits to request if a case sets no limit. Zero means 10,
	// or K if K is larger; Recall@10 needs 10 hits.
	Limit int
	// Collapse counts entries with the same Same as one answer, for engines
	// that return one language of a page when there is no filter.
	Collapse bool
	// Warmup is how many queries to send before the measured ones. They are the
	// queries of the cases, starting with the first.
	Warmup int
	// Workers is how many queries run concurrently. Zero means 1, which is best for
	// measuring latency.
	Workers int
	// Timeout limits one Search or Text. Zero means 30 seconds.
	Timeout time.Duration
	// Title returns a file's front matter title (not its first heading), or "". A
	// hit whose heading is that title stands for the text before the first
	// heading. Nil means that no file has a title. The file's name always counts
	// as a title.
	Title func(path string) string
	// Has reports whether the corpus has a file. If it is not nil, the report
	// lists entries that name a missing file.
	Has func(path string) bool
	// Leaks reports whether the filters should have excluded a hit. If nil, the
	// function Leaks is used.
	Leaks func(hit Hit, filters map[string]string) bool
	// PID is the process whose peak memory is reported. Zero means this process.
	PID int
	// Progress, if not nil, is called after each case, never concurrently.
	Progress func(done, total int)
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "deskhand"
	}
	if o.K <= 0 {
		o.K = 5
	}
	if o.Limit <= 0 {
		o.Limit = max(10, o.K)
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Leaks == nil {
		o.Leaks = Leaks
	}
	o.Workers = max(1, o.Workers)
	return o
}

// Run sends every case to engine and measures the answers. A failed query scores 0
// and is counted, and the report contains its error. Run itself fails only if there
// are no cases (fault "no_cases") or if ctx ends.
//
// Everything in the report except Timing depends only on the engine's answers.
func Run(ctx context.Context, engine Engine, cases []Case, opts Options) (Report, error) {
	if len(cases) == 0 {
		return Report{}, fault.New("no_cases", "there are no cases to evaluate", "pass a file with at least one graded query")
	}
	r := run{engine: engine, opts: opts.withDefaults()}
	for i := range r.opts.Warmup {
		c := cases[i%len(cases)]
		_, _, _ = r.search(ctx, c, "", &stopwatch{})
		if ctx.Err() != nil {
			break
		}
	}

	start := time.Now()
	results := make([]CaseResult, len(cases))
	watches := make([]stopwatch, len(cases))
	r.each(ctx, len(cases), func(i int) { results[i] = r.ask(ctx, cases[i], &watches[i]) })
	if err := ctx.Err(); err != nil {
		return Report{}, fmt.Errorf("evaluate: %w", err)
	}
	report := newReport(r.opts, results)
	report.MissingFiles = missingFiles(cases, r.opts.Has)
	report.Timing = newTiming(results, watches, time.Since(start), peakRSS(r.opts.PID))
	return report, nil
}

type run struct {
	engine Engine
	opts   Options
}

// each calls the function do with 0 to n-1 from the workers, and stops early if
// ctx ends.
func (r *run) each(ctx context.Context, n int, do func(i int)) {
	var (
		workers sync.WaitGroup
		next    atomic.Int64
		mu      sync.Mutex
		done    int
	)
	for range min(r.opts.Workers, n) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				do(i)
				if r.opts.Progress == nil {
					continue
				}
				mu.Lock()
				done++
				r.opts.Progress(done, n)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
}

// ask sends one case to the engine. It reads page after page until it finds a good
// hit or the case allows no more pages. It judges all hits as one ranking.
func (r *run) ask(ctx context.Context, c Case, watch *stopwatch) CaseResult {
	result := CaseResult{Name: c.Name, Category: c.Category, Query: c.Query, Filters: c.Filters}
	if c.MaxRounds > 0 {
		result.Rounds = c.MaxRounds + 1
	}
	text := func(id string) string {
		t, err := r.text(ctx, id, watch)
		if err != nil && result.TextError == "" {
			result.TextError = fmt.Sprintf("%s: %v", id, err)
		}
		return t
	}
	j, cursor := newJudge(c, r.opts), ""
	for round := 1; round <= max(1, c.MaxRounds); round++ {
		hits, next, err := r.search(ctx, c, cursor, watch)
		if err != nil {
			result.Error = err.Error()
			return result
		}
		j.add(hits, text)
		if j.firstGood() > 0 && c.MaxRounds > 0 {
			result.Rounds = round
		}
		if j.firstGood() > 0 || next == "" {
			break
		}
		cursor = next
	}
	j.fill(&result)
	return result
}

// search requests one page and returns at most the requested number of hits.
func (r *run) search(ctx context.Context, c Case, cursor string, watch *stopwatch) ([]Hit, string, error) {
	limit := c.Limit
	if limit <= 0 {
		limit = r.opts.Limit
	}
	slow := fmt.Errorf("no answer in %v", r.opts.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, r.opts.Timeout, slow)
	defer cancel()
	start := time.Now()
	hits, next, err := r.engine.Search(ctx, c.Query, c.Filters, limit, cursor)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, "", err
	}
	watch.searches = append(watch.searches, time.Since(start))
	return hits[:min(len(hits), limit)], next, nil
}

func (r *run) text(ctx context.Context, id string, watch *stopwatch) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	start := time.Now()
	text, err := r.engine.Text(ctx, id)
	if err != nil {
		return "", err
	}
	watch.texts = append(watch.texts, time.Since(start))
	return text, nil
}

// Leaks reports whether filters should have excluded hit because the hit has
// another value, or none, for a filtered facet. By the contract of search_docs,
// two kinds of page may pass a filter on "language" if "scope" is not filtered:
// pages with scope "global-guide", and pages of other scopes without a language.
func Leaks(hit Hit, filters map[string]string) bool {
	if hit.Metadata == nil {
		return false
	}
	for facet, want := range filters {
		if facet == libraryFilter && hit.Library != "" {
			if want != hit.Library && want != libraryName(hit.Library) {
				return true
			}
			continue
		}
		got := hit.Metadata[facet]
		if got == want {
			continue
		}
		_, scoped := filters["scope"]
		scope := hit.Metadata["scope"]
		if facet == "language" && !scoped && (scope == "global-guide" || scope != "" && got == "") {
			continue
		}
		return true
	}
	return false
}

// missingFiles lists the entries whose files are all missing from the corpus.
func missingFiles(cases []Case, has func(string) bool) []MissingFile {
	var missing []MissingFile
	if has == nil {
		return nil
	}
	for _, c := range cases {
		for _, e := range c.Expected {
			found := false
			for _, path := range e.files() {
				found = found || has(path)
			}
			if !found {
				missing = append(missing, MissingFile{Case: c.Name, Filepath: e.files()[0]})
			}
		}
	}
	return missing
}
