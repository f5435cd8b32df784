package contract

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Checker checks a call's arguments against the input schema of another server's
// tool. It may be used concurrently.
type Checker struct{ shape *shape }

// NewChecker parses a schema of type object. It fails if we cannot check the
// schema, for example because it refers to another document. In that case only the
// other server checks the call.
func NewChecker(raw json.RawMessage) (*Checker, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, err
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("type is %q, want object", schema.Type)
	}
	if _, err := schema.CloneSchemas().Resolve(nil); err != nil {
		return nil, err
	}
	order, err := propertyOrder(raw)
	if err != nil {
		return nil, err
	}
	var required []string // the whole schema checks required names that are not properties
	for _, name := range schema.Required {
		if schema.Properties[name] != nil {
			required = append(required, name)
		}
	}
	known := schema
	known.Required = required
	s, err := newShape(&known, order, nil)
	if err == nil {
		s.exact = true // arguments are forwarded unchanged, so they must fit without changes
	}
	if err == nil && len(required) < len(schema.Required) {
		s.rest, err = schema.CloneSchemas().Resolve(nil)
	}
	return &Checker{s}, err
}

// Check returns nil if the schema allows args. Otherwise, it returns the reason
// why not. The other server gets the arguments unchanged.
func (c *Checker) Check(args json.RawMessage) *Refusal {
	if args = bytes.TrimSpace(args); len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	_, refusal := c.shape.check(args)
	return refusal
}
