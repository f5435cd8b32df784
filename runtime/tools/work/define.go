package work

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// about is a tool's description for models. One template formats it for all tools.
type about struct {
	useWhen, next, avoid string
}

// spec contains the parts of a tool's definition that differ between tools.
type spec struct {
	name, title string
	about       about
	// readOnly, additive and idempotent are copied to the [contract.Tool].
	readOnly, additive, idempotent bool
	// refine adds rules to the arguments' schema that tags cannot express.
	refine func(*jsonschema.Schema)
	// before is copied to [contract.Spec].
	before func(given contract.Given) *fault.Fault
}

// Described describes a tool of another package that follows this package's
// conventions; see [Define].
type Described struct {
	Name, Title string
	// UseWhen, Next and Avoid are its description for models.
	UseWhen, Next, Avoid string
	// ReadOnly, Additive and Idempotent are copied to the [contract.Tool].
	ReadOnly, Additive, Idempotent bool
}

// Define returns a tool that calls fn and follows this package's conventions: its
// description uses the same template, its schemas are those of In and Out, and its
// faults take their hints from this package's table.
func Define[In, Out any](o Options, d Described, fn func(ctx context.Context, caller contract.Caller, in In) (Out, error)) contract.Tool {
	o = o.withDefaults()
	return defined(o, spec{name: o.name(d.Name), title: d.Title, about: about{d.UseWhen, d.Next, d.Avoid},
		readOnly: d.ReadOnly, additive: d.Additive, idempotent: d.Idempotent}, fn)
}

// define works like defined, for a tool that does not depend on its caller.
func define[In, Out any](o Options, s spec, fn func(ctx context.Context, in In) (Out, error)) contract.Tool {
	return defined(o, s, func(ctx context.Context, _ contract.Caller, in In) (Out, error) { return fn(ctx, in) })
}

// defined returns a tool that calls fn. Its schemas are those of In and Out. The
// tool returns Out as JSON: in a text block for models, and as structured content
// for programs.
func defined[In, Out any](o Options, s spec, fn func(ctx context.Context, caller contract.Caller, in In) (Out, error)) contract.Tool {
	input := contract.Schema[In](false)
	if s.refine != nil {
		s.refine(input)
	}
	tool := contract.Define(contract.Spec{
		Name: s.name, Title: s.title, Description: o.named(s.description(input)),
		Input:    json.RawMessage(o.named(string(contract.Freeze(input)))),
		Output:   json.RawMessage(o.named(string(contract.Freeze(orEnvelope(contract.Schema[Out](true)))))),
		ReadOnly: s.readOnly, Additive: s.additive, Idempotent: s.idempotent, Envelope: true,
		Before: s.before,
		// If the schema has rules for modes, the specification requires that the
		// tool refuses exactly what the schema refuses.
		Exact: s.before != nil,
	}, func(ctx context.Context, caller contract.Caller, in In) (contract.Result, error) {
		out, err := fn(ctx, caller, in)
		if err != nil {
			return contract.Result{}, err
		}
		if a, ok := any(&out).(advising); ok {
			a.advise(o.named)
		}
		raw, err := encode(out)
		if err != nil {
			return contract.Result{}, fmt.Errorf("encode the result of %s: %w", s.name, err)
		}
		return contract.Result{Text: []string{string(raw)}, Structured: raw}, nil
	})
	call := tool.Call
	tool.Call = func(ctx context.Context, caller contract.Caller, args json.RawMessage) (contract.Result, error) {
		r, err := call(ctx, caller, args)
		if f := fault.Of(err); f != nil {
			own := *f
			own.Hint = o.Hint(s.name, f)
			return r, &own
		}
		return r, err
	}
	return tool
}

// description fills in the template.
func (s *spec) description(input *jsonschema.Schema) string {
	var required, optional []string
	for _, name := range input.PropertyOrder {
		if slices.Contains(input.Required, name) {
			required = append(required, name)
		} else {
			optional = append(optional, name)
		}
	}
	return "Use when: " + s.about.useWhen +
		"\nRequired: " + listed(required) + "\nOptional: " + listed(optional) +
		"\nNext: " + s.about.next + "\nAvoid: " + s.about.avoid
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none."
	}
	return strings.Join(names, ", ") + "."
}

// orEnvelope makes an output schema also allow a failure, because some clients
// validate the failure's envelope against the result's schema. Only a failure has
// a message.
func orEnvelope(s *jsonschema.Schema) *jsonschema.Schema {
	s.If = &jsonschema.Schema{Required: []string{"message"}}
	s.Then = &jsonschema.Schema{Required: []string{"code", "retryable", "hint"}}
	s.Else = &jsonschema.Schema{Required: s.Required}
	s.Required = nil
	return s
}

// encode marshals v on one line without escaping <, > and &, which are frequent in
// code.
func encode(v any) (json.RawMessage, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), nil
}
