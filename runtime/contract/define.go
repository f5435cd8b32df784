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

// Spec describes a tool as it is published, and how the tool refuses bad
// arguments. Name, Description and Input are required.
type Spec struct {
	Name, Title, Description string
	// Input and Output are JSON Schemas of type object, as returned by Freeze. If
	// Output is nil, no output schema is published.
	Input, Output json.RawMessage
	// NonBlank names string properties that must contain a visible character,
	// unless the schema's minLength already requires one.
	NonBlank []string
	// Exact refuses everything that the schema refuses. Without Exact, calls with
	// an unambiguous meaning are accepted: null for an omitted field, a field name
	// in another case, JSON in a string. Set it if a specification requires that
	// the schema and the tool agree on every input.
	Exact bool
	// ReadOnly, Additive, Idempotent and Envelope are copied to the Tool.
	ReadOnly, Additive, Idempotent, Envelope bool
	// Before runs before all other checks. It refuses those calls for which models
	// would not understand the error that a schema condition (if, not) gives. It
	// may be nil.
	Before func(Given) *fault.Fault
	// Reword returns a replacement for a refusal's message. If it is nil or
	// returns "", the default message is used.
	Reword func(Refusal) string
}

// Define returns a tool that calls fn. The tool checks its arguments against
// spec.Input and then decodes them into In. A refusal is a fault with code
// "invalid_argument". Define panics if a schema does not parse, because schemas
// come from our code, not from callers.
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

// Given holds the unchecked arguments of a call.
type Given []Field

// Has reports whether the field is present, even if null.
func (g Given) Has(name string) bool { return index(g, name) >= 0 }

// Is reports whether the field is a string equal to text.
func (g Given) Is(name, text string) bool {
	i := index(g, name)
	return i >= 0 && string(g[i].Value) == strconv.Quote(text)
}

func before(args json.RawMessage, refuse func(Given) *fault.Fault) *fault.Fault {
	fields, err := Fields(args)
	if err != nil {
		return nil // the check that all tools share reports it
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
	// Resolve a copy, because resolving ties a schema to its root schema.
	if _, err := schema.CloneSchemas().Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
		return nil, err
	}
	return &schema, nil
}

// propertyOrder returns the names of the root's properties in source order.
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
