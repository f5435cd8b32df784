package chunker

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxFrontMatter is the maximum size in bytes of front matter that is parsed.
// Larger front matter is read line by line. Most front matter has a few hundred
// bytes.
const maxFrontMatter = 256 << 10

// readYAML reads a block that starts on line 2 and ends before offset end. If the block
// cannot be parsed, it is read line by line. If nothing in the block looks like a key,
// the block is ordinary text between two horizontal rules, and stays in the body.
func readYAML(block []byte, end int) frontMatter {
	var document yaml.Node
	var wrong []Problem
	if len(block) > maxFrontMatter {
		wrong = []Problem{{1, fmt.Sprintf("front matter is over %d KiB; only its title and description are read", maxFrontMatter>>10)}}
	} else if wrong = DecodeYAML(block, &document); wrong != nil {
		wrong[0].Reason = "front matter is not valid YAML: " + wrong[0].Reason
	}
	root := new(yaml.Node)
	if len(document.Content) > 0 {
		root = document.Content[0]
	}
	f := frontMatter{end: end}
	switch {
	case isBlank(block):
	case wrong == nil && root.Kind != yaml.MappingNode, !hasKey(root) && !hasKeyLine(block):
		f.end = 0
		f.problem(1, "the lines before the second --- are not key: value pairs and are read as text")
	case wrong != nil:
		f.problem(wrong[0].Line, "%s", wrong[0].Reason)
		f.readLines(block, ':')
	default:
		f.readRoot(root)
	}
	return f
}

// hasKey reports whether mapping has a key that isKey accepts.
func hasKey(mapping *yaml.Node) bool {
	for i := 0; i < len(mapping.Content); i += 2 {
		if isKey(mapping.Content[i].Value) {
			return true
		}
	}
	return false
}

// hasKeyLine reports whether a line of block starts with a key that isKey accepts.
func hasKeyLine(block []byte) bool {
	for line := range bytes.SplitSeq(block, newline) {
		key, value, colon := bytes.Cut(line, []byte(":"))
		ends := len(value) == 0 || value[0] == ' ' || value[0] == '\t'
		if colon && ends && isKey(strings.Trim(string(bytes.TrimRight(key, " \t")), `"'`)) {
			return true
		}
	}
	return false
}

// isKey reports whether s is a front matter key rather than the start of a sentence. A
// key is one word, for example sidebar_label, ms.date or @scope/name. It may start
// with a capital letter only if capitalKeys lists it.
func isKey(s string) bool {
	for i, r := range s {
		if !unicode.IsLetter(r) && !strings.ContainsRune("_@$", r) && (i == 0 || !unicode.IsDigit(r) && !strings.ContainsRune("-./", r)) {
			return false
		}
	}
	first, _ := utf8.DecodeRuneInString(s)
	return s != "" && (!unicode.IsUpper(first) || capitalKeys[strings.ToLower(s)])
}

// capitalKeys lists, in lower case, the keys that may start with a capital
// letter.
var capitalKeys = map[string]bool{
	"aliases": true, "author": true, "authors": true, "categories": true, "category": true, "created": true,
	"date": true, "description": true, "keywords": true, "layout": true, "locale": true, "slug": true,
	"status": true, "tags": true, "title": true, "type": true, "updated": true,
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
	// mcp_metadata overrides metadata, wherever it appears.
	if over != nil {
		f.readMetadata(overKey, over)
	}
}

// pairs returns an iterator over the keys and values of a mapping, with aliases
// resolved. It skips repeated keys and reports them as problems. The parameter what is
// the mapping's name for these problems.
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

// oneLine returns the text of a scalar with white space collapsed. It does not
// convert values such as numbers and dates.
func (f *frontMatter) oneLine(key, value *yaml.Node) string {
	if value.Kind != yaml.ScalarNode {
		f.problem(key.Line, "%s is not a string and is ignored", key.Value)
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
			f.problem(k.Line, "%s.%s is not a single value and is skipped", key.Value, shorten(name))
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
			f.problem(k.Line, "mcp_strategy has the unknown key %q; its keys are chunk_by, max_chunk_size and min_chunk_size", shorten(k.Value))
		}
	}
	f.strategy = &strategy
}

// readChunkingHint reads a chunk_by value. The value is either a plain string or a
// mapping like {chunk_by: h3}, as in the HTML comment.
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

// size returns value as a positive number of code points. If it is not a positive
// number, size records a problem and returns 0.
func (f *frontMatter) size(key, value *yaml.Node) int {
	n, err := strconv.Atoi(value.Value)
	if err != nil || n <= 0 {
		f.problem(key.Line, "%s %q is not a positive integer and is ignored", key.Value, shorten(value.Value))
		return 0
	}
	return n
}
