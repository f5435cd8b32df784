package indexer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/chunker"
)

func TestMetadataIsFoundInsideOrBesideTheCorpus(t *testing.T) {
	const about = `{"corpus_description": "Acme docs"}`
	for name, test := range map[string]struct {
		files       map[string]string // the corpus is docs
		given       string
		description string
		problems    []string
	}{
		"none":        {map[string]string{}, "", "", nil},
		"inside":      {map[string]string{"docs/metadata.json": about, "metadata.json": `{"corpus":"docs","corpus_description":"no"}`}, "", "Acme docs", nil},
		"beside":      {map[string]string{"metadata.json": `{"corpus":"./docs/","corpus_description":"Acme docs"}`}, "", "Acme docs", nil},
		"of others":   {map[string]string{"metadata.json": `{"corpus":"other","corpus_description":"no"}`}, "", "", nil},
		"of its own":  {map[string]string{"metadata.json": about}, "", "", nil},
		"given":       {map[string]string{"docs/metadata.json": `{"corpus_description":"no"}`, "my.json": about}, "my.json", "Acme docs", nil},
		"unknown":     {map[string]string{"docs/metadata.json": `{"name":"x"}`, "metadata.json": `{"corpus":"docs","corpus_description":"Acme docs"}`}, "", "Acme docs", []string{"metadata.json: not used: it has no key that describes a corpus, for example corpus_description"}},
		"an array":    {map[string]string{"docs/metadata.json": `[]`}, "", "", []string{"metadata.json: not used: it has no key that describes a corpus, for example corpus_description"}},
		"broken":      {map[string]string{"docs/metadata.json": "{\n,"}, "", "", []string{"metadata.json:2: not JSON: invalid character ','"}},
		"an artifact": {map[string]string{"docs/metadata.json": `{"corpus_description":"x","index":{}}`}, "", "", []string{"metadata.json: not used: it has no key that describes a corpus, for example corpus_description"}},
		"elsewhere":   {map[string]string{"docs/metadata.json": `{"corpus":"sub"}`}, "", "", []string{"metadata.json: not used: it describes the folder 'sub'"}},
	} {
		t.Run(name, func(t *testing.T) {
			top := corpus(t, test.files)
			put(t, top, "docs/a.md", "# A")
			o := Options{Dir: filepath.Join(top, "docs")}
			if test.given != "" {
				o.MetadataPath = filepath.Join(top, test.given)
			}
			b, err := prepare(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if b.about.description != test.description {
				t.Errorf("description = %q, want %q", b.about.description, test.description)
			}
			wantProblems(t, b.report.Problems, test.problems...)
		})
	}
}

func TestGivenMetadataMustBeUsable(t *testing.T) {
	dir := corpus(t, map[string]string{"a.md": "# A", "bad.json": "{\n]", "odd.json": `{"x":1}`})
	for name, code := range map[string]string{"missing.json": "no_metadata", "bad.json": "bad_metadata", "odd.json": "bad_metadata"} {
		_, err := Check(t.Context(), Options{Dir: dir, MetadataPath: filepath.Join(dir, name)})
		wantFault(t, err, code, name)
	}
}

func TestMetadataKeysTakeEffect(t *testing.T) {
	dir := corpus(t, map[string]string{
		"metadata.json": `{
			"metadata_version": "1.0.0",
			"corpus_description": "Acme SDK docs",
			"taxonomy": {"kind": {"description": "What it is.", "vector_collapse": true, "properties": {"guide": {"mcp_resource": true}}}},
			"mcpServerInstructions": "Ask first.",
			"tool_descriptions": {"search_docs": "Find it."},
			"folders": {"guides/": "How to.", "/": "All of it."},
			"strategy": {"chunk_by": "h1", "max_chunk_size": 100},
			"include": ["**/*.md"],
			"exclude": ["old"],
			"gitignore": true
		}`,
		".gitignore":  "ignored.md\n",
		"guides/a.md": "---\nmetadata:\n  kind: guide\n---\n# One\n\ntext\n\n## Two\n\ntext\n\n# Three\n\ntext\n",
		"guides/b.md": "---\nmetadata: {kind: reference}\n---\nB",
		"old/c.md":    "C", "d.mdx": "D", "ignored.md": "I",
	})
	out := t.TempDir()
	r, err := Build(t.Context(), Options{Dir: dir, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	wantProblems(t, r.Problems)
	m := opened(t, out).Metadata()
	if r.Files != 2 || r.Chunks != 3 || r.Metadata != "metadata.json" {
		t.Errorf("report = %+v, want 2 files cut at h1 into 3 chunks", r)
	}
	kind := m.Taxonomy["kind"]
	if m.CorpusDescription != "Acme SDK docs" || m.Instructions != "Ask first." || m.ToolDescriptions.SearchDocs != "Find it." || m.ToolDescriptions.GetDoc != "" ||
		m.Folders["guides"] != "How to." || m.Folders["."] != "All of it." ||
		kind.Description != "What it is." || !kind.VectorCollapse || strings.Join(kind.Values, " ") != "guide reference" || !kind.Properties["guide"].MCPResource {
		t.Errorf("metadata = %+v, want what metadata.json says", m)
	}
}

func TestOptionsWinOverMetadataAndManifests(t *testing.T) {
	dir := corpus(t, map[string]string{
		"metadata.json":      `{"corpus_description":"no","strategy":{"chunk_by":"h1"},"mcpServerInstructions":"about","include":["none"]}`,
		"a.md":               "# A",
		"sub/.docs-mcp.json": `{"version":"1","strategy":{"chunk_by":"file"},"mcpServerInstructions":"no","tool_descriptions":{"search_docs":"no","get_doc":"manifest"}}`,
		"sub/b.md":           "# B",
	})
	out := t.TempDir()
	o := Options{Dir: dir, Out: out, Description: "Yes", By: chunker.H3, MaxChars: 99, Include: []string{"*.md"}, SearchDescription: "search"}
	if _, err := Build(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	m := opened(t, out).Metadata()
	if m.CorpusDescription != "Yes" || m.Instructions != "about" || m.ToolDescriptions.SearchDocs != "search" || m.ToolDescriptions.GetDoc != "manifest" {
		t.Errorf("metadata = %+v, want option, then metadata.json, then manifest", m)
	}
	b, err := prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.byPath["a.md"].settings.strategy; got != (chunker.Options{By: chunker.H3, MaxChars: 99}) {
		t.Errorf("strategy without a manifest = %+v, want that of the options", got)
	}
	if got := b.byPath["sub/b.md"].settings.strategy; got != (chunker.Options{By: chunker.File}) {
		t.Errorf("strategy under a manifest = %+v, want the manifest's", got)
	}
}

func TestMetadataMistakesAreReportedAndTheRestIsUsed(t *testing.T) {
	dir := corpus(t, map[string]string{"a.md": "# A", "metadata.json": `{
"corpus_description": 5,
"corpus": "/abs",
"folders": {"nowhere": "x", "b": 7},
"strategy": {"chunk_by": "h9"},
"exclude": ["[", 3, "b.md"],
"gitignore": "yes",
"typo": 1,
"taxonomy": {"kind": {"values": ["x"]}},
"mcpServerInstructions": " kept "}`})
	r, err := Check(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	wantProblems(t, r.Problems,
		"metadata.json:2: corpus_description must be a string",
		"metadata.json:3: corpus must be relative to this file's folder",
		"metadata.json:4: folders.b must be a string",
		"metadata.json:4: folders: there is no page in 'nowhere'",
		"metadata.json:5: strategy.chunk_by must be one of h1, h2, h3, file",
		"metadata.json:6: exclude must be a string",
		"metadata.json:6: exclude: a glob must not be empty",
		"metadata.json:6: exclude: glob '[' has an unclosed bracket or brace",
		"metadata.json:7: gitignore must be true or false",
		"metadata.json:8: metadata.json has the unknown key 'typo'; valid keys are metadata_version, $schema, corpus_description, corpus, taxonomy, tool_descriptions, mcpServerInstructions, folders, strategy, include, exclude, gitignore, phrases",
		"metadata.json:9: taxonomy config key 'kind' does not match any chunk metadata",
		"metadata.json:9: taxonomy.kind has the unknown key 'values'; valid keys are description, vector_collapse, properties")
}

func TestFindReadsTheCorpusOfAFolder(t *testing.T) {
	for name, test := range map[string]struct{ metadata, corpus string }{
		"named":     {`{"corpus": "docs"}`, "docs"},
		"not named": {`{"corpus_description": "x"}`, "."},
	} {
		t.Run(name, func(t *testing.T) {
			dir := corpus(t, map[string]string{"metadata.json": test.metadata})
			got, file, err := Find(dir)
			if want := filepath.Join(dir, test.corpus); got != want || file != filepath.Join(dir, "metadata.json") || err != nil {
				t.Errorf("Find = %q, %q, %v; want %q", got, file, err, want)
			}
		})
	}
	for name, metadata := range map[string]string{"not JSON": "{", "another's": `{"name":"x"}`, "artifact's": `{"corpus_description":"x","index":{}}`} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Find(corpus(t, map[string]string{"metadata.json": metadata}))
			wantFault(t, err, "no_corpus", "does not describe a corpus")
		})
	}
	_, _, err := Find(t.TempDir())
	wantFault(t, err, "no_corpus", "does not exist")
}

func TestBuildRefusesToOverwriteItsInput(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"of a corpus":           {"metadata.json": `{"corpus_description": "mine"}`},
		"with a typo":           {"metadata.json": `{"corpus_description": "mine",}`},
		"empty":                 {"metadata.json": ""},
		"of somebody else":      {"metadata.json": `["mine"]`, "index-0123456789abcdef.idx": ""},
		"a typo, another index": {"metadata.json": `{"corpus_description": "mine",}`, "index-1.idx": "", "index.idx": ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := corpus(t, files)
			put(t, dir, "a.md", "# A")
			_, err := Build(t.Context(), Options{Dir: dir, Out: dir})
			wantFault(t, err, "out_is_input", "metadata.json was not written by a build")
			if got, _ := os.ReadFile(filepath.Join(dir, "metadata.json")); string(got) != files["metadata.json"] {
				t.Errorf("metadata.json = %.80q, want it untouched", got)
			}
		})
	}
}

