package gateway

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/clients"
	"github.com/deskhand/deskhand/runtime/contract"
)

// A result has two halves: content and structuredContent. Some clients give their
// model only one of them (package clients), so what an upstream says in the other
// half would be lost. Such a result is changed as little as possible. If both
// halves say the same, the result is not changed.

// textMember is the member that carries the text to clients we do not recognize.
const textMember = "content_text"

// delivered returns r in the form for the client with that name, so the client's
// model misses nothing. output is the schema published for r.Structured, or nil if
// there is none.
//
//   - If a client's model sees only the structured half, and the content says more,
//     the client gets no structured half, and the model sees the content. These
//     clients accept a missing structured half even if the tool has an output
//     schema. Information that is only in the structured half is added to the content.
//   - If a client's model sees only the content, what only the structured half says
//     is added to the content. The structured half is kept because the client's
//     SDK requires it.
//   - Any other client gets both halves. The text is added to the structured half
//     if the schema allows it.
//
// A refusal has no structured half for clients that we recognize, because they
// differ in the half that they show.
func delivered(client string, output json.RawMessage, r contract.Result) contract.Result {
	structured, ok := r.Structured.(json.RawMessage)
	if !ok || len(r.Content) == 0 {
		return r
	}
	content := readContent(r.Content)
	if content == nil {
		return r
	}
	shows := clients.Of(client).Shows
	switch {
	case shows == clients.Both:
		return r
	case shows == clients.Either:
		if text := content.text(); !r.Refused && !saysText(structured, text) && hasRoom(output, structured) {
			r.Structured = withMember(structured, textMember, text)
		}
		return r
	case shows == clients.Structured && !r.Refused && !content.otherThanText() && saysText(structured, content.text()):
		return r
	}
	if !content.says(structured) {
		r.Content = content.with(structured)
	}
	if shows == clients.Structured || r.Refused {
		r.Structured = nil
	}
	return r
}

// blocks holds a result's content.
type blocks []json.RawMessage

func readContent(raw json.RawMessage) (b blocks) {
	_ = json.Unmarshal(raw, &b) // nil if it is not a list, which the SDK has already refused
	return b
}

func (b blocks) otherThanText() bool {
	return slices.ContainsFunc(b, func(one json.RawMessage) bool { return text(member(one, "type")) != "text" })
}

// text returns the text of all text blocks.
func (b blocks) text() string {
	var all []string
	for _, one := range b {
		if t := text(member(one, "text")); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, "\n")
}

// with returns the content with a value appended as text.
func (b blocks) with(value json.RawMessage) json.RawMessage {
	block, err := json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", string(value)})
	if err != nil {
		return nil // a string always marshals
	}
	all, err := json.Marshal(append(slices.Clip(b), block))
	if err != nil {
		return nil // they were read from JSON
	}
	return all
}

// says reports whether the content's text has all the data of a value: either as
// JSON, or each string and number somewhere in the text.
func (b blocks) says(value json.RawMessage) bool {
	var want any
	if json.Unmarshal(value, &want) != nil {
		return false
	}
	for _, one := range b {
		var have any
		if json.Unmarshal([]byte(text(member(one, "text"))), &have) == nil && holds(have, want) {
			return true
		}
	}
	said, all := squeezed(b.text()), true
	eachLeaf(want, func(leaf any) {
		switch leaf := leaf.(type) {
		case string:
			all = all && strings.Contains(said, squeezed(leaf))
		case float64:
			number, _ := json.Marshal(leaf)
			all = all && hasWord(said, string(number))
		case bool: // true and false mean nothing without their names
			all = false
		}
	})
	return all
}

// saysText reports whether a value contains everything that the given text says.
// That text must be the JSON of the value or of part of it, or each of its lines
// must occur in one of the value's strings.
func saysText(value json.RawMessage, said string) bool {
	if strings.TrimSpace(said) == "" {
		return true
	}
	var have, want any
	if json.Unmarshal(value, &have) != nil {
		return false
	}
	if json.Unmarshal([]byte(said), &want) == nil && holds(have, want) {
		return true
	}
	var leaves strings.Builder
	eachLeaf(have, func(leaf any) {
		if s, ok := leaf.(string); ok {
			leaves.WriteString(squeezed(s) + "\n")
		}
	})
	for line := range strings.Lines(said) {
		if !strings.Contains(leaves.String(), squeezed(line)) {
			return false
		}
	}
	return true
}

// holds reports whether the value equals or contains part. Objects may have
// additional members.
func holds(value, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		object, ok := value.(map[string]any)
		if !ok {
			return false
		}
		for name, want := range part {
			if have, ok := object[name]; !ok || !holds(have, want) {
				return false
			}
		}
		return true
	case []any:
		list, ok := value.([]any)
		return ok && slices.EqualFunc(list, part, holds)
	}
	return value == part
}

func eachLeaf(value any, visit func(any)) {
	switch value := value.(type) {
	case map[string]any:
		for _, one := range value {
			eachLeaf(one, visit)
		}
	case []any:
		for _, one := range value {
			eachLeaf(one, visit)
		}
	default:
		visit(value)
	}
}

// squeezed returns text with each run of white space replaced by one space.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

// hasWord reports whether a number occurs in text other than as part of a longer
// number.
func hasWord(text, number string) bool {
	digit := func(at int) bool { return at >= 0 && at < len(text) && text[at] >= '0' && text[at] <= '9' }
	for from := 0; ; {
		i := strings.Index(text[from:], number)
		if i < 0 {
			return false
		}
		i += from
		if !digit(i-1) && !digit(i+len(number)) {
			return true
		}
		from = i + 1
	}
}

// hasRoom reports whether a value with this schema may have a member that the
// schema does not name.
func hasRoom(schema, value json.RawMessage) bool {
	if member(value, textMember) != nil {
		return false
	}
	if schema == nil {
		return true
	}
	members, err := contract.Fields(schema)
	if err != nil {
		return false
	}
	for _, m := range members {
		switch m.Name {
		case "$schema", "$id", "title", "description", "type", "properties", "required", "$defs", "definitions":
		case "additionalProperties":
			if string(m.Value) != "true" && string(m.Value) != "{}" {
				return false
			}
		default: // keywords that we do not evaluate
			return false
		}
	}
	return member(member(schema, "properties"), textMember) == nil
}

// withMember returns an object with one member appended.
func withMember(object json.RawMessage, name, value string) json.RawMessage {
	members, err := contract.Fields(object)
	if err != nil {
		return object
	}
	said, err := json.Marshal(value)
	if err != nil {
		return object
	}
	var b strings.Builder
	b.WriteByte('{')
	for _, m := range members {
		key, _ := json.Marshal(m.Name)
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.Value)
		b.WriteByte(',')
	}
	b.WriteString(`"` + name + `":`)
	b.Write(said)
	b.WriteByte('}')
	return json.RawMessage(b.String())
}
