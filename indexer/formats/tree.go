package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Limits on a tree. Each node takes about 200 bytes of memory.
const (
	maxNodes = 1_000_000
	maxDepth = 200
)

// parseTree parses JSON or YAML and records the line of each node. It does not
// resolve YAML aliases.
func parseTree(src []byte) (*yaml.Node, error) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	if isJSON(src) {
		return parseJSON(src)
	}
	// Count separators first, because the parser allocates a node for each value.
	n := 0
	for _, c := range src {
		switch c {
		case '\n', ',', '[', '{', ':':
			n++
		}
	}
	if n > maxNodes {
		return nil, fmt.Errorf("it has more than %d values", maxNodes)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(src, &document); err != nil {
		return nil, fmt.Errorf("it is not valid YAML: %s", oneLine(err.Error()))
	}
	if len(document.Content) == 0 {
		return nil, errors.New("it is empty")
	}
	return document.Content[0], nil
}

func isJSON(src []byte) bool {
	src = bytes.TrimLeft(src, " \t\r\n")
	return len(src) > 0 && src[0] == '{'
}

// jsonTree builds nodes from JSON.
type jsonTree struct {
	d    *json.Decoder
	src  []byte
	at   int64 // lines have been counted up to this offset
	line int
	n    int
}

func parseJSON(src []byte) (*yaml.Node, error) {
	t := &jsonTree{d: json.NewDecoder(bytes.NewReader(src)), src: src, line: 1}
	t.d.UseNumber()
	root, err := t.value(0)
	if err == nil {
		if _, more := t.d.Token(); more != io.EOF {
			err = errors.New("there is text after its end")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: it is not valid JSON: %s", t.here(), oneLine(err.Error()))
	}
	return root, nil
}

// here returns the line of the last token that was read.
func (t *jsonTree) here() int {
	to := min(t.d.InputOffset(), int64(len(t.src)))
	t.line += bytes.Count(t.src[t.at:max(t.at, to)], []byte("\n"))
	t.at = max(t.at, to)
	return t.line
}

func (t *jsonTree) value(depth int) (*yaml.Node, error) {
	token, err := t.d.Token()
	if err != nil {
		return nil, err
	}
	if t.n++; t.n > maxNodes || depth > maxDepth {
		return nil, fmt.Errorf("it has more than %d values, or is nested more than %d levels deep", maxNodes, maxDepth)
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: t.here()}
	switch v := token.(type) {
	case json.Delim:
		if n.Kind = yaml.SequenceNode; v == '{' {
			n.Kind = yaml.MappingNode
		}
		for t.d.More() {
			child, err := t.value(depth + 1) // object keys are also read as values
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err := t.d.Token()
		return n, err
	case string:
		n.Tag, n.Value = "!!str", v
	case json.Number:
		n.Tag, n.Value = "!!float", v.String()
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(v)
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, nil
}

// follow returns the node that an alias stands for. It returns other nodes
// unchanged.
func follow(n *yaml.Node) *yaml.Node {
	for range 10 {
		if n == nil || n.Kind != yaml.AliasNode {
			return n
		}
		n = n.Alias
	}
	return nil
}

// get returns the value of a key, or nil if there is none.
func get(n *yaml.Node, key string) *yaml.Node {
	if n = follow(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return follow(n.Content[i+1])
		}
	}
	return nil
}

// text returns a scalar's text, or "" if n is not a scalar.
func text(n *yaml.Node) string {
	if n = follow(n); n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

func isTrue(n *yaml.Node) bool { return text(n) == "true" }

// list returns the elements of a sequence.
func list(n *yaml.Node) []*yaml.Node {
	if n = follow(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// pair is a key with its value.
type pair struct {
	key   string
	line  int
	value *yaml.Node
}

// pairs returns the members of a mapping, in order.
func pairs(n *yaml.Node) (all []pair) {
	if n = follow(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		all = append(all, pair{n.Content[i].Value, n.Content[i].Line, follow(n.Content[i+1])})
	}
	return all
}
