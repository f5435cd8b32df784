package search

// A corpus that documents one thing in several languages files what is true for
// all of them under this scope. The names are those of docs-mcp.
const (
	languageFacet = "language"
	scopeFacet    = "scope"
	globalGuide   = "global-guide"
)

// accepts says whether a page with these facet values passes the filters: it has
// each value that is asked for. A global guide, which is of no language, passes
// a language, too, unless a scope is asked for.
func accepts(filters, page map[string]string) bool {
	_, scoped := filters[scopeFacet]
	for key, want := range filters {
		everywhere := key == languageFacet && !scoped && page[key] == "" && page[scopeFacet] == globalGuide
		if page[key] != want && !everywhere {
			return false
		}
	}
	return true
}
