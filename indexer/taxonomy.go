package indexer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
)

// facetKey matches a key that can be the name of a tool argument. If a name contains
// any other character, model APIs reject the whole tool.
var facetKey = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// facetValues collects the metadata of the pages. It maps each key and value to the
// first page that has the value.
type facetValues map[string]map[string]string

func (f facetValues) add(page string, metadata map[string]string) {
	for key, value := range metadata {
		if f[key] == nil {
			f[key] = map[string]string{}
		}
		if first, seen := f[key][value]; !seen || page < first {
			f[key][value] = page
		}
	}
}

// first returns the first page that has key.
func (f facetValues) first(key string) string {
	return slices.Min(slices.Collect(maps.Values(f[key])))
}

// refuseReserved returns fault "reserved_facet" if a page has a metadata key with the
// name of a search_docs argument. The function source returns the file in which the
// user can fix this.
func (f facetValues) refuseReserved(source func(page, key string) string) error {
	for _, key := range artifact.ReservedFacets {
		if len(f[key]) > 0 {
			return fault.New("reserved_facet",
				fmt.Sprintf("%s: metadata key '%s' has the same name as an argument of search_docs", source(f.first(key), key), key),
				fmt.Sprintf("rename the key, for example to 'doc_%s'", key))
		}
	}
	return nil
}

// facets combines the values from the pages and the user's settings into the
// artifact's facets. If a key or value cannot be a facet, this is a problem, but the
// pages keep their metadata.
func (f facetValues) facets(t taxonomy) (map[string]artifact.Facet, []Problem) {
	facets := map[string]artifact.Facet{}
	var problems []Problem
	for _, key := range slices.Sorted(maps.Keys(f)) {
		reason := ""
		switch {
		case utf8.RuneCountInString(key) > artifact.MaxFacetKey:
			reason = fmt.Sprintf("metadata key '%s' is longer than %d characters", shorten(key), artifact.MaxFacetKey)
		case !facetKey.MatchString(key):
			reason = fmt.Sprintf("metadata key '%s' contains characters other than letters, digits, '_', '.' and '-'", key)
		case len(facets) == artifact.MaxFacets:
			reason = fmt.Sprintf("metadata key '%s' exceeds the limit of %d filterable keys", key, artifact.MaxFacets)
		}
		if reason != "" {
			problems = append(problems, Problem{f.first(key), 0, reason + "; it is not offered as a filter"})
			continue
		}
		values, more := f.values(key)
		problems = append(problems, more...)
		if len(values) == 0 {
			continue
		}
		facet, more := t[key].facet(key, values)
		facets[key] = facet
		problems = append(problems, more...)
	}
	for _, key := range slices.Sorted(maps.Keys(t)) {
		if len(f[key]) == 0 {
			problems = append(problems, Problem{t[key].file, t[key].line, fmt.Sprintf("taxonomy config key '%s' does not match any chunk metadata", shorten(key))})
		}
	}
	return facets, problems
}

// values returns, sorted, the values for key that can be offered as filters.
func (f facetValues) values(key string) ([]string, []Problem) {
	var offered []string
	var problems []Problem
	for _, value := range slices.Sorted(maps.Keys(f[key])) {
		if utf8.RuneCountInString(value) > artifact.MaxFacetValue {
			problems = append(problems, Problem{f[key][value], 0, fmt.Sprintf("metadata '%s' has a value longer than %d characters; it is not offered as a filter", key, artifact.MaxFacetValue)})
			continue
		}
		offered = append(offered, value)
	}
	if n := len(offered); n > artifact.MaxFacetValues {
		problems = append(problems, Problem{f[key][offered[artifact.MaxFacetValues]], 0, fmt.Sprintf("metadata '%s' has %d values; the values from '%s' on exceed the limit of %d and are not offered as filters", key, n, shorten(offered[artifact.MaxFacetValues]), artifact.MaxFacetValues)})
		offered = offered[:artifact.MaxFacetValues]
	}
	return offered, problems
}

// facet returns a facet with the settings s and the given values.
func (s facetSettings) facet(key string, values []string) (artifact.Facet, []Problem) {
	f := artifact.Facet{Description: s.description, Values: values, VectorCollapse: s.collapse}
	var problems []Problem
	for _, value := range slices.Sorted(maps.Keys(s.properties)) {
		if !slices.Contains(values, value) {
			problems = append(problems, Problem{s.file, s.line, fmt.Sprintf("taxonomy.%s.properties: no page has the value '%s'", key, shorten(value))})
			continue
		}
		if f.Properties == nil {
			f.Properties = map[string]artifact.FacetValue{}
		}
		f.Properties[value] = s.properties[value]
	}
	return f, problems
}
