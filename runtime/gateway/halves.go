package gateway

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/clients"
	"github.com/deskhand/deskhand/runtime/contract"
)

// A result has two halves: content, and structuredContent beside it. Some clients
// give their model only one of them (package clients), so what an upstream says in
// the other half would be lost. Such a result is changed as little as is needed;
// one whose halves say the same passes as it is.

// textMember is the member that carries the text to clients we do not know.
const textMember = "content_text"

// delivered is r as the client of that name gets it, so that its model misses
// nothing. output is the schema that is published for r.Structured; nil: none is.
//
//   - A client whose model sees only the structured half gets no structured half
//     if the content says more: then its model sees the content. Those clients do
//     not mind that a tool with an output schema has none. What only the structured
//     half says is added to the content.
//   - A client whose model sees only the content gets in it what only the
//     structured half says, and the structured half too: its SDK wants it.
//   - Any other client gets both halves, and the text in the structured half too
//     if the schema leaves room for it.
//
// A refusal goes without a structured half to clients that we know, since each of
// them shows another half of those.
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

// blocks are the content of a result.
type blocks []json.RawMessage

func readContent(raw json.RawMessage) (b blocks) {
	_ = json.Unmarshal(raw, &b) // nil: it is no list, which the SDK has refused before
	return b
}

func (b blocks) otherThanText() bool {
	return slices.ContainsFunc(b, func(one json.RawMessage) bool { return text(member(one, "type")) != "text" })
}

// text is that of all text blocks.
func (b blocks) text() string {
	var all []string
	for _, one := range b {
		if t := text(member(one, "text")); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, "\n")
}

// with is the content with a value as one more text.
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

// says reports whether a text of the content has all the data of a value: as JSON,
// or each text and number of it in words.
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
		case bool: // true and false say nothing without their names
			all = false
		}
	})
	return all
}

// saysText reports whether a value has all that a text says: the text is JSON of
// it or of a part of it, or each of its lines stands in a text of the value.
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

// holds reports whether part is value or a part of it: objects may have further
// members.
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

// squeezed is text with one space for each run of white space.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

// hasWord reports whether a number stands in a text, and is not a part of another.
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

// hasRoom reports whether a value of this schema may have a member that the
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
		default: // conditions that we do not follow
			return false
		}
	}
	return member(member(schema, "properties"), textMember) == nil
}

// withMember is an object with one more member behind the others.
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
