package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// part identifies the part of its question that a form field holds.
type part int

const (
	whole     part = iota // the answer
	oneChoice             // whether one option is selected
	other                 // free text
	noted                 // a note in addition to the answers, which belongs to no question
)

// field is one property of a form.
type field struct {
	name     string
	question *elicit.Question
	part     part
	option   elicit.Option // for oneChoice
}

// fieldsOf returns a form's fields, in the order of the questions. A field has its
// question's name unless that name is already used.
func fieldsOf(r *elicit.Request, lists bool) (fields []field) {
	taken := map[string]bool{}
	for i := range r.Questions {
		taken[r.Questions[i].ID] = true
	}
	add := func(f field) {
		for f.part != whole && taken[f.name] {
			f.name += "_"
		}
		taken[f.name] = true
		fields = append(fields, f)
	}
	for i := range r.Questions {
		q := &r.Questions[i]
		if q.Kind == elicit.MultiSelect && !lists {
			for _, o := range q.Options {
				add(field{name: q.ID + "__" + o.ID, question: q, part: oneChoice, option: o})
			}
		} else {
			add(field{name: q.ID, question: q})
		}
		if q.AllowFreeform {
			add(field{name: q.ID + elicit.OtherSuffix, question: q, part: other})
		}
	}
	if takesNote(r) {
		add(field{name: "note", part: noted})
	}
	return fields
}

// takesNote reports whether a form has a field for a note. "Yes" is often not the
// whole answer, and other kinds of questions have room for free text. Forms from
// other servers are shown unchanged.
func takesNote(r *elicit.Request) bool {
	return r.Trigger == elicit.AskUser && slices.ContainsFunc(r.Questions, func(q elicit.Question) bool { return q.Kind == elicit.Boolean })
}

