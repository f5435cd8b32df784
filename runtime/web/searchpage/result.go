package searchpage

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
)

// result is a search result.
type result struct {
	Hits []hit
	Note string // says what was left out, or how the search was done
	Hint string // shown if nothing was found
	// Suggestions are links to searches that find something.
	Suggestions []link
	More        string // address of the next page; empty if there is none
	First       string // address of the first page; empty on the first page
}

// link is a name with an address.
type link struct{ Name, Address string }

// hit is a section found by the search.
type hit struct {
	Rank                                         int
	ID, Heading, Breadcrumb, Snippet, Path, Page string
	Lines, Score                                 string
	Facets                                       []string
	Why                                          []reason
	Variants                                     []link
	Read                                         string // address for reading the section
	Here                                         bool   // whether the section is being read
	Same                                         bool   // whether the hit above is of the same page
	Ranked                                       bool   // whether the ranker ordered it, so that its score is not a sum
}

// Above returns the headings above the section, which tell apart sections that are
// all called "Usage". The first is the page's.
func (h hit) Above() []string {
	parts := strings.Split(h.Breadcrumb, " > ")
	n := len(parts) - 1
	if parts[n] != h.Heading {
		return nil
	}
	return parts[:n]
}

// reason is one component of a hit's score, from 0 to 1.
type reason struct {
	Name, Help string
	Value      string
	Weight     string // by which the value counts in the score; empty if the score is not a sum
}

// found is the structured answer of search_docs.
type found struct {
	Hits []struct {
		ChunkID    string            `json:"chunk_id"`
		Score      float64           `json:"score"`
		Heading    string            `json:"heading"`
		Breadcrumb string            `json:"breadcrumb"`
		Snippet    string            `json:"snippet"`
		Filepath   string            `json:"filepath"`
		Library    string            `json:"library"` // empty without a shelf
		Metadata   map[string]string `json:"metadata"`
		Title      string            `json:"title"`
		Lines      string            `json:"lines"`
		// Variants holds facet values.
		Variants map[string][]string `json:"variants"`
		Why      *struct {
			Words, Meaning, Near, Path, Verbatim, Row, Each float64
			Weights                                         map[string]float64
		} `json:"why"`
	} `json:"hits"`
	NextCursor string `json:"next_cursor"`
	Hint       *struct {
		Message          string              `json:"message"`
		SuggestedFilters map[string][]string `json:"suggested_filters"`
	} `json:"hint"`
	Note string `json:"note"`
}

// structured decodes the structured content of an answer.
func structured(r contract.Result, into any) error {
	data, err := json.Marshal(r.Structured)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

func readResult(answer contract.Result, asked url.Values) (*result, error) {
	var f found
	if err := structured(answer, &f); err != nil {
		return nil, err
	}
	before, _ := strconv.Atoi(asked.Get("after")) // the value is only used to number the hits
	before = min(max(before, 0), 1_000_000)
	r := &result{Note: f.Note}
	if lexical, ok := answer.Meta["deskhand/lexical"].(string); ok {
		r.Note = "Keyword search only: " + lexical + " " + r.Note
	}
	for i, h := range f.Hits {
		one := hit{
			Rank: before + i + 1, ID: h.ChunkID, Heading: h.Heading, Breadcrumb: h.Breadcrumb, Snippet: h.Snippet, Path: h.Filepath,
			Page: h.Title, Lines: h.Lines, Score: fmt.Sprintf("%.3f", h.Score), Read: with(asked, "read", h.ChunkID) + "#reading", Here: asked.Get("read") == h.ChunkID,
		}
		if h.Library != "" {
			one.Facets = append(one.Facets, h.Library)
		}
		for _, key := range slices.Sorted(maps.Keys(h.Metadata)) {
			one.Facets = append(one.Facets, key+": "+h.Metadata[key])
		}
		if w := h.Why; w != nil {
			one.Why = []reason{
				{Name: "words", Help: "how well the keywords match, relative to the best section", Value: share(w.Words)},
				{Name: "meaning", Help: "how similar the meaning is: 1 is the most similar section", Value: share(w.Meaning)},
				{Name: "near", Help: "how much of the question occurs close together in the section", Value: share(w.Near)},
				{Name: "path", Help: "how much of the question occurs in its page's path", Value: share(w.Path)},
			}
			if w.Verbatim > 0 {
				one.Why = append(one.Why, reason{Name: "verbatim", Help: "how much of the question the section has word for word", Value: share(w.Verbatim)})
			}
			if w.Row > 0 || w.Each > 0 {
				one.Why = append(one.Why, reason{Name: "row", Help: "how near its best row is in meaning, as above", Value: share(w.Row)},
					reason{Name: "each", Help: "how near its words are to the question's, one by one", Value: share(w.Each)})
			}
			one.Ranked = w.Weights == nil
			for i := range one.Why {
				if x := w.Weights[one.Why[i].Name]; x > 0 {
					one.Why[i].Weight = strconv.FormatFloat(x, 'g', 2, 64)
				}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(h.Variants)) {
			for _, value := range h.Variants[key] {
				one.Variants = append(one.Variants, link{key + ": " + value, with(asked, key, value)})
			}
		}
		r.Hits = append(r.Hits, one)
	}
	r.Hits = byPage(r.Hits)
	fresh := with(asked, "read", "")
	if f.NextCursor != "" {
		r.More = paged(fresh, f.NextCursor, before+len(f.Hits))
	}
	if asked.Get("cursor") != "" {
		r.First = paged(fresh, "", 0)
	}
	if f.Hint != nil {
		if r.Hint = f.Hint.Message; strings.HasPrefix(r.Hint, "0 results found. ") { // the heading says so
			r.Hint = "No section has these words, or is near to them in meaning. Try other words, or fewer."
		}
		for _, key := range slices.Sorted(maps.Keys(f.Hint.SuggestedFilters)) {
			for _, value := range f.Hint.SuggestedFilters[key] {
				r.Suggestions = append(r.Suggestions, link{key + ": " + value, with(asked, key, value)})
			}
		}
	}
	return r, nil
}

// byPage puts hits of the same page below the first of them. Their ranks stay.
func byPage(hits []hit) (all []hit) {
	pages := map[string][]hit{}
	for _, h := range hits {
		page, _, _ := strings.Cut(h.ID, "#")
		h.Same = pages[page] != nil
		pages[page] = append(pages[page], h)
	}
	for _, h := range hits {
		page, _, _ := strings.Cut(h.ID, "#")
		all = append(all, pages[page]...)
		pages[page] = nil
	}
	return all
}

func share(x float64) string { return fmt.Sprintf("%.2f", x) }

// paged returns an address with another cursor.
func paged(address, cursor string, after int) string {
	u, err := url.Parse(address)
	if err != nil {
		return address // cannot happen, because this page created the address
	}
	asked := u.Query()
	asked.Del("after")
	if after > 0 {
		asked.Set("after", strconv.Itoa(after))
	}
	return with(asked, "cursor", cursor)
}
