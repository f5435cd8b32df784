package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Property is one named property of an Object.
type Property struct {
	Name   string
	Schema *jsonschema.Schema
}

// Object is a schema of type object that takes exactly these properties and
// keeps their order when it is frozen.
func Object(required []string, properties ...Property) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           make(map[string]*jsonschema.Schema, len(properties)),
		Required:             required,
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, p := range properties {
		s.Properties[p.Name] = p.Schema
		s.PropertyOrder = append(s.PropertyOrder, p.Name)
	}
	return s
}

// Freeze writes a schema: the same bytes for the same schema, properties in
// their order. It panics when the schema contradicts itself, such as one
// property named twice.
func Freeze(s *jsonschema.Schema) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("contract: freeze schema: %v", err))
	}
	return raw
}

// Check reports everything about a tool that clients are known to stumble
// over; nil means none. Tests call it for each tool that is published.
func Check(t Tool) error {
	var problems []error
	report := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %s", t.Name, fmt.Sprintf(format, args...)))
	}
	if !ValidName(t.Name) {
		report("the name does not fit [a-zA-Z0-9_-]{1,64}")
	}
	if t.Description == "" {
		report("no description")
	}
	if t.Call == nil {
		report("no function")
	}
	checkSchema(t.Input, "input", report)
	if t.Output != nil {
		checkSchema(t.Output, "output", report)
	}
	return errors.Join(problems...)
}

func checkSchema(raw json.RawMessage, place string, report func(string, ...any)) {
	if _, err := parseObjectSchema(raw); err != nil {
		report("%s schema: %v", place, err)
		return
	}
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil {
		report("%s schema: %v", place, err)
		return
	}
	// A popular client silently drops tools whose root combines schemas.
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		if _, ok := root[word]; ok {
			report("%s schema: %s at the root", place, word)
		}
	}
	checkNode(root, place, report)
}

// checkNode walks a schema: each property is described, none is a leftover
// name, nothing hides behind a reference. Conditions (if, then, else, not) are
// passed over: they speak of properties that are described where they are
// declared.
func checkNode(node map[string]any, place string, report func(string, ...any)) {
	if _, ok := node["$ref"]; ok {
		report("%s: $ref", place)
	}
	properties, _ := node["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		at := place + "." + name
		if name == "workspace_id" {
			report("%s: not a word of ours", at)
		}
		property, _ := properties[name].(map[string]any)
		if text, _ := property["description"].(string); text == "" {
			report("%s: no description", at)
		}
		checkNode(property, at, report)
	}
	for _, word := range []string{"items", "additionalProperties"} {
		if below, ok := node[word].(map[string]any); ok {
			checkNode(below, place+"/"+word, report)
		}
	}
	for _, word := range []string{"oneOf", "anyOf", "allOf", "prefixItems"} {
		list, _ := node[word].([]any)
		for i, entry := range list {
			if below, ok := entry.(map[string]any); ok {
				checkNode(below, fmt.Sprintf("%s/%s[%d]", place, word, i), report)
			}
		}
	}
}
