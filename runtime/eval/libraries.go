package eval

import (
	"context"
	"maps"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
)

// Libraries measures a federation in this process. A case's filter "library" selects one
// of its libraries.
type Libraries struct {
	Federation *search.Federation
	// By is as in Local.
	By search.By
}

// Search queries the libraries.
func (l Libraries) Search(ctx context.Context, query string, filters map[string]string, limit int, cursor string) ([]Hit, string, error) {
	filters = maps.Clone(filters)
	library := filters[libraryFilter]
	delete(filters, libraryFilter)
	q := search.Query{Text: query, Filters: filters, Limit: limit, By: l.By}
	if cursor != "" {
		q.Cursor = &cursor
	}
	page, err := l.Federation.Search(ctx, library, q)
	if err != nil {
		return nil, "", err
	}
	var hits []Hit
	for _, h := range page.Hits {
		hits = append(hits, Hit{ID: h.Library.ID + ":" + h.ID, Path: h.Path, Heading: h.Heading, Breadcrumb: h.Breadcrumb, Metadata: h.Metadata, Library: h.Library.ID})
	}
	return hits, page.Next, nil
}

// Text returns a chunk's Markdown.
func (l Libraries) Text(ctx context.Context, chunkID string) (string, error) {
	library, id, err := l.Federation.Split(chunkID)
	if err != nil {
		return "", err
	}
	return Local{Engine: library.Engine}.Text(ctx, id)
}

// Has reports whether a library has a file, PATH or LIBRARY:PATH.
func (l Libraries) Has(path string) bool {
	library, rest, err := l.Federation.Split(path)
	if err != nil {
		f := fault.Of(err)
		return f != nil && f.Code == "invalid_argument" // several libraries have it
	}
	return Local{Engine: library.Engine}.Has(rest)
}

// libraryFilter is the filter of a case that selects a library.
const libraryFilter = "library"

// places returns what an entry may call a hit's place, which is a path or an ID: as it is
// and, if the hit has a library, with the library's ID or name in front.
func (h Hit) places(place string) []string {
	if h.Library == "" {
		return []string{place}
	}
	place = strings.TrimPrefix(place, h.Library+":")
	return []string{place, h.Library + ":" + place, libraryName(h.Library) + ":" + place}
}

// libraryName returns the name in NAME or NAME@VERSION. A name may begin with @.
func libraryName(id string) string {
	if at := strings.LastIndex(id, "@"); at > 0 {
		return id[:at]
	}
	return id
}
