package indexer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxSettingsBytes bounds a file of settings: manifest, metadata, template or
// .gitignore. The largest seen in real corpora have some 10 kB.
const maxSettingsBytes = 1 << 20

// maxJSONDepth bounds the nesting of a JSON file; the settings need 5.
const maxJSONDepth = 64

// node is one value of a JSON file with the line it begins on. Value is
// *members, []*node, string, json.Number, bool or nil.
type node struct {
	line  int
	value any
}

// members are an object's; of a key given twice, the last one counts.
type members struct {
	keys   []string // in file order
	byName map[string]*node
	lines  map[string]int
}

// lineError is what is wrong with a file, and where.
type lineError struct {
	line   int
	reason string
}

func (e *lineError) Error() string { return e.reason }

// parseJSON reads one JSON value and nothing after it. A byte-order mark
// before it is skipped. An error is a *lineError.
func parseJSON(src []byte) (*node, error) {
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	p := &jsonParser{src: src, decoder: json.NewDecoder(bytes.NewReader(src)), line: 1}
	p.decoder.UseNumber()
	n, err := p.value(0)
	if err == nil {
		if _, end := p.decoder.Token(); end != io.EOF {
			p.mark()
			err = errors.New("there is more after the end of the JSON value")
		}
	}
	if err == nil {
		return n, nil
	}
	if at := new(json.SyntaxError); errors.As(err, &at) {
		return nil, &lineError{1 + bytes.Count(src[:min(int(at.Offset), len(src))], []byte("\n")), "not JSON: " + at.Error()}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("not JSON: it ends too early")
	}
	return nil, &lineError{p.line, err.Error()}
}

type jsonParser struct {
	src     []byte
	decoder *json.Decoder
	line    int // line of the last token
	at      int // offset up to which line is counted
}

// mark counts the lines up to the token just read.
func (p *jsonParser) mark() {
	to := int(p.decoder.InputOffset())
	p.line += bytes.Count(p.src[p.at:to], []byte("\n"))
	p.at = to
}

func (p *jsonParser) value(depth int) (*node, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxJSONDepth)
	}
	token, err := p.decoder.Token()
	p.mark()
	if err != nil {
		return nil, err
	}
	n := &node{line: p.line, value: token}
	switch token {
	case json.Delim('{'):
		n.value, err = p.members(depth)
	case json.Delim('['):
		n.value, err = p.elements(depth)
	}
	return n, err
}

func (p *jsonParser) members(depth int) (*members, error) {
	m := &members{byName: map[string]*node{}, lines: map[string]int{}}
	for p.decoder.More() {
		token, err := p.decoder.Token()
		p.mark()
		if err != nil {
			return m, err
		}
		key, line := token.(string), p.line // the decoder allows no other
		n, err := p.value(depth + 1)
		if err != nil {
			return m, err
		}
		if m.byName[key] == nil {
			m.keys = append(m.keys, key)
		}
		m.byName[key], m.lines[key] = n, line
	}
	_, err := p.decoder.Token()
	p.mark()
	return m, err
}

func (p *jsonParser) elements(depth int) ([]*node, error) {
	list := []*node{}
	for p.decoder.More() {
		n, err := p.value(depth + 1)
		if err != nil {
			return list, err
		}
		list = append(list, n)
	}
	_, err := p.decoder.Token()
	p.mark()
	return list, err
}

// checker reads values of a JSON file and notes what is wrong with them: as an
// error where the value cannot be used, as a warning where it has no effect.
type checker struct {
	errors, warnings []lineError
}

func (c *checker) wrong(line int, format string, args ...any) {
	c.errors = append(c.errors, lineError{line, fmt.Sprintf(format, args...)})
}

func (c *checker) warn(line int, format string, args ...any) {
	c.warnings = append(c.warnings, lineError{line, fmt.Sprintf(format, args...)})
}

// object returns n's members, and none if n is nil or no object. With known
// names given, others are warned of.
func (c *checker) object(n *node, what string, known ...string) *members {
	if n == nil {
		return &members{}
	}
	m, ok := n.value.(*members)
	if !ok {
		c.wrong(n.line, "%s must be an object", what)
		return &members{}
	}
	for _, key := range m.keys {
		if len(known) > 0 && !slices.Contains(known, key) {
			c.warn(m.lines[key], "%s has no key '%s'; known are %s", what, shorten(key), strings.Join(known, ", "))
		}
	}
	return m
}

// list returns n's elements, and none if n is nil or no array.
func (c *checker) list(n *node, what string) []*node {
	if n == nil {
		return nil
	}
	list, ok := n.value.([]*node)
	if !ok {
		c.wrong(n.line, "%s must be an array", what)
	}
	return list
}

// text returns n's string without white space around it; "" if n is nil.
func (c *checker) text(n *node, what string) string {
	if n == nil {
		return ""
	}
	s, ok := n.value.(string)
	if !ok {
		c.wrong(n.line, "%s must be a string", what)
	}
	return strings.TrimSpace(s)
}

// flag returns n's boolean; false if n is nil.
func (c *checker) flag(n *node, what string) bool {
	if n == nil {
		return false
	}
	b, ok := n.value.(bool)
	if !ok {
		c.wrong(n.line, "%s must be true or false", what)
	}
	return b
}

// count returns n's positive integer; 0 if n is nil.
func (c *checker) count(n *node, what string) int {
	if n == nil {
		return 0
	}
	number, _ := n.value.(json.Number)
	i, err := number.Int64()
	if err != nil || i < 1 || i > 1<<31-1 {
		c.wrong(n.line, "%s must be a positive integer", what)
		return 0
	}
	return int(i)
}