func TestBuildReplacesAnArtifactThatCannotBeRead(t *testing.T) {
	dir := corpus(t, map[string]string{"a.md": "# A"})
	for name, metadata := range map[string]string{"cut off": `{"metadata_version": "1`, "zeroed": "\x00\x00", "empty": ""} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			built(t, Options{Dir: dir, Out: out})
			put(t, out, "metadata.json", metadata)
			built(t, Options{Dir: dir, Out: out})
			opened(t, out)
		})
	}
}

func TestProblemsOfOneLineComeInOneOrder(t *testing.T) {
	dir := corpus(t, map[string]string{
		"a.md":            "# A",
		"metadata.json":   `{"folders": {"n": "", "f": "x", "e": "x", "d": "x", "c": "x", "b": "x"}}`,
		"p.template.yaml": "{f: 1, e: 1, d: 1, c: 1, b: 1, messages: [{role: user, content: x}]}",
	})
	var first []Problem
	for range 10 {
		r, err := Check(t.Context(), Options{Dir: dir})
		if err != nil || len(r.Problems) != 10 {
			t.Fatalf("Check = %+v, %v; want 10 problems", r, err)
		}
		if first == nil {
			first = r.Problems
		}
		if !slices.Equal(r.Problems, first) {
			t.Fatalf("problems = %v\nbefore %v", r.Problems, first)
		}
	}
}
