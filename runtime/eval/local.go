package eval

import (
	"context"

	"github.com/deskhand/deskhand/runtime/search"
)

// Local measures a deskhand engine in this process.
type Local struct {
	Engine *search.Engine
	// By is the kind of evidence to rank by, for comparison. Empty means all
	// kinds.
	By search.By
}

// Search queries the engine.
func (l Local) Search(ctx context.Context, query string, filters map[string]string, limit int, cursor string) ([]Hit, string, error) {
	q := search.Query{Text: query, Filters: filters, Limit: limit, By: l.By}
	if cursor != "" {
		q.Cursor = &cursor
	}
	page, err := l.Engine.Search(ctx, q)
	if err != nil {
		return nil, "", err
	}
	var hits []Hit
	for _, h := range page.Hits {
		hits = append(hits, Hit{ID: h.ID, Path: h.Path, Heading: h.Heading, Breadcrumb: h.Breadcrumb, Metadata: h.Metadata})
	}
	return hits, page.Next, nil
}

// Text returns a chunk's Markdown.
func (l Local) Text(_ context.Context, chunkID string) (string, error) {
	p, err := l.Engine.Passage(chunkID, 0)
	if err != nil {
		return "", err
	}
	return p.Chunks[p.Target].Markdown, nil
}

// Has reports whether the corpus has a file.
func (l Local) Has(path string) bool {
	ok, err := l.Engine.Has(path)
	return ok && err == nil
}

// InProcess is an engine in this process, by the kind of evidence to rank by.
type InProcess interface {
	Engine
	// Has reports whether the corpus has a file.
	Has(path string) bool
}

// OnIndex returns a function for [RunLocal] that measures an index.
func OnIndex(engine *search.Engine) func(search.By) InProcess {
	return func(by search.By) InProcess { return Local{Engine: engine, By: by} }
}

// OnShelf returns a function for [RunLocal] that measures all libraries of a federation.
func OnShelf(f *search.Federation) func(search.By) InProcess {
	return func(by search.By) InProcess { return Libraries{Federation: f, By: by} }
}

// RunLocal runs the cases against what open returns for a kind of evidence: once for
// each in kinds, or once with all evidence if kinds is empty. If asked is set, it runs
// them again with the first kind, for each reader who rephrased questions.
func RunLocal(ctx context.Context, open func(search.By) InProcess, kinds []search.By, cases []Case, o Options, asked bool) (reports []Report, err error) {
	if len(kinds) == 0 {
		kinds = []search.By{""}
	}
	o.Has = open(kinds[0]).Has
	run := func(name string, by search.By, cases []Case) error {
		o.Name = name
		report, err := Run(ctx, open(by), cases, o)
		reports = append(reports, report)
		return err
	}
	for _, by := range kinds {
		if err := run(string(by), by, cases); err != nil {
			return nil, err
		}
	}
	if !asked {
		return reports, nil
	}
	for _, reader := range Readers(cases) {
		if err := run("asked by "+reader, kinds[0], AskedBy(cases, reader)); err != nil {
			return nil, err
		}
	}
	return reports, nil
}
