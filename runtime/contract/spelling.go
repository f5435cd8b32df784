package contract

import (
	"encoding/json"
	"strings"
	"unicode"
)

// Models write arguments from memory. Often the meaning is clear even though the
// schema does not allow the arguments: null for an omitted field, attemptId for
// attempt_id, JSON inside a string. respell accepts such arguments, so the model
// does not waste a turn on correcting them. It never guesses: a field with an
// unknown name, or a number in quotes, is refused in one line that says what to
// write.

// respell returns the fields in the spelling of the schema, and whether anything
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

// alike returns the property whose name differs from name only in case, "_", "-" or
// spaces, or nil if there is none.
func (s *shape) alike(name string) *property {
	for i := range s.properties {
		if folded(s.properties[i].name) == folded(name) {
			return &s.properties[i]
		}
	}
	return nil
}

// respell returns the value in the spelling of the schema, or nil if the value
// need not change.
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

// folded returns name in lower case, without "_", "-" and spaces.
func folded(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c == ' ' {
			return -1
		}
		return unicode.ToLower(c)
	}, name)
}

// Unwrap returns the array or object inside a JSON string, with or without a
// Markdown code fence around it. It returns any other value unchanged.
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
		_, rest, _ = strings.Cut(rest, "\n") // the fence's language
		inner = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "```"))
	}
	if inner == "" || inner[0] != '[' && inner[0] != '{' {
		return value
	}
	// Fields enforces the limits. It accepts only objects, so the value is wrapped
	// in one.
	if fields, err := Fields([]byte(`{"":` + inner + `}`)); err != nil || len(fields) != 1 {
		return value
	}
	return json.RawMessage(inner)
}
