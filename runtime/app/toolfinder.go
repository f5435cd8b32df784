package app

import (
	"context"
	"strings"
	"unicode"

	"github.com/deskhand/deskhand/runtime/gateway"
	"github.com/deskhand/deskhand/runtime/search"
)

// toolFinder ranks the tools of upstreams with the engine that ranks documents.
type toolFinder struct {
	engine *search.Engine
	names  map[string]string // maps text paths to tool names
}

// upstreamFacet is the facet by which tools are filtered.
const upstreamFacet = "upstream"

// NewToolFinder returns an index that ranks tools by their names and
// descriptions.
func NewToolFinder(tools []gateway.Described) (gateway.Finder, error) {
	f := &toolFinder{names: make(map[string]string, len(tools))}
	texts := make([]search.Text, len(tools))
	for i, t := range tools {
		texts[i] = toolText(t)
		f.names[texts[i].Path] = t.Name
	}
	var err error
	f.engine, err = search.OverTexts(texts)
	return f, err
}

// aboutBytes is the maximum number of description bytes that are indexed, because longer
// descriptions continue with examples and other tools. valuesBytes is the maximum number
// of bytes of the possible values of arguments. On the 60 requests in tuning.json
// (docs/tools.md), recall@5 is 0.80. It is 0.77 with 400 bytes or all of the
// description, with argument descriptions, or without the values.
const (
	aboutBytes  = 200
	valuesBytes = 400
)

// toolText returns the text that is searched to find a tool: the names of the upstream
// and the tool, the start of the description, and the names and values of the
// arguments.
func toolText(t gateway.Described) search.Text {
	return search.Text{
		Path:    t.Upstream + "/" + t.Tool,
		Heading: strings.TrimSpace(t.Upstream + " " + spaced(t.Tool) + " " + t.Title),
		Body:    beginning(t.Description, aboutBytes) + "\n" + spaced(strings.Join(t.Arguments, " ")) + "\n" + spaced(beginning(strings.Join(t.Values, " "), valuesBytes)),
		Facets:  map[string]string{upstreamFacet: t.Upstream},
	}
}

// beginning returns the first n bytes of text, without a partial character at the
// end.
func beginning(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}

// spaced splits an identifier into words.
func spaced(name string) string {
	var b strings.Builder
	var before rune
	for _, c := range name {
		switch {
		case c == '_' || c == '-' || c == '.' || c == '/':
			c = ' '
		case unicode.IsUpper(c) && unicode.IsLower(before):
			b.WriteByte(' ')
		}
		b.WriteRune(c)
		before = c
	}
	return b.String()
}

func (f *toolFinder) Find(ctx context.Context, need, upstream string, limit int) ([]string, error) {
	q := search.Query{Text: need, Limit: limit}
	if upstream != "" {
		q.Filters = map[string]string{upstreamFacet: upstream}
	}
	page, err := f.engine.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(page.Hits))
	for i, h := range page.Hits {
		names[i] = f.names[h.Path]
	}
	return names, nil
}

func (f *toolFinder) Close() error { return f.engine.Close() }
