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

// RunLocal runs the cases against an index: once for each kind of evidence in
// kinds, or once with all evidence if kinds is empty. If asked is set, it runs
// them again with the first kind, for each reader who rephrased questions.
func RunLocal(ctx context.Context, engine *search.Engine, kinds []search.By, cases []Case, o Options, asked bool) (reports []Report, err error) {
	o.Has = Local{Engine: engine}.Has
	if len(kinds) == 0 {
		kinds = []search.By{""}
	}
	run := func(name string, by search.By, cases []Case) error {
		o.Name = name
		report, err := Run(ctx, Local{Engine: engine, By: by}, cases, o)
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
