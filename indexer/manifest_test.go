package indexer

import (
	"maps"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/chunker"
)

func TestManifestSettings(t *testing.T) {
	const src = `{
		"version": "1",
		"strategy": {"chunk_by": "h1", "max_chunk_size": 500, "min_chunk_size": 50},
		"metadata": {" language ": " go ", "scope": "all"},
		"overrides": [
			{"pattern": "**/*.md", "metadata": {"level": "any"}},
			{"pattern": "api/**", "strategy": {"chunk_by": "h3"}, "metadata": {"scope": "api"}},
			{"pattern": "./api/.dot/*.md", "strategy": {"chunk_by": "file", "max_chunk_size": 9}},
			{"pattern": "*.mdx", "metadata": {"level": "top"}}
		]
	}`
	m, problems := parseManifest("docs/.docs-mcp.json", []byte(src))
	wantProblems(t, problems)
	h1 := chunker.Options{By: chunker.H1, MaxChars: 500, MinChars: 50}
	for file, want := range map[string]settings{
		"docs/a.md":          {h1, map[string]string{"language": "go", "scope": "all", "level": "any"}},
		"docs/a.mdx":         {h1, map[string]string{"language": "go", "scope": "all", "level": "top"}},
		"docs/api/b.md":      {chunker.Options{By: chunker.H3}, map[string]string{"language": "go", "scope": "api", "level": "any"}},
		"docs/api/deep/b.md": {chunker.Options{By: chunker.H3}, map[string]string{"language": "go", "scope": "api", "level": "any"}},
		"docs/api/.dot/c.md": {chunker.Options{By: chunker.File, MaxChars: 9}, map[string]string{"language": "go", "scope": "api", "level": "any"}},
	} {
		got := m.settings(file, chunker.Options{By: chunker.H2})
		if got.strategy != want.strategy || !maps.Equal(got.metadata, want.metadata) {
			t.Errorf("settings(%q) = %+v, want %+v", file, got, want)
		}
	}
	if m.metadata["scope"] != "all" {
		t.Errorf("an override changed the manifest's own metadata: %v", m.metadata)
	}
}

func TestManifestWithoutStrategyLeavesTheDefaults(t *testing.T) {
	defaults := chunker.Options{By: chunker.H3, MaxChars: 7}
	m, problems := parseManifest(manifestFile, []byte("\uFEFF"+`{"version":"1","$schema":"x"}`))
	wantProblems(t, problems)
	if got := m.settings("a.md", defaults).strategy; got != defaults {
		t.Errorf("strategy = %+v, want %+v", got, defaults)
	}
	var none *manifest
	if got := none.settings("a.md", defaults).strategy; got != defaults {
		t.Errorf("strategy without a manifest = %+v, want %+v", got, defaults)
	}
}

func TestBadManifestSaysNothing(t *testing.T) {
	for name, test := range map[string]struct{ src, want string }{
		"no JSON":          {"{\n \"version\": \"1\",\n oops}", ":3: not JSON: invalid character 'o'"},
		"cut off":          {"{\"version\":", ":1: not JSON: it ends too early"},
		"empty":            {"", ":1: not JSON: it ends too early"},
		"two values":       {"{}\n{}", ":2: there is text after the end of the JSON value"},
		"not an object":    {"[]", ":1: manifest must be an object"},
		"no version":       {"{}", ":1: manifest.version must be '1'"},
		"version number":   {`{"version": 1}`, ":1: manifest.version must be '1'"},
		"version 2":        {"{\n\n\"version\": \"2\"}", ":3: manifest.version must be '1'"},
		"chunk_by":         {"{\"version\":\"1\",\n\"strategy\":{\n\"chunk_by\":\"h4\"}}", ":3: strategy.chunk_by must be one of h1, h2, h3, file"},
		"no chunk_by":      {"{\"version\":\"1\",\n\"strategy\":{}}", ":2: strategy.chunk_by must be one of h1, h2, h3, file"},
		"size zero":        {`{"version":"1","strategy":{"chunk_by":"h2","max_chunk_size":0}}`, ":1: strategy.max_chunk_size must be a positive integer"},
		"size fraction":    {`{"version":"1","strategy":{"chunk_by":"h2","min_chunk_size":1.5}}`, ":1: strategy.min_chunk_size must be a positive integer"},
		"size text":        {`{"version":"1","strategy":{"chunk_by":"h2","min_chunk_size":"9"}}`, ":1: strategy.min_chunk_size must be a positive integer"},
		"metadata number":  {"{\"version\":\"1\",\"metadata\":{\n\"year\": 2024}}", ":2: metadata.year must be a string"},
		"metadata empty":   {`{"version":"1","metadata":{"a":"  "}}`, ":1: metadata.a must not be empty"},
		"metadata no key":  {`{"version":"1","metadata":{" ":"x"}}`, ":1: metadata has an empty key"},
		"override text":    {`{"version":"1","overrides":["x"]}`, ":1: override must be an object"},
		"override glob":    {"{\"version\":\"1\",\"overrides\":[\n{\"pattern\":\"[a\"}]}", ":2: override.pattern: glob '[a' has an unclosed bracket or brace"},
		"overrides object": {`{"version":"1","overrides":{}}`, ":1: overrides must be an array"},
		"collapse":         {`{"version":"1","taxonomy":{"a":{"vector_collapse":"yes"}}}`, ":1: taxonomy.a.vector_collapse must be true or false"},
		"instructions":     {`{"version":"1","mcpServerInstructions":[]}`, ":1: mcpServerInstructions must be a string"},
		"too deep":         {`{"version":` + strings.Repeat("[", 100000), ":1: nested more than 64 levels deep"},
	} {
		t.Run(name, func(t *testing.T) {
			m, problems := parseManifest("d/.docs-mcp.json", []byte(test.src))
			if len(problems) == 0 || !strings.Contains(problems[0].String(), "d/.docs-mcp.json"+test.want) {
				t.Errorf("problems = %v, want %q", problems, test.want)
			}
			if m.strategy != nil || len(m.metadata)+len(m.overrides)+len(m.taxonomy) > 0 || m.folder != "d" {
				t.Errorf("manifest = %+v, want one that says nothing", m)
			}
		})
	}
}

