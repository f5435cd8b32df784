package searchpage

import (
	"encoding/json"
	"net/url"
	"slices"

	"github.com/deskhand/deskhand/runtime/contract"
)

// facet is a menu for one facet.
type facet struct {
	Name, Help string
	Chosen     string // chosen value; empty for any value
	Choices    []choice
}

// facets returns menus for the arguments of search_docs that have a list of
// allowed values (enum). The menus are sorted by name.
func facets(search contract.Tool, asked url.Values) []facet {
	var schema struct {
		Properties map[string]struct {
			Description string
			Enum        []string
		}
	}
	if json.Unmarshal(search.Input, &schema) != nil {
		return nil // without a list of values, there is no menu
	}
	var menus []facet
	for name, property := range schema.Properties {
		if len(property.Enum) == 0 {
			continue
		}
		// If a value no longer exists, it is passed to the tool anyway, because
		// the tool's error lists the valid values.
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
