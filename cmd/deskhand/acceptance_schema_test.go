package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// schema is what the tests look at of an input schema.
type schema struct {
	Type       string
	Properties map[string]struct {
		Type, Description string
		Enum              []string
		Minimum, Maximum  *float64
		Default           json.RawMessage
	}
	Required             []string
	AdditionalProperties *bool
}

func (o tool) schema(t *testing.T) (s schema) {
	t.Helper()
	// A schema that nothing fits is written false or {"not": {}}.
	text := strings.ReplaceAll(string(o.InputSchema), `{"not":{}}`, "false")
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("schema of %s: %v in %s", o.Name, err, text)
	}
	return s
}

func TestSearchDocsSchema(t *testing.T) {
	everyDoor(t, indexed(t, acme(t, endpoints(12))), func(t *testing.T, d door) {
		search := d.tool("search_docs")
		s := search.schema(t)
		property := func(t *testing.T, name, kind, description string) {
			t.Helper()
			p, ok := s.Properties[name]
			if !ok || p.Type != kind || p.Description != description {
				t.Errorf("property %s is %+v, want a %s described %q", name, p, kind, description)
			}
		}
		d.line("D-001 tool name", func(t *testing.T, d door) {
			if search.Name != "search_docs" {
				t.Errorf("name %q", search.Name)
			}
		})
		d.line("D-002 description", func(t *testing.T, d door) {
			if want := "Search the Acme SDK docs. Use this to find relevant documentation, guides, or API references. Ask well: "; !strings.HasPrefix(search.Description, want) {
				t.Errorf("description %q, want it to begin %q", search.Description, want)
			}
		})
		d.line("D-004 closed object", func(t *testing.T, d door) {
			if s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties {
				t.Errorf("type %q, additionalProperties %v in %s", s.Type, s.AdditionalProperties, search.InputSchema)
			}
			d.refused("search_docs", `{"query":"retries","foo":1}`, "foo")
		})
		d.line("D-005 query is required", func(t *testing.T, d door) {
			if !slices.Equal(s.Required, []string{"query"}) {
				t.Errorf("required %q", s.Required)
			}
			d.refused("search_docs", `{}`, "query")
			d.refused("search_docs", `{"query":5}`, "query")
		})
		d.line("D-006 query description", func(t *testing.T, d door) {
			first, rest, _ := strings.Cut(s.Properties["query"].Description, ". ")
			if first != "The search query (e.g., 'how to paginate', 'RateLimitError')" || rest == "" {
				t.Errorf("query is described %q, %q; want the sentence of the contract and how to ask", first, rest)
			}
		})
		d.line("D-007 limit is an integer", func(t *testing.T, d door) {
			d.refused("search_docs", `{"query":"widget","limit":"5"}`, "limit", "integer")
			d.refused("search_docs", `{"query":"widget","limit":1.5}`, "limit", "integer")
		})
		d.line("D-008 limit minimum", func(t *testing.T, d door) {
			if p := s.Properties["limit"]; p.Minimum == nil || *p.Minimum != 1 {
				t.Errorf("minimum of limit %v, want 1", p.Minimum)
			}
			d.refused("search_docs", `{"query":"widget","limit":0}`, "limit", "1", "50")
			d.refused("search_docs", `{"query":"widget","limit":-1}`, "limit")
			if n := len(d.search(map[string]any{"query": "widget", "limit": 1}).Hits); n != 1 {
				t.Errorf("limit 1: %d hits", n)
			}
		})
		d.line("D-009 limit maximum", func(t *testing.T, d door) {
			if p := s.Properties["limit"]; p.Maximum == nil || *p.Maximum != 50 {
				t.Errorf("maximum of limit %v, want 50", p.Maximum)
			}
			d.refused("search_docs", `{"query":"widget","limit":51}`, "limit", "50")
			d.succeed("search_docs", `{"query":"widget","limit":50}`)
		})
		d.line("D-010 limit default", func(t *testing.T, d door) {
			property(t, "limit", "integer", "Maximum number of results to return. Default is 10.")
			if got := string(s.Properties["limit"].Default); got != "10" {
				t.Errorf("default of limit %s, want 10", got)
			}
			if n := len(d.search(map[string]any{"query": "widget"}).Hits); n != 10 {
				t.Errorf("without limit: %d hits, want 10", n)
			}
		})
		d.line("D-011 cursor description", func(t *testing.T, d door) {
			property(t, "cursor", "string", "Opaque pagination token returned from a previous search. Omit for the first page. Returns an error if invalid or malformed.")
		})
		d.line("D-012 one optional property a facet", func(t *testing.T, d door) {
			want := []string{"cursor", "language", "limit", "query", "scope"}
			var got []string
			for name := range s.Properties {
				got = append(got, name)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("properties %q, want %q", got, want)
			}
		})
		d.line("D-013 enum is what was found", func(t *testing.T, d door) {
			if got, want := s.Properties["language"].Enum, []string{"TypeScript", "go", "python"}; !slices.Equal(got, want) {
				t.Errorf("enum of language %q, want %q", got, want)
			}
		})
		d.line("D-015 no sentinels", func(t *testing.T, d door) {
			for name, p := range s.Properties {
				for _, v := range p.Enum {
					if v == "" || strings.EqualFold(v, "any") || strings.EqualFold(v, "all") {
						t.Errorf("enum of %s has %q", name, v)
					}
				}
			}
		})
		d.line("D-016 no facet is no filter", func(t *testing.T, d door) {
			seen := map[string]bool{}
			for _, h := range d.search(map[string]any{"query": "pagination cursors"}).Hits {
				seen[h.Metadata["language"]] = true
			}
			if !seen["go"] || !seen["python"] || !seen["TypeScript"] {
				t.Errorf("languages of the hits %v, want all three", seen)
			}
		})
		d.line("D-017 facet description", func(t *testing.T, d door) {
			property(t, "language", "string", "Programming language of the SDK.")
		})
		d.line("D-018 facet description by default", func(t *testing.T, d door) {
			property(t, "scope", "string", "Filter results by scope.")
		})
		d.line("D-019 value outside of the enum", func(t *testing.T, d door) {
			d.refused("search_docs", `{"query":"pagination","language":"cobol"}`, "language", "cobol", "TypeScript, go, python")
			d.refused("search_docs", `{"query":"pagination","language":"Go"}`, "language", "Allowed values")
			d.refused("search_docs", `{"query":"pagination","language":""}`, "language", "Allowed values")
			d.refused("search_docs", `{"query":"pagination","language":["go"]}`, "language")
		})
	})
}

