package search

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// hintPool is the number of hits that are searched for filter values that would
// have given results.
const hintPool = 100

// hint explains why there are no hits and which filters would give some.
func (r *run) hint(ctx context.Context, text string) (*Hint, error) {
	if len(r.filters) == 0 {
		return &Hint{
			Found:     FoundNothing,
			Message:   "0 results found. No matches were found for this query in the indexed corpus.",
			Suggested: map[string][]string{},
		}, nil
	}
	var active []string
	for _, k := range slices.Sorted(maps.Keys(r.filters)) {
		active = append(active, fmt.Sprintf("%s='%s'", k, r.filters[k]))
	}
	h := &Hint{
		Found:     FoundNothing,
		Message:   fmt.Sprintf("0 results found for query '%s' with filters %s.", shorten(text), strings.Join(active, ", ")),
		Suggested: map[string][]string{},
	}
	// First try the values that give results with the other filters unchanged,
	// then the values that give results on their own.
	for k := range r.filters {
		others := maps.Clone(r.filters)
		delete(others, k)
		if err := r.suggest(ctx, h, []string{k}, others); err != nil {
			return nil, err
		}
	}
	if len(h.Suggested) == 0 {
		if err := r.suggest(ctx, h, slices.Collect(maps.Keys(r.filters)), nil); err != nil {
			return nil, err
		}
	}
	if len(h.Suggested) > 0 {
		return h, nil
	}
	open := *r
	open.filters = nil
	if ranked, err := open.rank(ctx, 1); err != nil || len(ranked) == 0 {
		return h, err
	}
	h.Message += " Without filters, there are results."
	return h, nil
}

// shortened is the maximum number of bytes of a caller's text that a message
// repeats to the caller.
const shortened = 200

func shorten(s string) string {
	if cut := cutText(s, shortened); cut != s {
		return cut + "..."
	}
	return s
}

// suggest adds values of the given facets to h. These are values that hits have
// if only the given filters apply.
func (r *run) suggest(ctx context.Context, h *Hint, keys []string, filters map[string]string) error {
	open := *r
	open.filters = filters
	ranked, err := open.rank(ctx, hintPool)
	if err != nil {
		return err
	}
	distinct, byPage, err := r.pageFacets()
	if err != nil {
		return err
	}
	for _, k := range keys {
		found := map[string]bool{}
		for _, s := range ranked {
			if v := distinct[byPage[r.reader.PageOf(s.chunk)]][k]; v != "" {
				found[v] = true
			}
		}
		if len(found) > 0 {
			h.Suggested[k] = slices.Sorted(maps.Keys(found))
		}
	}
	return nil
}
