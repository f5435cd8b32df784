package indexer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

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

// problems turns what c found into problems of file.
func (c *checker) problems(file string) []Problem {
	var list []Problem
	for _, e := range append(c.errors, c.warnings...) {
		list = append(list, Problem{file, e.line, e.reason})
	}
	return list
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