func TestDescriptionIsReadAtEveryStart(t *testing.T) {
	t.Run("D-003 metadata.json at boot", func(t *testing.T) {
		index := indexed(t, acme(t, nil))
		path := filepath.Join(index, "metadata.json")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		edited := strings.Replace(string(b), `"corpus_description": "Acme SDK docs"`, `"corpus_description": "papers of Acme"`, 1)
		if edited == string(b) {
			t.Fatalf("metadata.json of the index has no corpus_description: %s", b)
		}
		if err := os.WriteFile(path, []byte(edited), 0o644); err != nil {
			t.Fatal(err)
		}
		want := "Search the papers of Acme. Use this to find relevant documentation, guides, or API references. "
		if got := byPipe(t, index).tool("search_docs").Description; !strings.HasPrefix(got, want) {
			t.Errorf("description after a restart %q, want it to begin %q", got, want)
		}
	})
}

func TestSchemaIsStable(t *testing.T) {
	t.Run("D-014 same bytes in every process", func(t *testing.T) {
		index := indexed(t, acme(t, nil))
		first := string(byPipe(t, index).tool("search_docs").InputSchema)
		second := string(byPipe(t, index).tool("search_docs").InputSchema)
		again := string(byPipe(t, indexed(t, acme(t, nil))).tool("search_docs").InputSchema)
		if first != second || first != again {
			t.Errorf("three starts, three schemas:\n%s\n%s\n%s", first, second, again)
		}
	})
}

