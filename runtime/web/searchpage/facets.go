package searchpage

import (
	"encoding/json"
	"net/url"
	"slices"

	"github.com/deskhand/deskhand/runtime/contract"
)

// facet is one menu.
type facet struct {
	Name, Help string
	Chosen     string // empty: any
	Choices    []choice
}

// facets are the arguments of search_docs that take one of a list, in the order
// of its schema.
func facets(search contract.Tool, asked url.Values) []facet {
	var schema struct {
		Properties map[string]struct {
			Description string
			Enum        []string
		}
	}
	if json.Unmarshal(search.Input, &schema) != nil {
		return nil // what has no list is no menu
	}
	var menus []facet
	for name, property := range schema.Properties {
		if len(property.Enum) == 0 {
			continue
		}
		// A value that is no longer there is passed on all the same: the tool says
		// what there is.
		f := facet{Name: name, Help: property.Description, Chosen: asked.Get(name)}
		f.Choices = menu(property.Enum, f.Chosen, "")
		menus = append(menus, f)
	}
	slices.SortFunc(menus, func(a, b facet) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return menus
}
