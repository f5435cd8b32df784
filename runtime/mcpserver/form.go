package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// A request of elicit is shown by an MCP client as a form, as a link, or both.
// What a revision of the protocol cannot say is lost on the way there, never on
// the way back:
//
//   - placeholders, descriptions of options and recommendations become text of
//     the question's description;
//   - several own words come back as one text;
//   - 2025-06-18 has no lists of choices: each option is a yes-or-no field.
//
// The functions here are pure. What comes back is as the client says; the hub
// decides whether it is an answer.

// Revisions of the protocol that changed how a person is asked.
const (
	firstElicitation = "2025-06-18"
	richElicitation  = "2025-11-25" // titles of options, lists of choices, links
)

// elicitation is one thing for a client to show.
type elicitation struct {
	key    string // unique among those of a request
	params *mcp.ElicitParams
}

// elicitations are what to show for r. A link and a form cannot be in one.
func elicitations(r *elicit.Request, revision string) []elicitation {
	link := func(key string) elicitation {
		params := &mcp.ElicitParams{Mode: "url", Message: messageOf(r), URL: r.URL}
		if revision < modernVersion {
			params.ElicitationID = r.ID
		}
		return elicitation{key, params}
	}
	form := func(key string) elicitation {
		return elicitation{key, &mcp.ElicitParams{Mode: "form", Message: messageOf(r), RequestedSchema: formSchema(r, revision)}}
	}
	switch {
	case r.Mode != elicit.URL:
		return []elicitation{form(r.ID)}
	case len(r.Questions) == 0:
		return []elicitation{link(r.ID)}
	}
	return []elicitation{link(r.ID + ".url"), form(r.ID + ".form")}
}

func messageOf(r *elicit.Request) string {
	if r.Title == "" || r.Title == r.Message {
		return r.Message
	}
	return r.Title + "\n\n" + r.Message
}

// actionsOf are what a person has done, of the client's replies by key. None:
// not all of them are there, or one is not what the protocol allows. To have
// opened a link is not to be done with it: its page says when. Only an upstream
// that asked to have a link opened is told so at once.
func actionsOf(r *elicit.Request, revision string, replies map[string]*mcp.ElicitResult) []elicit.Action {
	var actions []elicit.Action
	for _, e := range elicitations(r, revision) {
		reply := replies[e.key]
		if reply == nil {
			return nil
		}
		done := actionsOn(r, revision, e, reply)
		switch {
		case reply.Action == "decline" || reply.Action == "cancel":
			return done
		case reply.Action != "accept":
			return nil
		}
		actions = append(actions, done...)
	}
	return actions
}

// actionsOn are what the reply to one elicitation of r says.
func actionsOn(r *elicit.Request, revision string, e elicitation, reply *mcp.ElicitResult) (actions []elicit.Action) {
	switch {
	case reply.Action == "decline" || reply.Action == "cancel":
		return []elicit.Action{{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Outcome(reply.Action)}}
	case reply.Action != "accept":
		return nil
	case e.params.Mode == "url" && r.Trigger == elicit.MCPElicitation && len(r.Questions) == 0:
		return []elicit.Action{{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept}}
	case e.params.Mode == "url":
		return []elicit.Action{{Type: elicit.PresentedTo, RequestID: r.ID}}
	case r.Mode == elicit.URL:
		for id, answer := range answersOf(r, revision, reply.Content) {
			actions = append(actions, elicit.Action{Type: elicit.AnswerChanged, RequestID: r.ID, QuestionID: id, Answer: &answer})
		}
		return actions
	}
	return []elicit.Action{{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Answers: answersOf(r, revision, reply.Content),
		Note: noteOf(r, revision, reply.Content)}}
}

// part is what one field of a form is of its question.
type part int

const (
	whole  part = iota // the answer
	choice             // whether one option is chosen
	other              // own words
	noted              // a note beside all answers; it has no question
)

// field is one property of a form.
type field struct {
	name     string
	question *elicit.Question
	part     part
	option   elicit.Option // of choice
}

// fieldsOf are the fields of a form, in the order of the questions. Names are
// those of the questions wherever that leaves them apart.
func fieldsOf(r *elicit.Request, revision string) (fields []field) {
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
		if q.Kind == elicit.MultiSelect && revision < richElicitation {
			for _, o := range q.Options {
				add(field{name: q.ID + "__" + o.ID, question: q, part: choice, option: o})
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

// takesNote reports whether a form has a field for a note. "Yes" is often not
// all that there is to say, and elsewhere there is room for own words; what
// another server asks is shown as it asks it.
func takesNote(r *elicit.Request) bool {
	return r.Trigger == elicit.AskUser && slices.ContainsFunc(r.Questions, func(q elicit.Question) bool { return q.Kind == elicit.Boolean })
}

// noteOf is the note that a person added to a form.
func noteOf(r *elicit.Request, revision string, content map[string]any) string {
	for _, f := range fieldsOf(r, revision) {
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

// formSchema is the requestedSchema of r's questions.
func formSchema(r *elicit.Request, revision string) json.RawMessage {
	properties, required := ordered{}, []string{}
	for _, f := range fieldsOf(r, revision) {
		properties.set(f.name, f.schema(revision))
		// With own words either field will do, which a form cannot say.
		if f.part == whole && f.question.Required && !f.question.AllowFreeform {
			required = append(required, f.name)
		}
	}
	schema := ordered{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		schema.set("required", required)
	}
	raw, err := json.Marshal(schema)
	if err != nil { // a default is not a finite number, which the hub refuses
		panic(fmt.Sprintf("mcpserver: schema of %s: %v", r.ID, err))
	}
	return raw
}

func (f *field) schema(revision string) ordered {
	q := f.question
	switch f.part {
	case noted:
		return ordered{{"type", "string"}, {"title", "Add a note"}, {"description", "Goes to the agent with your answer. May be left empty."}}
	case other:
		return ordered{{"type", "string"}, {"title", "Other (own words)"}, {"description", "In place of a choice above, or beside it: " + titleOf(q)}}
	case choice:
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
		s.options(q, revision)
	case elicit.MultiSelect:
		s.set("items", ordered{{"anyOf", titled(q)}})
		s.count(q)
	}
	// A client fills in the default of a field that its person has left empty:
	// only where one cannot be left empty does that not make up an answer.
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

// descriptionOf is all of a question that has no place of its own in a form.
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

// describe is the description of a property, unless there is nothing to say.
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

// length sets a bound of something that is counted.
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
	if least > 0 && q.Required { // one that may be left out may also be left empty
		o.length("minLength", least)
	}
	if q.Max != nil && *q.Max >= least {
		o.length("maxLength", math.Floor(*q.Max))
	}
	if q.Format != "" && q.Required {
		o.set("format", q.Format)
	}
}

// count bounds how many options are chosen, unless own words count too.
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

func (o *ordered) options(q *elicit.Question, revision string) {
	if revision >= richElicitation {
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
