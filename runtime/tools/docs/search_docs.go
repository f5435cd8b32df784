package docs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/search"
)

// searchDocsIn holds the arguments of search_docs. The corpus's facets are
// additional fields next to the three fixed ones.
type searchDocsIn struct {
	Query   string
	Limit   int
	Cursor  *string
	Filters map[string]string
}

func (in *searchDocsIn) UnmarshalJSON(b []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	for name, value := range fields {
		var err error
		switch name {
		case "query":
			err = json.Unmarshal(value, &in.Query)
		case "limit":
			err = json.Unmarshal(value, &in.Limit)
		case "cursor":
			err = json.Unmarshal(value, &in.Cursor)
		default:
			var text string
			err = json.Unmarshal(value, &text)
			if in.Filters == nil {
				in.Filters = map[string]string{}
			}
			in.Filters[name] = text
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// SearchResult is the result of search_docs.
type SearchResult struct {
	Hits       []Hit   `json:"hits"`
	NextCursor *string `json:"next_cursor"`
	Hint       *Hint   `json:"hint"`
	// Note says why hits were left out.
	Note string `json:"note,omitempty"`
	// Lexical is copied from search.Page. It goes into the answer's metadata.
	Lexical string `json:"-"`
}

// Hit is one chunk found.
type Hit struct {
	ChunkID    string            `json:"chunk_id"`
	Score      float64           `json:"score"`
	Heading    string            `json:"heading"`
	Breadcrumb string            `json:"breadcrumb"`
	Snippet    string            `json:"snippet"`
	Filepath   string            `json:"filepath"`
	Metadata   map[string]string `json:"metadata"`
	// Title is the page's title. Lines holds the chunk's first and last line in the
	// file, or is empty if they are unknown.
	Title string `json:"title"`
	Lines string `json:"lines,omitempty"`
	// Variants is copied from search.Hit.
	Variants map[string][]string `json:"variants,omitempty"`
	// Library is set in a search of several libraries. The chunk's ID also begins
	// with it.
	Library string `json:"library,omitempty"`
	// Why is set if an explanation was requested.
	Why *Why `json:"why,omitempty"`
}

// Why explains a hit's rank, each part from 0 to 1; see search.Evidence.
type Why struct {
	Words   float64 `json:"words"`
	Meaning float64 `json:"meaning"`
	Near    float64 `json:"near"`
	Path    float64 `json:"path"`
	// Verbatim is left out if it is 0.
	Verbatim float64 `json:"verbatim,omitempty"`
	Row      float64 `json:"row"`
	Each     float64 `json:"each"`
	// Learnt is how much each kind of evidence moved the hit, not from 0 to 1.
	Learnt map[string]float64 `json:"learnt,omitempty"`
	// Weights holds the weight of each part if the score is their weighted sum.
	Weights map[string]float64 `json:"weights,omitempty"`
}

// Hint suggests what to do if there are no good hits.
type Hint struct {
	// Found is copied from search.Hint.
	Found            search.Found        `json:"-"`
	Message          string              `json:"message"`
	SuggestedFilters map[string][]string `json:"suggested_filters"`
}

func searchDocs(engine *search.Engine, o Options) contract.Tool {
	m := engine.Metadata()
	spec := contract.Spec{
		Name: o.name("search_docs"), Title: "Search the documentation", Description: searchDescription(m),
		Input:    contract.Freeze(searchDocsSchema(m.Taxonomy)),
		NonBlank: []string{"query"},
		ReadOnly: true,
		Reword: func(r contract.Refusal) string {
			if _, facet := m.Taxonomy[r.Field]; facet && r.Kind == contract.NotAllowed {
				return fmt.Sprintf("Invalid taxonomy value for '%s': '%s'. Allowed values: %s", r.Field, r.Value, contract.AllowedList(r.Allowed))
			}
			return ""
		},
	}
	return contract.Define(spec, func(ctx context.Context, caller contract.Caller, in searchDocsIn) (contract.Result, error) {
		answer, result, err := Search(ctx, engine, search.Query{Text: in.Query, Filters: in.Filters, Limit: in.Limit, Cursor: in.Cursor, Explain: o.Explain}, o.maxBytes(caller))
		if err != nil {
			return contract.Result{}, err
		}
		if hint := result.Hint; o.Missed != nil && hint != nil && in.Cursor == nil && len(hint.SuggestedFilters) == 0 {
			o.Missed(in.Query, in.Filters, hint.Found)
		}
		r := contract.Result{Text: []string{answer}, Structured: json.RawMessage(answer)}
		if result.Lexical != "" {
			r.Meta = map[string]any{"deskhand/lexical": result.Lexical}
		}
		return r, nil
	})
}

// These strings tell a model that has not seen the docs how to ask. Two phrasings
// in the words of the docs find what the model's own words miss (docs/ranking.md).
// Both strings follow the contract's sentences.
const (
	howToAsk = `Ask well: put the question into query and after it, with semicolons between, two or three phrasings in words the docs would use (product terms, option names, likely headings).`
	askQuery = `Write the question and then, with semicolons between, two or three phrasings of it in words the docs would use: product terms, option names, likely headings. Put text in double quotes only to require it word for word.`
)

// searchDescription returns the description of search_docs: the contract's
// sentence, how to ask, and terms of the corpus; or the corpus's own description if
// it has one.
func searchDescription(m *artifact.Metadata) string {
	if m.ToolDescriptions != nil && m.ToolDescriptions.SearchDocs != "" {
		return m.ToolDescriptions.SearchDocs
	}
	text := fmt.Sprintf("Search the %s. Use this to find relevant documentation, guides, or API references. %s", m.CorpusDescription, howToAsk)
	if len(m.Terms) > 0 {
		text += " Terms of these docs: " + strings.Join(m.Terms, ", ") + "."
	}
	return text
}

// searchDocsSchema returns a schema with one optional property per facet, after the
// three fixed ones.
func searchDocsSchema(taxonomy map[string]artifact.Facet) *jsonschema.Schema {
	one, fifty := float64(1), float64(search.MaxLimit)
	properties := []contract.Property{
		{Name: "query", Schema: &jsonschema.Schema{Type: "string", Description: "The search query (e.g., 'how to paginate', 'RateLimitError'). " + askQuery}},
		{Name: "limit", Schema: &jsonschema.Schema{Type: "integer", Description: "Maximum number of results to return. Default is 10.",
			Minimum: &one, Maximum: &fifty, Default: json.RawMessage("10")}},
		{Name: "cursor", Schema: &jsonschema.Schema{Type: "string", Description: "Opaque pagination token returned from a previous search. Omit for the first page. Returns an error if invalid or malformed."}},
	}
	for _, key := range slices.Sorted(maps.Keys(taxonomy)) {
		facet := taxonomy[key]
		text := facet.Description
		if text == "" {
			text = fmt.Sprintf("Filter results by %s.", key)
		}
		enum := make([]any, len(facet.Values))
		for i, v := range facet.Values {
			enum[i] = v
		}
		properties = append(properties, contract.Property{Name: key, Schema: &jsonschema.Schema{Type: "string", Description: text, Enum: enum}})
	}
	return contract.Object([]string{"query"}, properties...)
}

// tooMany says which chunks a search skipped.
const tooMany = "Too many chunks contain all of the quoted words; only the best of them were searched for the phrase."

// rooms holds buffers for writing answers. Buffers of more than maxRoom bytes are
// not kept.
const maxRoom = 256 << 10

var rooms = sync.Pool{New: func() any { return new([]byte) }}

// Search queries the engine and returns a page of hits, as JSON of at most maxBytes
// and as a value. Hits that do not fit move to the next page.
func Search(ctx context.Context, engine *search.Engine, q search.Query, maxBytes int) (string, SearchResult, error) {
	return pageOf(&q, maxBytes, func(q search.Query) (SearchResult, error) {
		page, err := engine.Search(ctx, q)
		if err != nil {
			return SearchResult{}, err
		}
		result := word(page)
		if page.Cut {
			result.Note = tooMany
		}
		return result, nil
	})
}

// pageOf formats the page that ask returns. It requests fewer hits until the page
// fits.
func pageOf(q *search.Query, maxBytes int, ask func(search.Query) (SearchResult, error)) (string, SearchResult, error) {
	note, lexical := "", ""
	for {
		result, err := ask(*q)
		if err != nil {
			return "", SearchResult{}, err
		}
		// Do not wait a second time for a vector that is unavailable.
		lexical = cmp.Or(lexical, result.Lexical)
		result.Lexical, q.Lexical = lexical, lexical != ""
		result.Note = strings.TrimSpace(result.Note + " " + note)
		room := rooms.Get().(*[]byte)
		*room = appendResult((*room)[:0], &result)
		answer := string(*room)
		if cap(*room) <= maxRoom {
			rooms.Put(room)
		}
		if len(answer) <= maxBytes || len(result.Hits) <= 1 {
			return answer, result, nil
		}
		q.Limit = min(len(result.Hits)-1, max(1, len(result.Hits)*maxBytes/len(answer)))
		note = fmt.Sprintf("Fewer hits than requested, to stay under %d bytes. Pass next_cursor to continue.", maxBytes)
	}
}

func word(page search.Page) SearchResult {
	result := SearchResult{Hits: make([]Hit, 0, len(page.Hits)), Lexical: page.Lexical}
	if page.Next != "" {
		result.NextCursor = &page.Next
	}
	if page.Hint != nil {
		result.Hint = &Hint{Found: page.Hint.Found, Message: page.Hint.Message, SuggestedFilters: page.Hint.Suggested}
	}
	for _, h := range page.Hits {
		result.Hits = append(result.Hits, hitOf(h))
	}
	return result
}

func hitOf(h search.Hit) Hit {
	return Hit{
		ChunkID: h.ID, Score: h.Score, Heading: h.Heading, Breadcrumb: h.Breadcrumb, Snippet: h.Snippet,
		Filepath: h.Path, Metadata: h.Metadata, Title: h.Title, Lines: linesOf(h.StartLine, h.EndLine),
		Variants: h.Variants, Why: (*Why)(h.Evidence),
	}
}
