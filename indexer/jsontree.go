package indexer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxSettingsBytes is the maximum size of a settings file: a manifest, a
// metadata.json, a template or a .gitignore. The largest such files in real
// corpora have about 10 kB.
const maxSettingsBytes = 1 << 20

// maxJSONDepth is the maximum nesting depth in a JSON file. Settings files need a depth
// of 5.
const maxJSONDepth = 64

// node is a value in a JSON file, with the line on which the value begins. value is
// *members, []*node, string, json.Number, bool or nil.
type node struct {
	line  int
	value any
}

// members holds an object's members. If a key is repeated, the last value is
// used.
type members struct {
	keys   []string // in file order
	byName map[string]*node
	lines  map[string]int
}

// lineError is an error in a file, with its line.
type lineError struct {
	line   int
	reason string
}

func (e *lineError) Error() string { return e.reason }

// parseJSON parses src, which must contain exactly one JSON value. It skips a leading
// byte-order mark. All errors have the type *lineError.
func parseJSON(src []byte) (*node, error) {
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	p := &jsonParser{src: src, decoder: json.NewDecoder(bytes.NewReader(src)), line: 1}
	p.decoder.UseNumber()
	n, err := p.value(0)
	if err == nil {
		if _, end := p.decoder.Token(); end != io.EOF {
			p.mark()
			err = errors.New("there is text after the end of the JSON value")
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
	at      int // lines have been counted up to this offset
}

// mark sets line to the line of the token that was just read.
func (p *jsonParser) mark() {
	to := int(p.decoder.InputOffset())
	p.line += bytes.Count(p.src[p.at:to], []byte("\n"))
	p.at = to
}

func (p *jsonParser) value(depth int) (*node, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("nested more than %d levels deep", maxJSONDepth)
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
		key, line := token.(string), p.line // the decoder guarantees that keys are strings
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
