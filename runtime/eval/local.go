package eval

import (
	"context"

	"github.com/deskhand/deskhand/runtime/search"
)

// Local measures a deskhand engine in this process.
type Local struct {
	Engine *search.Engine
	// By is the kind of evidence to rank by, for comparison; empty: all.
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
