package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Spec is what is published of a tool, and how it refuses. Name, Description
// and Input are required.
type Spec struct {
	Name, Title, Description string
	// Input and Output are JSON Schemas of type object; see Freeze for writing
	// one. Output nil: none is published.
	Input, Output json.RawMessage
	// NonBlank names string properties whose text must hold a visible
	// character, where the schema's minLength does not say so already.
	NonBlank []string
	// Exact refuses whatever the schema refuses. Without it a call is taken whose
	// meaning is beyond doubt: null for a field that is left out, another case of
	// a field's name, JSON in a string. Set it where a specification demands that
	// the schema and the tool agree on each input.
	Exact bool
	// ReadOnly, Additive, Idempotent and Envelope are those of the Tool.
	ReadOnly, Additive, Idempotent, Envelope bool
	// Before refuses what the conditions of the schema (if, not) would refuse in
	// words that no model makes sense of, ahead of every other check. Nil: nothing.
	Before func(Given) *fault.Fault
	// Reword replaces the wording of a refusal; "" keeps the default, and so
	// does a nil Reword.
	Reword func(Refusal) string
}

// Define makes a tool of fn. The tool decodes its arguments into In, which
// fits spec.Input, after they were checked against the schema. A refusal is a
// fault with code "invalid_argument". Define panics when the schemas do not
// parse: they are written by us, not by a caller.
func Define[In any](spec Spec, fn func(ctx context.Context, caller Caller, in In) (Result, error)) Tool {
	input, err := parseInput(spec.Input, spec.NonBlank)
	if err != nil {
		panic(fmt.Sprintf("contract: tool %q: input schema: %v", spec.Name, err))
	}
	input.exact = spec.Exact
	if spec.Output != nil {
		if _, err := parseObjectSchema(spec.Output); err != nil {
			panic(fmt.Sprintf("contract: tool %q: output schema: %v", spec.Name, err))
		}
	}
	refuse := func(r *Refusal) error {
		message := r.Message
		if spec.Reword != nil {
			if own := spec.Reword(*r); own != "" {
				message = own
			}
		}
		f := fault.New("invalid_argument", message, "")
		if r.Field != "" && spec.Envelope {
			f = f.With("field", r.Field)
		}
		return f
	}
	return Tool{
		Name: spec.Name, Title: spec.Title, Description: spec.Description,
		Input: spec.Input, Output: spec.Output, ReadOnly: spec.ReadOnly, Additive: spec.Additive,
		Idempotent: spec.Idempotent, Envelope: spec.Envelope,
		Call: func(ctx context.Context, caller Caller, args json.RawMessage) (Result, error) {
			args = bytes.TrimSpace(args)
			if len(args) == 0 || string(args) == "null" {
				args = json.RawMessage("{}")
			}
			if spec.Before != nil {
				if f := before(args, spec.Before); f != nil {
					return Result{}, f
				}
			}
			args, refusal := input.check(args)
			if refusal != nil {
				return Result{}, refuse(refusal)
			}
			var in In
			if err := json.Unmarshal(args, &in); err != nil {
				return Result{}, refuse(misfit(err))
			}
			return fn(ctx, caller, in)
		},
	}
}

// Given are the arguments of a call, unchecked.
type Given []Field

// Has says that a field is given, if only as null.
func (g Given) Has(name string) bool { return index(g, name) >= 0 }

// Is says that a field is given as this text.
func (g Given) Is(name, text string) bool {
	i := index(g, name)
	return i >= 0 && string(g[i].Value) == strconv.Quote(text)
}

func before(args json.RawMessage, refuse func(Given) *fault.Fault) *fault.Fault {
	fields, err := Fields(args)
	if err != nil {
		return nil // worded by what checks all tools
	}
	return refuse(fields)
}

func parseInput(raw json.RawMessage, nonBlank []string) (*shape, error) {
	schema, err := parseObjectSchema(raw)
	if err != nil {
		return nil, err
	}
	order, err := propertyOrder(raw)
	if err != nil {
		return nil, err
	}
	return newShape(schema, order, nonBlank)
}

func parseObjectSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, err
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("type is %q, want object", schema.Type)
	}
	// A copy is resolved, since resolving ties a schema to its root.
	if _, err := schema.CloneSchemas().Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
		return nil, err
	}
	return &schema, nil
}

// propertyOrder returns the names of the root's properties as written.
func propertyOrder(raw json.RawMessage) ([]string, error) {
	root, err := Fields(raw)
	if err != nil {
		return nil, err
	}
	var order []string
	for _, member := range root {
		if member.Name != "properties" {
			continue
		}
		properties, err := Fields(member.Value)
		if err != nil {
			return nil, err
		}
		for _, p := range properties {
			order = append(order, p.Name)
		}
	}
	return order, nil
}
