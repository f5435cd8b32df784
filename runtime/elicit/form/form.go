// Package form converts between questions and the forms of other protocols, in
// both directions. MCP (elicitation/create, requestedSchema) and ACP
// (elicitation/create) ask with a flat JSON Schema object; A2A agents send the
// same as data.
//
// [Questions] reads another agent's or server's form; the answers go back to it
// as [elicit.Request.Content]. [Schema] shows questions to a client that has
// forms; [Answers] and [Note] read its reply. All are pure functions.
package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// property is a form field, as far as the protocol allows.
type property struct {
	Type        kind
	Title       string
	Description string
	Format      string
	Pattern     string
	Enum        []string
	EnumNames   []string
	OneOf       []choice
	AnyOf       []choice
	Items       *struct {
		Enum         []string
		EnumNames    []string
		AnyOf, OneOf []choice
	}
	Default                                  json.RawMessage
	Minimum, Maximum                         *float64
	MinLength, MaxLength, MinItems, MaxItems *float64
	Properties                               json.RawMessage
}

type choice struct{ Const, Title, Description string }

// kind is a JSON Schema type. Schema libraries write a list of types for an
// optional field; kind is then the type in the list other than null.
type kind string

// UnmarshalJSON implements [json.Unmarshaler].
func (k *kind) UnmarshalJSON(raw []byte) error {
	var all []string
	if json.Unmarshal(raw, &all) == nil {
		all = slices.DeleteFunc(all, func(one string) bool { return one == "null" })
		if len(all) != 1 {
			return ErrNotFlat
		}
		*k = kind(all[0])
		return nil
	}
	return json.Unmarshal(raw, (*string)(k))
}

// ErrNotFlat means that a form has a field that nobody can fill in: a field of an
// unsupported type, a list without choices, or nested fields.
var ErrNotFlat = errors.New("requestedSchema may contain only string, number, integer, boolean and lists of choices, without nesting")

// Questions returns a form's questions in field order, or no questions for a form
// without fields. It drops a default that is not valid for its own field. A
// pattern becomes part of the question's text and is not checked. The error is
// [ErrNotFlat] with the field's name.
func Questions(schema json.RawMessage) ([]elicit.Question, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var form struct {
		Type       string
		Properties json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(schema, &form); err != nil || form.Type != "object" && form.Type != "" { // ACP: the default is "object"
		return nil, ErrNotFlat
	}
	if form.Properties == nil {
		return nil, nil
	}
	fields, err := contract.Fields(form.Properties)
	if err != nil {
		return nil, ErrNotFlat
	}
	var questions []elicit.Question
	for _, f := range fields {
		p, err := readProperty(f.Value)
		if err != nil || p.Properties != nil {
			return nil, fmt.Errorf("%w: field %q", ErrNotFlat, textutil.Shorten(f.Name, 60))
		}
		q, ok := p.question()
		if !ok {
			return nil, fmt.Errorf("%w: field %q", ErrNotFlat, textutil.Shorten(f.Name, 60))
		}
		q.ID, q.Required = f.Name, slices.Contains(form.Required, f.Name)
		if q.Title = textutil.Shorten(p.Title, elicit.MaxTitle); q.Message == "" {
			q.Message = textutil.Shorten(f.Name, elicit.MaxQuestionText)
		}
		if p.Pattern != "" && q.Kind == elicit.Text {
			q.Message = textutil.Shorten(q.Message+"\nMust match: "+p.Pattern, elicit.MaxQuestionText)
		}
		if q.Default = p.defaultOf(q.Kind); q.Default != nil && !q.Accepts(q.Default) {
			q.Default = nil
		}
		questions = append(questions, q)
	}
	return questions, nil
}

// readProperty decodes a form field. Schema libraries write an optional field as a
// union of a type and null; in that case, readProperty returns the field with that
// type.
func readProperty(raw json.RawMessage) (p property, err error) {
	if err = json.Unmarshal(raw, &p); err != nil || p.Type != "" {
		return p, err
	}
	var union struct{ AnyOf, OneOf []json.RawMessage }
	if err = json.Unmarshal(raw, &union); err != nil {
		return p, err
	}
	either := slices.DeleteFunc(slices.Concat(union.AnyOf, union.OneOf), func(one json.RawMessage) bool {
		var of struct{ Type string }
		return json.Unmarshal(one, &of) == nil && of.Type == "null"
	})
	if len(either) != 1 {
		return p, nil
	}
	p.AnyOf, p.OneOf = nil, nil
	return p, json.Unmarshal(either[0], &p)
}

func (p *property) question() (q elicit.Question, ok bool) {
	q.Message = textutil.Shorten(p.Description, elicit.MaxQuestionText)
	if q.Message == "" {
		q.Message = textutil.Shorten(p.Title, elicit.MaxQuestionText)
	}
	switch p.Type {
	case "string":
		q.Kind, q.Options = elicit.Text, optionsOf(p.Enum, p.EnumNames, slices.Concat(p.OneOf, p.AnyOf))
		if len(q.Options) > 0 {
			q.Kind = elicit.SingleSelect
			break
		}
		q.Min, q.Max = p.MinLength, p.MaxLength
		if f := elicit.Format(p.Format); slices.Contains([]elicit.Format{elicit.Email, elicit.URI, elicit.Date, elicit.DateTime}, f) {
			q.Format = f // other formats cannot be checked
		}
	case "number", "integer":
		q.Kind, q.Min, q.Max = elicit.Kind(p.Type), p.Minimum, p.Maximum
	case "boolean":
		q.Kind = elicit.Boolean
	case "array":
		if p.Items == nil {
			return q, false
		}
		q.Kind, q.Options, q.Min, q.Max = elicit.MultiSelect, optionsOf(p.Items.Enum, p.Items.EnumNames, slices.Concat(p.Items.AnyOf, p.Items.OneOf)), p.MinItems, p.MaxItems
		if len(q.Options) == 0 {
			return q, false
		}
	default:
		return q, false
	}
	return q, true
}

func optionsOf(ids, names []string, titled []choice) (options []elicit.Option) {
	for i, id := range ids {
		o := elicit.Option{ID: id, Label: id}
		if i < len(names) && names[i] != "" {
			o.Label = names[i]
		}
		o.Label = textutil.Shorten(o.Label, elicit.MaxLabel)
		options = append(options, o)
	}
	for _, c := range titled {
		o := elicit.Option{ID: c.Const, Label: c.Title, Description: c.Description}
		if o.Label == "" {
			o.Label = c.Const
		}
		o.Label, o.Description = textutil.Shorten(o.Label, elicit.MaxLabel), textutil.Shorten(o.Description, elicit.MaxMessage)
		options = append(options, o)
	}
	return options
}

// defaultOf returns the default as a value, or nil if it is missing or has the
// wrong type.
func (p *property) defaultOf(kind elicit.Kind) *elicit.Value {
	if len(p.Default) == 0 || string(p.Default) == "null" {
		return nil
	}
	v := &elicit.Value{}
	var into any
	switch kind {
	case elicit.Text:
		v.Kind, into = elicit.TextValue, &v.Text
	case elicit.SingleSelect:
		v.Kind, into = elicit.SelectedValue, &v.Text
	case elicit.Number, elicit.Integer:
		v.Kind, into = elicit.NumberValue, &v.Number
	case elicit.Boolean:
		v.Kind, into = elicit.BooleanValue, &v.Boolean
	case elicit.MultiSelect:
		v.Kind, into = elicit.SelectedManyValue, &v.Options
	}
	if json.Unmarshal(p.Default, into) != nil {
		return nil
	}
	return v
}
