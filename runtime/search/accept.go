package search

// A corpus that documents the same thing in several languages files the
// language-independent pages under this scope. The names are those of docs-mcp.
const (
	languageFacet = "language"
	scopeFacet    = "scope"
	globalGuide   = "global-guide"
)

// accepts reports whether a page with these facet values passes the filters, that
// is, has each requested value. A global guide, which has no language, also passes
// a language filter unless the query filters by scope.
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
