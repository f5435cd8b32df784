package eval

import (
	"maps"
	"slices"
)

// Readers are those who wrote how they would ask the questions of cases, by
// name; see Case.Asked.
func Readers(cases []Case) []string {
	readers := map[string]bool{}
	for _, c := range cases {
		for reader := range c.Asked {
			readers[reader] = true
		}
	}
	return slices.Sorted(maps.Keys(readers))
}

// AskedBy returns cases with the queries that reader would send. A case that
// reader did not write keeps its own.
func AskedBy(cases []Case, reader string) []Case {
	asked := slices.Clone(cases)
	for i, c := range asked {
		if query, ok := c.Asked[reader]; ok {
			asked[i].Query = query
		}
	}
	return asked
}