func TestFacetsThatAreArguments(t *testing.T) {
	t.Run("D-020 query, limit and cursor", func(t *testing.T) {
		for _, key := range []string{"query", "limit", "cursor"} {
			corpus := acme(t, map[string]string{"guides/odd.md": "---\nmetadata: {" + key + ": x}\n---\n# Odd\n"})
			r := deskhand(t, t.TempDir(), "index", corpus, "-o", "out")
			if r.code != 1 || !strings.Contains(r.stderr, "guides/odd.md") || !strings.Contains(r.stderr, "'"+key+"'") || !strings.Contains(r.stderr, "\nhint: ") {
				t.Errorf("facet %s: exit %d, stderr %q; want 1, the file, the key and a hint", key, r.code, r.stderr)
			}
		}
		stated(t, "reference/metadata-json.md", "`query`, `limit` and `cursor` cannot be facets")
	})
}

func TestCorpusWithoutFacets(t *testing.T) {
	t.Run("D-021 query, limit and cursor alone", func(t *testing.T) {
		corpus := t.TempDir()
		write(t, corpus, map[string]string{"a.md": "# A\n\nAlone.\n"})
		s := byPipe(t, indexed(t, corpus)).tool("search_docs").schema(t)
		if len(s.Properties) != 3 || s.Properties["query"].Type == "" || s.Properties["limit"].Type == "" || s.Properties["cursor"].Type == "" {
			t.Errorf("properties %+v, want query, limit and cursor", s.Properties)
		}
	})
}

func TestGetDocSchema(t *testing.T) {
	everyDoor(t, indexed(t, acme(t, nil)), func(t *testing.T, d door) {
		get := d.tool("get_doc")
		s := get.schema(t)
		d.line("D-047 tool name", func(t *testing.T, d door) {
			if get.Name != "get_doc" {
				t.Errorf("name %q", get.Name)
			}
		})
		d.line("D-048 description", func(t *testing.T, d door) {
			want := "Retrieve the full content of a specific documentation chunk using its chunk_id. You can optionally request surrounding context within the same file."
			if get.Description != want {
				t.Errorf("description %q, want %q", get.Description, want)
			}
		})
		d.line("D-049 closed object", func(t *testing.T, d door) {
			if s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties {
				t.Errorf("type %q, additionalProperties %v in %s", s.Type, s.AdditionalProperties, get.InputSchema)
			}
			d.refused("get_doc", `{"chunk_id":"guides/glossary.md","extra":true}`, "extra")
		})
		d.line("D-050 chunk_id is required", func(t *testing.T, d door) {
			want := "The exact ID of the chunk to retrieve, as returned by search_docs (e.g., 'guides/retries.md#backoff-strategy')."
			if p := s.Properties["chunk_id"]; p.Type != "string" || p.Description != want || !slices.Equal(s.Required, []string{"chunk_id"}) {
				t.Errorf("chunk_id %+v, required %q", p, s.Required)
			}
			d.refused("get_doc", `{}`, "chunk_id")
			d.refused("get_doc", `{"chunk_id":7}`, "chunk_id")
		})
		d.line("D-051 context is an integer", func(t *testing.T, d door) {
			d.refused("get_doc", `{"chunk_id":"guides/retries.md","context":"1"}`, "context", "integer")
			d.refused("get_doc", `{"chunk_id":"guides/retries.md","context":0.5}`, "context", "integer")
		})
		d.line("D-052 context minimum", func(t *testing.T, d door) {
			if p := s.Properties["context"]; p.Minimum == nil || *p.Minimum != 0 {
				t.Errorf("minimum of context %v, want 0", p.Minimum)
			}
			d.refused("get_doc", `{"chunk_id":"guides/retries.md","context":-1}`, "context", "0", "5")
		})
		d.line("D-053 context maximum", func(t *testing.T, d door) {
			if p := s.Properties["context"]; p.Maximum == nil || *p.Maximum != 5 {
				t.Errorf("maximum of context %v, want 5", p.Maximum)
			}
			d.refused("get_doc", `{"chunk_id":"guides/retries.md","context":6}`, "context", "5")
		})
		d.line("D-054 context default", func(t *testing.T, d door) {
			want := "Number of adjacent chunks to include before and after the target chunk. Default is 0. Use this to read the surrounding file context."
			if p := s.Properties["context"]; p.Type != "integer" || p.Description != want || string(p.Default) != "0" {
				t.Errorf("context %+v", p)
			}
			if parts := parse(t, d.succeed("get_doc", `{"chunk_id":"guides/retries.md#retries/jitter"}`)); len(parts) != 1 {
				t.Errorf("without context: %d chunks, want 1", len(parts))
			}
		})
	})
}
