package searchpage

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
)

// facet is a menu for one facet.
type facet struct {
	Name, Help string
	Chosen     string // chosen value; empty for any value
	Choices    []choice
	// Typed is set for a field to type into, which suggests the choices: a menu of more
	// libraries than a schema lists would be too long.
	Typed bool
}

// facets returns menus for the arguments of search_docs that have a list of
// allowed values (enum). The menus are sorted by name.
//
// If the schema has an argument library without a list, it becomes a field that suggests
// the given libraries.
func facets(search contract.Tool, libraries []string, asked url.Values) []facet {
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
		if name == "library" && len(property.Enum) == 0 {
			f := facet{Name: name, Help: property.Description, Chosen: strings.TrimSpace(asked.Get(name)), Typed: true}
			for _, library := range libraries {
				f.Choices = append(f.Choices, choice{Value: library})
			}
			menus = append(menus, f)
			continue
		}
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
