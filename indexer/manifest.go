package indexer

import (
	"errors"
	"maps"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/deskhand/deskhand/chunker"
)

// manifestFile is the name of a manifest. Only the nearest manifest in a file's
// folder or its parents applies. It inherits nothing from manifests further up.
const manifestFile = ".docs-mcp.json"

// manifest configures how the files in a folder are split, and sets their
// metadata.
type manifest struct {
	file      string // relative to the corpus
	folder    string // folder of the file, or "." for the root
	strategy  *chunker.Options
	metadata  map[string]string
	overrides []override
	taxonomy  taxonomy
	texts     texts
}

// override replaces settings for the files that its glob matches.
type override struct {
	glob     string // relative to the manifest's folder
	strategy *chunker.Options
	metadata map[string]string
}

// settings holds a page's chunking strategy and metadata.
type settings struct {
	strategy chunker.Options
	metadata map[string]string // must not be modified, because pages share it
}

// parseManifest reads the manifest at file. If it contains an error, the returned
// manifest is empty. Warnings do not affect it.
func parseManifest(file string, src []byte) (*manifest, []Problem) {
	empty := &manifest{file: file, folder: path.Dir(file)}
	root, err := parseJSON(src)
	if at := new(lineError); errors.As(err, &at) {
		return empty, []Problem{{file, at.line, at.reason}}
	}
	c := new(checker)
	m := c.readManifest(root, file)
	m.file, m.folder = empty.file, empty.folder
	if len(c.errors) > 0 {
		m = empty
	}
	return m, c.problems(file)
}

func (c *checker) readManifest(root *node, file string) *manifest {
	top := c.object(root, "manifest", "version", "strategy", "metadata", "overrides", "taxonomy",
		"mcpServerInstructions", "tool_descriptions", "$schema")
	if v := top.byName["version"]; v == nil {
		c.wrong(root.line, "manifest.version must be '1'")
	} else if v.value != "1" {
		c.wrong(v.line, "manifest.version must be '1'")
	}
	m := &manifest{
		metadata: c.readMetadata(top.byName["metadata"], "metadata"),
		taxonomy: c.readTaxonomy(top.byName["taxonomy"], file),
		texts:    c.readTexts(top),
	}
	if n := top.byName["strategy"]; n != nil {
		s := c.readStrategy(n, "strategy")
		m.strategy = &s
	}
	for _, n := range c.list(top.byName["overrides"], "overrides") {
		m.overrides = append(m.overrides, c.readOverride(n))
	}
	return m
}

func (c *checker) readOverride(n *node) override {
	m := c.object(n, "override", "pattern", "strategy", "metadata")
	glob := c.text(m.byName["pattern"], "override.pattern")
	if reason := checkGlob(glob); reason != "" {
		c.wrong(n.line, "override.pattern: %s", reason)
	}
	o := override{
		glob:     strings.TrimPrefix(glob, "./"),
		metadata: c.readMetadata(m.byName["metadata"], "override.metadata"),
	}
	if n := m.byName["strategy"]; n != nil {
		s := c.readStrategy(n, "override.strategy")
		o.strategy = &s
	}
	return o
}

// settings returns the settings for file, which is relative to the corpus. If
// several overrides match, the last one that has a strategy replaces the strategy
// completely. Metadata is merged by key. If the manifest is nil, settings returns
// the defaults.
func (m *manifest) settings(file string, defaults chunker.Options) settings {
	s := settings{strategy: defaults}
	if m == nil {
		return s
	}
	s.metadata = m.metadata
	if m.strategy != nil {
		s.strategy = *m.strategy
	}
	if m.folder != "." {
		file = strings.TrimPrefix(file, m.folder+"/")
	}
	for _, o := range m.overrides {
		if !doublestar.MatchUnvalidated(o.glob, file) {
			continue
		}
		if o.strategy != nil {
			s.strategy = *o.strategy
		}
		if len(o.metadata) > 0 {
			s.metadata = merged(s.metadata, o.metadata)
		}
	}
	return s
}

// merged returns a map with the entries of under and over. If both have a key, the
// value in over is used. The result may be one of the two maps.
func merged(under, over map[string]string) map[string]string {
	switch {
	case len(over) == 0:
		return under
	case len(under) == 0:
		return over
	}
	all := maps.Clone(under)
	maps.Copy(all, over)
	return all
}
