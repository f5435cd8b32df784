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

// Object returns a schema of type object with exactly these properties. Freeze
// keeps their order.
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

// Freeze encodes a schema. The output is deterministic, and properties keep their
// order. Freeze panics if the schema contradicts itself, for example by naming a
// property twice.
func Freeze(s *jsonschema.Schema) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("contract: freeze schema: %v", err))
	}
	return raw
}
