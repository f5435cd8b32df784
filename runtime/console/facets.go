package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/text"
)

// ReadBy parses --by.
func ReadBy(given string) (search.By, error) {
	by := search.By(given)
	if by != search.Both && by != search.Words && by != search.Meaning {
		return "", fault.Misuse(fmt.Sprintf("unknown --by %q", given), "use words, meaning or both")
	}
	return by, nil
}

// ReadFacets parses the values of --facet, each key=value.
func ReadFacets(given []string) (map[string]string, error) {
	filters := map[string]string{}
	for _, facet := range given {
		k, v, ok := strings.Cut(facet, "=")
		if !ok {
			return nil, fault.Misuse(fmt.Sprintf("--facet %q has no value", facet), "write it as key=value")
		}
		if _, twice := filters[k]; twice {
			return nil, fault.Misuse(fmt.Sprintf("facet '%s' is given twice", k), "remove one: a page has only one value for each facet")
		}
		filters[k] = v
	}
	return filters, nil
}

// CheckFacets returns an error if the index does not have one of the facets or
// values.
func CheckFacets(filters map[string]string, taxonomy map[string]artifact.Facet) error {
	for _, k := range slices.Sorted(maps.Keys(filters)) {
		v, has := filters[k], taxonomy[k].Values
		if len(taxonomy) == 0 {
			return fault.Misuse(fmt.Sprintf("there is no facet '%s'; this index has no facets", k), "omit --facet, or add metadata to the pages and rebuild the index")
		}
		if _, known := taxonomy[k]; !known {
			keys := slices.Sorted(maps.Keys(taxonomy))
			return fault.Misuse(fmt.Sprintf("there is no facet '%s'; the facets are %s", k, text.Some(keys, 30)), oneOfThese(text.Nearest(k, keys)))
		}
		if !slices.Contains(has, v) {
			return fault.Misuse(fmt.Sprintf("facet '%s' has no value '%s'; its values are %s", k, v, text.Some(has, 30)), oneOfThese(text.Nearest(v, has)))
		}
	}
	return nil
}

func oneOfThese(near string) string {
	if near != "" {
		return "did you mean '" + near + "'?"
	}
	return "use one of these, or omit --facet"
}
