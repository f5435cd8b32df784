package chat

import (
	"encoding/json"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// question is a request in the form that streams send.
type question struct {
	Type            string            `json:"type,omitempty"` // empty in data parts of the AI SDK
	ElicitationID   string            `json:"elicitationId"`
	Mode            elicit.Mode       `json:"mode"`
	Message         string            `json:"message"`
	URL             string            `json:"url,omitempty"`
	RequestedSchema json.RawMessage   `json:"requestedSchema,omitempty"`
	Context         map[string]any    `json:"context"`
	Questions       []elicit.Question `json:"questions,omitempty"`
	Proposal        *elicit.Proposal  `json:"proposal,omitempty"` // the action that needs permission
	Deadline        *elicit.Time      `json:"deadline,omitempty"`
	Standing        string            `json:"standing,omitempty"` // see [elicit.Request.Standing]
	// Status is the request's status. Outcome describes how the request ended.
	Status  elicit.Status  `json:"status"`
	Outcome elicit.Outcome `json:"outcome,omitempty"`
}

// questionOf returns the data that a client needs to show r and its current
// state. It omits answers, which are not sent in streams.
func questionOf(r *elicit.Request) question {
	q := question{ElicitationID: r.ID, Mode: r.Mode, Message: r.Message, URL: r.URL, Questions: r.Questions, Proposal: r.Proposal, Status: r.Status,
		Context: map[string]any{"trigger": r.Trigger}, Standing: r.Standing()}
	for name, text := range map[string]string{"toolName": r.Context.ToolName, "toolCallId": r.Context.ToolCallID, "upstream": r.Context.Upstream, "attemptId": r.Context.AttemptID} {
		if text != "" {
			q.Context[name] = text
		}
	}
	if !r.Deadline.IsZero() {
		q.Deadline = &r.Deadline
	}
	if r.Completion != nil {
		q.Outcome = r.Completion.Outcome
	}
	if r.Mode == elicit.Form {
		q.RequestedSchema = schemaOf(r)
	}
	return q
}

// schemaOf returns the JSON schema of the content to send. A request from
// another protocol keeps its original schema. Otherwise the schema is a flat
// object with one property per question, plus one for free text if allowed.
func schemaOf(r *elicit.Request) json.RawMessage {
	var asked struct {
		Type       string
		Properties map[string]any
	}
	if json.Unmarshal(r.Schema, &asked) == nil && asked.Type == "object" && asked.Properties != nil {
		return r.Schema
	}
	properties, required := map[string]any{}, []string{}
	for i := range r.Questions {
		q := &r.Questions[i]
		properties[q.ID] = property(q)
		if q.AllowFreeform {
			properties[q.ID+elicit.OtherSuffix] = map[string]any{"type": "string", "title": "Other (your own words)"}
		} else if q.Required {
			required = append(required, q.ID)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	data, err := json.Marshal(schema)
	if err != nil { // a bound is not finite, which the hub does not allow
		panic("chat: schema of " + r.ID + ": " + err.Error())
	}
	return data
}

func property(q *elicit.Question) map[string]any {
	p := map[string]any{"type": "string", "title": q.Message}
	if q.Title != "" {
		p["title"], p["description"] = q.Title, q.Message
	}
	least, most := "minLength", "maxLength"
	switch q.Kind {
	case elicit.Text:
		if q.Format != "" {
			p["format"] = q.Format
		}
	case elicit.Number, elicit.Integer:
		p["type"], least, most = string(q.Kind), "minimum", "maximum"
	case elicit.Boolean:
		p["type"], least, most = "boolean", "", ""
	case elicit.SingleSelect:
		p["oneOf"], least, most = choices(q), "", ""
	case elicit.MultiSelect:
		p["type"], p["items"], least, most = "array", map[string]any{"anyOf": choices(q)}, "minItems", "maxItems"
	}
	if q.Min != nil && least != "" {
		p[least] = *q.Min
	}
	if q.Max != nil && most != "" {
		p[most] = *q.Max
	}
	return p
}

func choices(q *elicit.Question) (all []map[string]string) {
	for _, o := range q.Options {
		one := map[string]string{"const": o.ID, "title": o.Label}
		if said := o.Says(); said != o.Label {
			one["description"] = said
		}
		all = append(all, one)
	}
	return all
}
