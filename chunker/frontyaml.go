package chunker

import (
	"bytes"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFrontMatter is the size in bytes up to which front matter is parsed. Real
// ones are a few hundred bytes; a larger one is read line by line.
const maxFrontMatter = 256 << 10

// readYAML reads a block that starts on line 2 and ends before offset end.
// What cannot be parsed is read line by line; a block that is valid YAML but
// not a mapping is a text between two rules, and stays in the body.
func readYAML(block []byte, end int) frontMatter {
	f := frontMatter{end: end}
	if len(block) > maxFrontMatter {
		f.problem(1, "front matter is over %d KiB; only its title and description are read", maxFrontMatter>>10)
		f.readLines(block, ':')
		return f
	}
	root, err := parseYAML(block)
	if err != nil {
		f.problem(firstBadLine(block, err), "front matter is not valid YAML: %s", yamlReason(err))
		f.readLines(block, ':')
		return f
	}
	switch {
	case root == nil:
	case root.Kind == yaml.MappingNode:
		f.readRoot(root)
	default:
		f.end = 0
		f.problem(1, "the lines before the second --- are not key: value pairs and are read as text")
	}
	return f
}

// parseYAML returns the root node of block, nil if it is empty. Nodes are not
// decoded further, so aliases cannot multiply.
func parseYAML(block []byte) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("%v", r)
		}
	}()
	var document yaml.Node
	if err := yaml.Unmarshal(block, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	return document.Content[0], nil
}

// maxBadLineLines and maxBadLineBytes bound the search of firstBadLine, which
// parses the block once per line.
const (
	maxBadLineLines = 200
	maxBadLineBytes = 16 << 10
)

// firstBadLine returns the line of the block at which err arises, counted in
// the block from 1: the one after the longest run of first lines that is valid.
// The parser's own numbers are sometimes off by one, sometimes missing; they
// serve only for blocks too large for the search.
func firstBadLine(block []byte, err error) int {
	lines := bytes.SplitAfter(block, newline)
	if len(lines) > maxBadLineLines || len(block) > maxBadLineBytes {
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			line, _ := strconv.Atoi(m[1])
			return line
		}
		return 1
	}
	length := len(block)
	for i := len(lines) - 1; i > 0; i-- {
		length -= len(lines[i])
		if _, err := parseYAML(block[:length]); err == nil {
			return i + 1
		}
	}
	return 1
}

var (
	yamlLine   = regexp.MustCompile(`line (\d+):`)
	yamlPrefix = regexp.MustCompile(`^(yaml: )?(line \d+: )?`)
)

func yamlReason(err error) string {
	reason := yamlPrefix.ReplaceAllString(err.Error(), "")
	return strings.TrimRight(strings.ReplaceAll(reason, "\n", " "), ".")
}

func (f *frontMatter) readRoot(root *yaml.Node) {
	var overKey, over *yaml.Node
	for key, value := range f.pairs(root, "front matter") {
		switch key.Value {
		case "title":
			f.title = f.oneLine(key, value)
		case "description":
			f.description = f.oneLine(key, value)
		case "metadata":
			f.readMetadata(key, value)
		case "mcp_metadata":
			overKey, over = key, value
		case "mcp_strategy":
			f.readStrategy(key, value)
		case "mcp_chunking_hint":
			f.readChunkingHint(value)
		}
	}
	// mcp_metadata wins over metadata wherever it stands.
	if over != nil {
		f.readMetadata(overKey, over)
	}
}

// pairs yields the keys of a mapping and their values, aliases followed. A key
// that was there before is a problem and passed over; what names the mapping.
func (f *frontMatter) pairs(mapping *yaml.Node, what string) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		seen := map[string]bool{}
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			key, value := mapping.Content[i], mapping.Content[i+1]
			if value.Kind == yaml.AliasNode {
				value = value.Alias
			}
			if key.Kind != yaml.ScalarNode {
				continue
			}
			if seen[key.Value] {
				f.problem(key.Line, "%s has %q twice; the first one counts", what, shorten(key.Value))
				continue
			}
			seen[key.Value] = true
			if !yield(key, value) {
				return
			}
		}
	}
}

// oneLine returns a scalar as it is written, white space collapsed.
func (f *frontMatter) oneLine(key, value *yaml.Node) string {
	if value.Kind != yaml.ScalarNode {
		f.problem(key.Line, "%s is not a text and is ignored", key.Value)
		return ""
	}
	if value.Tag == "!!null" {
		return ""
	}
	return fold(value.Value)
}

func (f *frontMatter) readMetadata(key, value *yaml.Node) {
	if value.Kind != yaml.MappingNode {
		if value.Tag != "!!null" {
			f.problem(key.Line, "%s is not a list of key: value pairs and is ignored", key.Value)
		}
		return
	}
	for k, v := range f.pairs(value, key.Value) {
		name := strings.TrimSpace(k.Value)
		text := strings.TrimSpace(v.Value)
		switch {
		case v.Kind != yaml.ScalarNode:
			f.problem(k.Line, "%s.%s is not one value and is skipped", key.Value, shorten(name))
		case name == "" || text == "" || v.Tag == "!!null":
			f.problem(k.Line, "%s.%s is empty and is skipped", key.Value, shorten(name))
		default:
			if f.metadata == nil {
				f.metadata = map[string]string{}
			}
			f.metadata[name] = text
		}
	}
}

func (f *frontMatter) readStrategy(key, value *yaml.Node) {
	if value.Kind != yaml.MappingNode {
		f.problem(key.Line, "mcp_strategy is not a list of key: value pairs and is ignored")
		return
	}
	strategy := Options{}
	for k, v := range f.pairs(value, "mcp_strategy") {
		switch k.Value {
		case "chunk_by":
			strategy.By = f.chunkBy(v)
		case "max_chunk_size":
			strategy.MaxChars = f.size(k, v)
		case "min_chunk_size":
			strategy.MinChars = f.size(k, v)
		default:
			f.problem(k.Line, "mcp_strategy has no %q; it has chunk_by, max_chunk_size and min_chunk_size", shorten(k.Value))
		}
	}
	f.strategy = &strategy
}

// readChunkingHint reads a chunk_by, bare or as {chunk_by: h3} like the hint in
// an HTML comment.
func (f *frontMatter) readChunkingHint(value *yaml.Node) {
	if value.Kind != yaml.MappingNode {
		f.by = f.chunkBy(value)
		return
	}
	for k, v := range f.pairs(value, "mcp_chunking_hint") {
		if k.Value == "chunk_by" {
			f.by = f.chunkBy(v)
		}
	}
}

func (f *frontMatter) chunkBy(value *yaml.Node) By {
	by, ok := ParseBy(strings.TrimSpace(value.Value))
	if !ok {
		f.problem(value.Line, "%s", badChunkBy(value.Value))
	}
	return by
}

// size returns a positive number of code points, or 0 with a problem.
func (f *frontMatter) size(key, value *yaml.Node) int {
	n, err := strconv.Atoi(value.Value)
	if err != nil || n <= 0 {
		f.problem(key.Line, "%s %q is not a positive whole number and is ignored", key.Value, shorten(value.Value))
		return 0
	}
	return n
}
