package search

import (
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// collapse keeps the best of the hits that are variants of one another: the
// same section of pages whose paths differ only in the segment that is the
// value of a collapsing facet. A facet that is filtered does not collapse. It
// stops once there are want hits.
func (r *run) collapse(ranked []artifact.Scored, want int) ([]artifact.Scored, error) {
	keys := r.collapsing()
	if len(keys) == 0 {
		return ranked, nil
	}
	distinct, byPage, err := r.pageFacets()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	out := ranked[:0:0]
	for _, s := range ranked {
		if len(out) == want {
			break
		}
		path, fragment, err := r.reader.Place(s.Chunk)
		if err != nil {
			return nil, err
		}
		id, ok := variant(path, fragment, keys, distinct[byPage[r.reader.PageOf(s.Chunk)]])
		if ok {
			if seen[id] {
				continue
			}
			seen[id] = true
		}
		out = append(out, s)
	}
	return out, nil
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

// variant is the place of a chunk with the path segments that equal the page's
// values of keys replaced by "*"; ok is false if there is none.
func variant(path, fragment string, keys []string, metadata map[string]string) (_ string, ok bool) {
	segments := strings.Split(path, "/")
	for _, k := range keys {
		if i := slices.Index(segments, metadata[k]); i >= 0 && metadata[k] != "" {
			segments[i] = "*"
			ok = true
		}
	}
	return strings.Join(segments, "/") + "#" + fragment, ok
}
