package indexer

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
)

// readStrategy reads the chunking settings chunk_by, max_chunk_size and min_chunk_size
// from n. n must not be nil.
func (c *checker) readStrategy(n *node, what string) chunker.Options {
	m := c.object(n, what, "chunk_by", "max_chunk_size", "min_chunk_size")
	by, known := chunker.ParseBy(c.text(m.byName["chunk_by"], what+".chunk_by"))
	if !known {
		line := n.line
		if at := m.byName["chunk_by"]; at != nil {
			line = at.line
		}
		c.wrong(line, "%s.chunk_by must be one of h1, h2, h3, file", what)
	}
	return chunker.Options{
		By:       by,
		MaxChars: c.count(m.byName["max_chunk_size"], what+".max_chunk_size"),
		MinChars: c.count(m.byName["min_chunk_size"], what+".min_chunk_size"),
	}
}

// readMetadata reads the facet values of pages. Keys and values are non-empty strings.
func (c *checker) readMetadata(n *node, what string) map[string]string {
	m := c.object(n, what)
	values := map[string]string{}
	for _, key := range m.keys {
		k, v := strings.TrimSpace(key), c.text(m.byName[key], what+"."+shorten(key))
		if k == "" {
			c.wrong(m.lines[key], "%s has an empty key", what)
		}
		if _, text := m.byName[key].value.(string); text && v == "" {
			c.wrong(m.lines[key], "%s.%s must not be empty", what, shorten(key))
		}
		values[k] = v
	}
	return values
}

// taxonomy holds the user's facet settings by key.
type taxonomy map[string]facetSettings

// facetSettings holds the settings for a facet, without its values.
type facetSettings struct {
	description string
	collapse    bool
	properties  map[string]artifact.FacetValue
	// file and line say where the key was found first.
	file string
	line int
}

func (c *checker) readTaxonomy(n *node, file string) taxonomy {
	m := c.object(n, "taxonomy")
	t := taxonomy{}
	for _, key := range m.keys {
		what := "taxonomy." + shorten(key)
		f := c.object(m.byName[key], what, "description", "vector_collapse", "properties")
		facet := facetSettings{
			description: c.text(f.byName["description"], what+".description"),
			collapse:    c.flag(f.byName["vector_collapse"], what+".vector_collapse"),
			file:        file,
			line:        m.lines[key],
		}
		values := c.object(f.byName["properties"], what+".properties")
		for _, value := range values.keys {
			what := fmt.Sprintf("%s.properties.%s", what, shorten(value))
			v := c.object(values.byName[value], what, "mcp_resource")
			facet.set(value, artifact.FacetValue{MCPResource: c.flag(v.byName["mcp_resource"], what+".mcp_resource")})
		}
		t[strings.TrimSpace(key)] = facet
	}
	return t
}

func (f *facetSettings) set(value string, v artifact.FacetValue) {
	if f.properties == nil {
		f.properties = map[string]artifact.FacetValue{}
	}
	f.properties[value] = artifact.FacetValue{MCPResource: v.MCPResource || f.properties[value].MCPResource}
}

// add merges other into t. If the two differ, true takes precedence over false. A
// text that is already set in t is kept.
func (t taxonomy) add(other taxonomy) {
	for key, facet := range other {
		old, seen := t[key]
		if !seen {
			old = facetSettings{file: facet.file, line: facet.line}
		}
		if old.description == "" {
			old.description = facet.description
		}
		old.collapse = old.collapse || facet.collapse
		for value, v := range facet.properties {
			old.set(value, v)
		}
		t[key] = old
	}
}

// texts holds the descriptions of the server and its tools. If one is empty, the
// default applies.
type texts struct{ search, get, instructions string }

// readTexts reads mcpServerInstructions and tool_descriptions from m.
func (c *checker) readTexts(m *members) texts {
	tools := c.object(m.byName["tool_descriptions"], "tool_descriptions", "search_docs", "get_doc")
	return texts{
		search:       c.text(tools.byName["search_docs"], "tool_descriptions.search_docs"),
		get:          c.text(tools.byName["get_doc"], "tool_descriptions.get_doc"),
		instructions: c.text(m.byName["mcpServerInstructions"], "mcpServerInstructions"),
	}
}

// or returns t, with its empty strings replaced by those in other.
func (t texts) or(other texts) texts {
	return texts{
		search:       cmp.Or(t.search, other.search),
		get:          cmp.Or(t.get, other.get),
		instructions: cmp.Or(t.instructions, other.instructions),
	}
}
