package contract

import (
	"encoding/json"
	"fmt"

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
