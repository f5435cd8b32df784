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
	name, ok := variant(path, fragment, v.keys, v.distinct[v.byPage[v.run.reader.PageOf(chunk)]])
	if !ok {
		return true, nil
	}
	was := v.seen[name]
	v.seen[name] = true
	return !was, nil
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

// variant is the place of a chunk without the page's values of keys; ok is false
// if the path has none.
func variant(path, fragment string, keys []string, metadata map[string]string) (_ string, ok bool) {
	segments := strings.Split(path, "/")
	words := strings.FieldsFunc(fragment, func(r rune) bool { return r == '-' || r == '/' })
	for _, k := range keys {
		value := metadata[k]
		i := slices.Index(segments, value)
		if value == "" || i < 0 {
			continue
		}
		segments[i] = "*"
		ok = true
		for i, w := range words {
			if strings.EqualFold(w, value) {
				words[i] = "*"
			}
		}
	}
	return strings.Join(segments, "/") + "#" + strings.Join(words, "-"), ok
}
