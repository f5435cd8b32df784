package indexer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// checker reads values from a JSON file and records errors and warnings. A value that
// cannot be used is an error. A value that has no effect is a warning.
type checker struct {
	errors, warnings []lineError
}

func (c *checker) wrong(line int, format string, args ...any) {
	c.errors = append(c.errors, lineError{line, fmt.Sprintf(format, args...)})
}

func (c *checker) warn(line int, format string, args ...any) {
	c.warnings = append(c.warnings, lineError{line, fmt.Sprintf(format, args...)})
}

// problems returns the errors and warnings of c as problems in file.
func (c *checker) problems(file string) []Problem {
	var list []Problem
	for _, e := range append(c.errors, c.warnings...) {
		list = append(list, Problem{file, e.line, e.reason})
	}
	return list
}

// object returns n's members. If n is nil or not an object, it returns an object
// without members. If known names are given, object warns about all other names.
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
			c.warn(m.lines[key], "%s has the unknown key '%s'; valid keys are %s", what, shorten(key), strings.Join(known, ", "))
		}
	}
	return m
}

// list returns n's elements. If n is nil or not an array, it returns nil.
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

// text returns n's string without surrounding white space, or "" if n is nil.
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

// flag returns n's boolean, or false if n is nil.
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

// count returns n's positive integer, or 0 if n is nil.
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
