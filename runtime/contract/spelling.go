package contract

import (
	"encoding/json"
	"strings"
	"unicode"
)

// Models write arguments from memory. What they mean is often beyond doubt
// although the schema does not allow it: a null for a field that they leave
// out, attemptId for attempt_id, JSON inside a string. read takes these for
// what they mean, so that no turn is lost over them. It never guesses: a field
// under a name that is not ours, or a number in quotes, is refused in one line
// that says what to write.

// respell returns the fields as the schema spells them, and whether anything
// changed.
func (s *shape) respell(fields []Field) (respelled []Field, changed bool) {
	respelled = make([]Field, 0, len(fields))
	for _, f := range fields {
		p := s.property(f.Name)
		if p == nil {
			if p = s.alike(f.Name); p != nil && index(fields, p.name) < 0 && index(respelled, p.name) < 0 {
				f.Name, changed = p.name, true
			} else {
				p = nil
			}
		}
		if p != nil && string(f.Value) == "null" && !p.required {
			changed = true
			continue
		}
		if p != nil {
			if value := p.respell(f.Value); value != nil {
				f.Value, changed = value, true
			}
		}
		respelled = append(respelled, f)
	}
	return respelled, changed
}

// alike finds the property that a name spells in another case.
func (s *shape) alike(name string) *property {
	for i := range s.properties {
		if folded(s.properties[i].name) == folded(name) {
			return &s.properties[i]
		}
	}
	return nil
}

// respell returns the value as the schema spells it; nil as it stands.
func (p *property) respell(value json.RawMessage) json.RawMessage {
	if value[0] != '"' {
		return nil
	}
	switch p.kind {
	case "boolean":
		switch word := strings.ToLower(text(value)); word {
		case "true", "false":
			return json.RawMessage(word)
		}
	case "array", "object":
		if inner := Unwrap(value); inner[0] != '"' && (inner[0] == '[') == (p.kind == "array") {
			return inner
		}
	}
	return nil
}

// folded is a name without case, "_", "-" and spaces.
func folded(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c == ' ' {
			return -1
		}
		return unicode.ToLower(c)
	}, name)
}

// Unwrap returns the array or object inside a JSON string, with or without a
// Markdown fence around it. It returns any other value unchanged.
func Unwrap(value json.RawMessage) json.RawMessage {
	if len(value) == 0 || value[0] != '"' {
		return value
	}
	var inner string
	if json.Unmarshal(value, &inner) != nil {
		return value
	}
	inner = strings.TrimSpace(inner)
	if rest, ok := strings.CutPrefix(inner, "```"); ok {
		_, rest, _ = strings.Cut(rest, "\n") // the language
		inner = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "```"))
	}
	if inner == "" || inner[0] != '[' && inner[0] != '{' {
		return value
	}
	// Fields knows the limits; an array is checked as the member of an object.
	if fields, err := Fields([]byte(`{"":` + inner + `}`)); err != nil || len(fields) != 1 {
		return value
	}
	return json.RawMessage(inner)
}
