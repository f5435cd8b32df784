package indexer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/artifact"
)

func TestFacetsOfAPage(t *testing.T) {
	dir := corpus(t, map[string]string{
		".docs-mcp.json": `{"version":"1","metadata":{"language":"go","kind":"guide"},"overrides":[{"pattern":"api/*","metadata":{"kind":"reference"}}]}`,
		"a.md":           "# A",
		"b.md":           "---\nmetadata: {language: TypeScript}\nmcp_metadata: {kind: note}\n---\n# B",
		"api/c.md":       "# C",
	})
	out := t.TempDir()
	if _, err := Build(t.Context(), Options{Dir: dir, Out: out}); err != nil {
		t.Fatal(err)
	}
	r := opened(t, out)
	want := map[string]string{"a.md": "map[kind:guide language:go]", "b.md": "map[kind:note language:TypeScript]", "api/c.md": "map[kind:reference language:go]"}
	for i := range r.Pages() {
		p, err := r.Page(i)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.Metadata); got != want[p.Path] {
			t.Errorf("metadata of %s = %s, want %s", p.Path, got, want[p.Path])
		}
	}
	for key, want := range map[string]string{"language": "[TypeScript go]", "kind": "[guide note reference]"} {
		if got := fmt.Sprint(r.Metadata().Taxonomy[key].Values); got != want {
			t.Errorf("values of %s = %s, want %s", key, got, want)
		}
	}
}

func TestTaxonomyKeyWithoutPagesIsReported(t *testing.T) {
	dir := corpus(t, map[string]string{
		".docs-mcp.json": "{\"version\":\"1\",\n\"metadata\":{\"kind\":\"guide\"},\n\"taxonomy\":{\n\"ghost\":{\"vector_collapse\":true},\n\"kind\":{\"properties\":{\"guid\":{\"mcp_resource\":true}}}}}",
		"a.md":           "# A",
	})
	r, err := Check(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	wantProblems(t, r.Problems,
		".docs-mcp.json:4: taxonomy config key 'ghost' does not match any chunk metadata",
		".docs-mcp.json:5: taxonomy.kind.properties: no page has the value 'guid'")
}

func TestReservedFacetIsRefusedNamingTheFile(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"front matter": {map[string]string{"b.md": "---\nmetadata: {query: x}\n---\nB", "c.md": "---\nmetadata: {query: a}\n---\nC", "a.md": "A"}, "b.md: metadata key 'query'"},
		"manifest":     {map[string]string{"sub/.docs-mcp.json": `{"version":"1","metadata":{"limit":"x"}}`, "sub/a.md": "A"}, "sub/.docs-mcp.json: metadata key 'limit'"},
		"override":     {map[string]string{".docs-mcp.json": `{"version":"1","overrides":[{"pattern":"*","metadata":{"cursor":"x"}}]}`, "a.md": "A"}, ".docs-mcp.json: metadata key 'cursor'"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := corpus(t, test.files)
			_, err := Check(t.Context(), Options{Dir: dir})
			wantFault(t, err, "reserved_facet", test.want)
			_, err = Build(t.Context(), Options{Dir: dir, Out: t.TempDir()})
			wantFault(t, err, "reserved_facet", test.want)
		})
	}
}

func TestFacetLimits(t *testing.T) {
	values := facetValues{}
	for i := range artifact.MaxFacets + 2 {
		values.add("many.md", map[string]string{fmt.Sprintf("key%03d", i): "v"})
	}
	for i := range artifact.MaxFacetValues + 3 {
		values.add(fmt.Sprintf("v%03d.md", i), map[string]string{"key000": fmt.Sprintf("value%03d", i)})
	}
	values.add("long.md", map[string]string{strings.Repeat("k", artifact.MaxFacetKey+1): "v", "key001": strings.Repeat("ä", artifact.MaxFacetValue+1), "a b": "v"})
	values.add("fits.md", map[string]string{"key001": strings.Repeat("ä", artifact.MaxFacetValue)})
	facets, problems := values.facets(nil)
	if n := len(facets); n != artifact.MaxFacets {
		t.Errorf("%d facets, want %d", n, artifact.MaxFacets)
	}
	if n := len(facets["key000"].Values); n != artifact.MaxFacetValues {
		t.Errorf("%d values, want %d", n, artifact.MaxFacetValues)
	}
	if n := len(facets["key001"].Values); n != 2 {
		t.Errorf("%d values of key001, want 2: %q", n, facets["key001"].Values)
	}
	wantProblems(t, problems,
		"long.md: metadata key 'a b' contains characters other than letters, digits, '_', '.' and '-'; it is not offered as a filter",
		"v511.md: metadata 'key000' has 516 values; the values from 'value511' on exceed the limit of 512 and are not offered as filters",
		"long.md: metadata 'key001' has a value longer than 128 characters; it is not offered as a filter",
		"many.md: metadata key 'key064' exceeds the limit of 64 filterable keys; it is not offered as a filter",
		"many.md: metadata key 'key065' exceeds the limit of 64 filterable keys; it is not offered as a filter",
		"long.md: metadata key '"+strings.Repeat("k", 65)+"' is longer than 64 characters; it is not offered as a filter")
}
