package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// shape is an input schema, prepared for checking.
type shape struct {
	properties []property // in source order
	required   []string
	open       bool // additional properties are allowed
	exact      bool // refuse everything that the schema refuses, even if the meaning is clear
	// rest validates everything that the quick checks do not cover; it is nil if
	// they cover everything.
	rest *jsonschema.Resolved
}

// property holds the facts about one property that the quick checks need.
type property struct {
	name                 string
	kind                 string // JSON Schema type; any if empty
	items                string // type of an array's items; any if empty
	allowed              []string
	minimum, maximum     *float64
	minLength, maxLength *int
	nonBlank             bool
	uuid                 bool
	required             bool
}

// newShape prepares schema for checking. order lists its properties.
func newShape(schema *jsonschema.Schema, order, nonBlank []string) (*shape, error) {
	s := &shape{required: schema.Required, open: !isFalse(schema.AdditionalProperties)}
	quick := true
	for _, name := range order {
		p, all := quickProperty(name, schema.Properties[name])
		p.nonBlank = p.nonBlank || slices.Contains(nonBlank, name)
		p.required = slices.Contains(schema.Required, name)
		quick = quick && all
		s.properties = append(s.properties, p)
	}
	for _, name := range slices.Concat(nonBlank, schema.Required) {
		if !slices.Contains(order, name) {
			return nil, fmt.Errorf("no property %q", name)
		}
	}
	if quick && quickRoot(schema) {
		return s, nil
	}
	var err error
	s.rest, err = schema.Resolve(nil)
	return s, err
}

// quickRoot reports whether a root schema contains nothing but properties,
// required, additionalProperties: false and annotations.
func quickRoot(schema *jsonschema.Schema) bool {
	known := jsonschema.Schema{
		Schema: schema.Schema, Type: schema.Type, Title: schema.Title, Description: schema.Description,
		Properties: schema.Properties, PropertyOrder: schema.PropertyOrder, Required: schema.Required,
	}
	if isFalse(schema.AdditionalProperties) {
		known.AdditionalProperties = schema.AdditionalProperties
	}
	return sameSchema(&known, schema)
}

// quickProperty extracts the parts of schema that the quick checks cover, and
// reports whether they cover all of it.
func quickProperty(name string, schema *jsonschema.Schema) (property, bool) {
	known := jsonschema.Schema{
		Type: schema.Type, Title: schema.Title, Description: schema.Description,
		Default: schema.Default, Examples: schema.Examples, Deprecated: schema.Deprecated,
	}
	p := property{name: name, kind: schema.Type}
	if schema.Items != nil {
		p.items = schema.Items.Type
	}
	switch schema.Type {
	case "integer", "number":
		p.minimum, p.maximum = schema.Minimum, schema.Maximum
		known.Minimum, known.Maximum = schema.Minimum, schema.Maximum
	case "string":
		p.minLength, p.maxLength = schema.MinLength, schema.MaxLength
		p.nonBlank = schema.MinLength != nil && *schema.MinLength > 0
		known.MinLength, known.MaxLength = schema.MinLength, schema.MaxLength
		for _, v := range schema.Enum {
			text, ok := v.(string)
			if !ok {
				return p, false
			}
			p.allowed = append(p.allowed, text)
		}
		known.Enum = schema.Enum
		switch schema.Pattern {
		case uuidPattern:
			p.uuid = true
			known.Pattern, known.Format = schema.Pattern, schema.Format
		case visiblePattern:
			p.nonBlank = true
			known.Pattern = schema.Pattern
		}
	case "boolean":
	default:
		return p, false
	}
	return p, sameSchema(&known, schema)
}

func isFalse(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && sameSchema(s, &jsonschema.Schema{Not: &jsonschema.Schema{}})
}

func sameSchema(a, b *jsonschema.Schema) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
