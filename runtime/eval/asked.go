package eval

import (
	"maps"
	"slices"
)

// Readers returns the names of the readers who rephrased the cases' questions;
// see Case.Asked.
func Readers(cases []Case) []string {
	readers := map[string]bool{}
	for _, c := range cases {
		for reader := range c.Asked {
			readers[reader] = true
		}
	}
	return slices.Sorted(maps.Keys(readers))
}

// AskedBy returns cases with reader's queries. Cases that reader did not rephrase
// keep their own queries.
func AskedBy(cases []Case, reader string) []Case {
	asked := slices.Clone(cases)
	for i, c := range asked {
		if query, ok := c.Asked[reader]; ok {
			asked[i].Query = query
		}
	}
	return asked
}