// Note returns the note that a person added to a form created by [Schema], trimmed,
// or "" if there is none.
func Note(r *elicit.Request, lists bool, content map[string]any) string {
	for _, f := range fieldsOf(r, lists) {
		if f.part == noted {
			text, _ := content[f.name].(string)
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// ordered is a JSON object whose members keep their order.
type ordered []member

type member struct {
	name  string
	value any
}

func (o *ordered) set(name string, value any) { *o = append(*o, member{name, value}) }

// MarshalJSON implements [json.Marshaler].
func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(m.name) // a string always marshals
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Schema returns the form for r's questions, in order: a flat JSON Schema object,
// the requestedSchema of MCP. lists reports whether the reader supports lists of
// choices and option titles, as MCP does since 2025-11-25. Otherwise each option
// of a list becomes a boolean field, and titles become enumNames.
//
// Some details reach the client only in another form: placeholders, option
// descriptions and recommendations become part of the question's description,
// and several free texts come back as one.
func Schema(r *elicit.Request, lists bool) json.RawMessage {
	properties, required := ordered{}, []string{}
	for _, f := range fieldsOf(r, lists) {
		properties.set(f.name, f.schema(lists))
		// If free text is allowed, either field is enough, which a form cannot
		// express.
		if f.part == whole && f.question.Required && !f.question.AllowFreeform {
			required = append(required, f.name)
		}
	}
	schema := ordered{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		schema.set("required", required)
	}
	raw, err := json.Marshal(schema)
	if err != nil { // only if a default is not a finite number, which the hub refuses
		panic(fmt.Sprintf("form: schema of %s: %v", r.ID, err))
	}
	return raw
}

func (f *field) schema(lists bool) ordered {
	q := f.question
	switch f.part {
	case noted:
		return ordered{{"type", "string"}, {"title", "Add a note"}, {"description", "Goes to the agent with your answer. May be left empty."}}
	case other:
		return ordered{{"type", "string"}, {"title", "Other (your own words)"}, {"description", "Instead of a choice above, or in addition to it: " + titleOf(q)}}
	case oneChoice:
		s := ordered{{"type", "boolean"}, {"title", f.option.Label}}
		return append(s, describe(q.Asks(), f.option.Description, recommend(f.option))...)
	}
	s := ordered{{"type", jsonType[q.Kind]}, {"title", titleOf(q)}}
	s = append(s, describe(descriptionOf(q)...)...)
	switch q.Kind {
	case elicit.Text:
		s.text(q)
	case elicit.Number, elicit.Integer:
		s.bound("minimum", q.Min)
		s.bound("maximum", q.Max)
	case elicit.SingleSelect:
		s.options(q, lists)
	case elicit.MultiSelect:
		s.set("items", ordered{{"anyOf", titled(q)}})
		s.count(q)
	}
	// A client fills in the default of a field that its person left empty. That
	// would invent an answer, unless the field must not be empty.
	if q.Default != nil && q.Required && !q.AllowFreeform {
		if v := defaultOf(q.Default); v != nil {
			s.set("default", v)
		}
	}
	return s
}

var jsonType = map[elicit.Kind]string{
	elicit.Text: "string", elicit.Number: "number", elicit.Integer: "integer", elicit.Boolean: "boolean",
	elicit.SingleSelect: "string", elicit.MultiSelect: "array",
}

func titleOf(q *elicit.Question) string {
	if q.Title != "" {
		return q.Title
	}
	return q.Message
}

// descriptionOf returns the parts of a question for which a form has no field.
func descriptionOf(q *elicit.Question) (lines []string) {
	if q.Title != "" && q.Title != q.Message {
		lines = append(lines, q.Message)
	}
	lines = append(lines, q.Placeholder)
	for _, o := range q.Options {
		if o.Description != "" {
			lines = append(lines, o.Label+": "+o.Description)
		}
		lines = append(lines, recommend(o))
	}
	return lines
}

func recommend(o elicit.Option) string {
	if o.Recommended {
		return "Recommended: " + o.Label
	}
	return ""
}

// describe returns a property's description, or nothing if the description is
// empty.
func describe(lines ...string) ordered {
	var said []string
	for _, l := range lines {
		if l != "" {
			said = append(said, l)
		}
	}
	if len(said) == 0 {
		return nil
	}
	return ordered{{"description", strings.Join(said, "\n")}}
}

func (o *ordered) bound(name string, n *float64) {
	if n != nil {
		o.set(name, *n)
	}
}

// length sets a limit on a count.
func (o *ordered) length(name string, n float64) {
	if n >= 0 && n <= math.MaxInt32 {
		o.set(name, int(n))
	}
}

func (o *ordered) text(q *elicit.Question) {
	least := 0.0
	if q.Required {
		least = 1
	}
	if q.Min != nil {
		least = max(least, math.Ceil(*q.Min))
	}
	if least > 0 && q.Required { // an optional field may also be left empty
		o.length("minLength", least)
	}
	if q.Max != nil && *q.Max >= least {
		o.length("maxLength", math.Floor(*q.Max))
	}
	if q.Format != "" && q.Required {
		o.set("format", q.Format)
	}
}

// count limits the number of selected options. If q also accepts free text, there
// is no limit, because the text counts as an option.
func (o *ordered) count(q *elicit.Question) {
	if q.AllowFreeform {
		return
	}
	least := 0.0
	if q.Required {
		least = 1
	}
	if q.Min != nil {
		least = max(least, math.Ceil(*q.Min))
	}
	if least > 0 && q.Required {
		o.length("minItems", least)
	}
	if q.Max != nil && *q.Max >= least {
		o.length("maxItems", math.Floor(*q.Max))
	}
}

func (o *ordered) options(q *elicit.Question, lists bool) {
	if lists {
		o.set("oneOf", titled(q))
		return
	}
	var ids, labels []string
	for _, option := range q.Options {
		ids, labels = append(ids, option.ID), append(labels, option.Label)
	}
	o.set("enum", ids)
	o.set("enumNames", labels)
}

func titled(q *elicit.Question) (options []ordered) {
	for _, o := range q.Options {
		options = append(options, ordered{{"const", o.ID}, {"title", o.Label}})
	}
	return options
}

func defaultOf(v *elicit.Value) any {
	switch v.Kind {
	case elicit.TextValue:
		return v.Text
	case elicit.SelectedValue:
		if v.Text != "" {
			return v.Text
		}
	case elicit.NumberValue:
		return v.Number
	case elicit.BooleanValue:
		return v.Boolean
	case elicit.SelectedManyValue:
		return append([]string{}, v.Options...)
	}
	return nil
}
