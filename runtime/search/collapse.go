package search

import (
	"slices"
	"strings"
)

// variants knows the sections met so far, each by what it has in common with its
// variants: the same section of pages that differ only in the value of a
// collapsing facet, as a segment of the path and as words of the headings
// ("retries-in-go"). A facet that is filtered does not collapse.
type variants struct {
	run      *run
	keys     []string
	distinct []map[string]string
	byPage   []int32
	seen     map[string]bool
	// Working memory of variant.
	segments, words [][]byte
	name            []byte
}

func (r *run) variants() (*variants, error) {
	v := &variants{run: r, keys: r.collapsing(), seen: map[string]bool{}}
	if len(v.keys) == 0 {
		return v, nil
	}
	var err error
	v.distinct, v.byPage, err = r.pageFacets()
	return v, err
}

// first says whether a chunk is the first of its variants.
func (v *variants) first(chunk int) (bool, error) {
	if len(v.keys) == 0 {
		return true, nil
	}
	path, fragment, err := v.run.reader.Place(chunk)
	if err != nil {
		return false, err
	}
	if !v.variant(path, fragment, v.distinct[v.byPage[v.run.reader.PageOf(chunk)]]) {
		return true, nil
	}
	if v.seen[string(v.name)] {
		return false, nil
	}
	v.seen[string(v.name)] = true
	return true, nil
}

// collapsing are the facets that collapse in this query, sorted.
func (r *run) collapsing() []string {
	var keys []string
	for k, facet := range r.reader.Metadata().Taxonomy {
		if _, filtered := r.filters[k]; facet.VectorCollapse && !filtered {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

var anyValue = []byte("*")

// variant makes v.name the place of a chunk without the page's values of the
// keys; it returns false if the path has none.
func (v *variants) variant(path, fragment []byte, metadata map[string]string) (ok bool) {
	v.segments = appendSplit(v.segments[:0], path, '/', '/')
	v.words = appendSplit(v.words[:0], fragment, '-', '/')
	v.words = slices.DeleteFunc(v.words, func(w []byte) bool { return len(w) == 0 })
	for _, k := range v.keys {
		value := metadata[k]
		i := slices.IndexFunc(v.segments, func(s []byte) bool { return string(s) == value })
		if value == "" || i < 0 {
			continue
		}
		v.segments[i] = anyValue
		ok = true
		for i, w := range v.words {
			if strings.EqualFold(string(w), value) {
				v.words[i] = anyValue
			}
		}
	}
	v.name = appendJoined(v.name[:0], v.segments, '/')
	v.name = append(v.name, '#')
	v.name = appendJoined(v.name, v.words, '-')
	return ok
}

// appendSplit appends the pieces of s between two separators.
func appendSplit(pieces [][]byte, s []byte, one, other byte) [][]byte {
	from := 0
	for i, c := range s {
		if c == one || c == other {
			pieces = append(pieces, s[from:i])
			from = i + 1
		}
	}
	return append(pieces, s[from:])
}

func appendJoined(b []byte, pieces [][]byte, separator byte) []byte {
	for i, p := range pieces {
		if i > 0 {
			b = append(b, separator)
		}
		b = append(b, p...)
	}
	return b
}