func TestManifestWarnsOfUnknownKeysAndKeepsTheRest(t *testing.T) {
	m, problems := parseManifest(manifestFile, []byte("{\"version\":\"1\",\n\"metdata\":{},\n\"metadata\":{\"a\":\"b\"}}"))
	wantProblems(t, problems, ".docs-mcp.json:2: manifest has the unknown key 'metdata'; valid keys are version, strategy, metadata, overrides, taxonomy, mcpServerInstructions, tool_descriptions, $schema")
	if m.metadata["a"] != "b" {
		t.Errorf("metadata = %v, want a: b", m.metadata)
	}
}

func TestNearestManifestDecidesAlone(t *testing.T) {
	dir := corpus(t, map[string]string{
		".docs-mcp.json":       `{"version":"1","strategy":{"chunk_by":"h1"},"metadata":{"area":"top"},"taxonomy":{"area":{"vector_collapse":true}},"mcpServerInstructions":"first"}`,
		"a.md":                 "# a",
		"sub/.docs-mcp.json":   `{"version":"1","metadata":{"kind":"sub"},"taxonomy":{"kind":{"description":"what kind","properties":{"sub":{"mcp_resource":true}}}},"mcpServerInstructions":"second","tool_descriptions":{"get_doc":"get"}}`,
		"sub/b.md":             "# b",
		"sub/deep/c.md":        "# c",
		"bad/.docs-mcp.json":   `{"version":"0"}`,
		"bad/d.md":             "# d",
		"empty/.docs-mcp.json": `{"version":"1","mcpServerInstructions":"governs no file","taxonomy":{"ghost":{}}}`,
	})
	b, err := prepare(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]settings{
		"a.md":          {chunker.Options{By: chunker.H1}, map[string]string{"area": "top"}},
		"sub/b.md":      {chunker.Options{By: chunker.H2}, map[string]string{"kind": "sub"}},
		"sub/deep/c.md": {chunker.Options{By: chunker.H2}, map[string]string{"kind": "sub"}},
		"bad/d.md":      {chunker.Options{By: chunker.H2}, nil},
	} {
		if got := b.byPath[file].settings; got.strategy != want.strategy || !maps.Equal(got.metadata, want.metadata) {
			t.Errorf("settings of %s = %+v, want %+v", file, got, want)
		}
	}
	if b.texts.instructions != "first" || b.texts.get != "get" {
		t.Errorf("texts = %+v, want the first in file order of each", b.texts)
	}
	if _, ghost := b.taxonomy["ghost"]; ghost || !b.taxonomy["area"].collapse || b.taxonomy["kind"].description != "what kind" {
		t.Errorf("taxonomy = %+v, want area collapsed, kind described, nothing of a manifest without files", b.taxonomy)
	}
	wantProblems(t, b.report.Problems, "bad/.docs-mcp.json:1: manifest.version must be '1'")
}

func TestTaxonomiesUnite(t *testing.T) {
	a, _ := parseManifest("a", []byte(`{"version":"1","taxonomy":{"k":{"description":"one","properties":{"x":{"mcp_resource":true}}}}}`))
	b, _ := parseManifest("b", []byte(`{"version":"1","taxonomy":{"k":{"description":"two","vector_collapse":true,"properties":{"x":{"mcp_resource":false},"y":{"mcp_resource":true}}}}}`))
	all := taxonomy{}
	all.add(a.taxonomy)
	all.add(b.taxonomy)
	k := all["k"]
	if k.description != "one" || !k.collapse || !k.properties["x"].MCPResource || !k.properties["y"].MCPResource || k.file != "a" {
		t.Errorf("united = %+v, want first description, true everywhere", k)
	}
	if len(a.taxonomy["k"].properties) != 1 {
		t.Errorf("uniting changed the first manifest: %+v", a.taxonomy)
	}
}

func FuzzManifest(f *testing.F) {
	for _, seed := range []string{
		`{"version":"1","strategy":{"chunk_by":"h2"},"metadata":{"a":"b"},"overrides":[{"pattern":"{a,b}/**","metadata":{"c":"d"}}]}`,
		`{"version":"1","taxonomy":{"a":{"properties":{"x":{"mcp_resource":true}}}}}`, "[", "{\"a\"", "\uFEFFnull", `{"version":"1","overrides":[{"pattern":"**/*[!a]?"}]}`,
	} {
		f.Add([]byte(seed), "a/b.md")
	}
	f.Fuzz(func(t *testing.T, src []byte, file string) {
		m, problems := parseManifest(manifestFile, src)
		m.settings(file, chunker.Options{})
		for _, p := range problems {
			if p.Line < 1 || p.Reason == "" {
				t.Errorf("parseManifest(%q): problem %+v, want a line and a reason", src, p)
			}
		}
		parseAbout("metadata.json", src)
	})
}
