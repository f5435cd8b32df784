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
}

// Above returns the headings above the section, which tell apart sections that are
// all called "Usage".
func (h hit) Above() []string {
	parts := strings.Split(h.Breadcrumb, " > ")
	if n := len(parts) - 1; parts[n] == h.Heading {
		return parts[:n]
	}
	return nil
}

// reason is one component of a hit's score, from 0 to 1.
type reason struct {
	Name, Help string
	Value      string
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
		Metadata   map[string]string `json:"metadata"`
		Title      string            `json:"title"`
		Lines      string            `json:"lines"`
		// Variants holds facet values.
		Variants map[string][]string `json:"variants"`
		Why      *struct {
			Words, Meaning, Near, Path, Verbatim, Row, Each float64
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
		for _, key := range slices.Sorted(maps.Keys(h.Metadata)) {
			one.Facets = append(one.Facets, key+": "+h.Metadata[key])
		}
		if w := h.Why; w != nil {
			one.Why = []reason{
				{"words", "how well the keywords match, relative to the best section", share(w.Words)},
				{"meaning", "how similar the meaning is: 1 is the most similar section", share(w.Meaning)},
				{"near", "how much of the question occurs close together in the section", share(w.Near)},
				{"path", "how much of the question occurs in its page's path", share(w.Path)},
			}
			if w.Verbatim > 0 {
				one.Why = append(one.Why, reason{"verbatim", "how much of the question the section has word for word", share(w.Verbatim)})
			}
			if w.Row > 0 || w.Each > 0 {
				one.Why = append(one.Why, reason{"row", "how near its best row is in meaning, as above", share(w.Row)},
					reason{"each", "how near its words are to the question's, one by one", share(w.Each)})
			}
		}
		for _, key := range slices.Sorted(maps.Keys(h.Variants)) {
			for _, value := range h.Variants[key] {
				one.Variants = append(one.Variants, link{key + ": " + value, with(asked, key, value)})
			}
		}
		r.Hits = append(r.Hits, one)
	}
	fresh := with(asked, "read", "")
	if f.NextCursor != "" {
		r.More = paged(fresh, f.NextCursor, before+len(f.Hits))
	}
	if asked.Get("cursor") != "" {
		r.First = paged(fresh, "", 0)
	}
	if f.Hint != nil {
		r.Hint = strings.TrimPrefix(f.Hint.Message, "0 results found. ") // the heading says so
		for _, key := range slices.Sorted(maps.Keys(f.Hint.SuggestedFilters)) {
			for _, value := range f.Hint.SuggestedFilters[key] {
				r.Suggestions = append(r.Suggestions, link{key + ": " + value, with(asked, key, value)})
			}
		}
	}
	return r, nil
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
