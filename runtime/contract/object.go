package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/deskhand/deskhand/runtime/fault"
)

// MaxDepth is the maximum nesting depth of arrays and objects in JSON from outside.
// Real calls nest fewer than ten levels. The limit keeps recursion shallow.
const MaxDepth = 100

// Field is one member of a JSON object. Value is not decoded.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Fields splits a JSON object into its members, in order. Doors and tools use it to
// inspect bytes from outside before they decode them. The values share data's
// memory.
//
// Its errors are faults with these codes: "invalid_json" if data is not JSON in
// UTF-8, "too_deep" if it exceeds MaxDepth, "not_object", and "duplicate_field" if
// a name appears twice at the top level, because parsers disagree on which one
// counts.
func Fields(data []byte) ([]Field, error) {
	if tooDeep(data) {
		return nil, fault.New("too_deep", fmt.Sprintf("JSON nested deeper than %d levels", MaxDepth), "")
	}
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, fault.New("invalid_json", "not valid JSON", "")
	}
	w := walker{data: data}
	if w.space(); w.data[w.at] != '{' {
		return nil, fault.New("not_object", "not a JSON object", "")
	}
	fields := w.object()
	if name, ok := repeated(fields); ok {
		return nil, duplicate(name)
	}
	return fields, nil
}

func duplicate(name string) *fault.Fault {
	return fault.New("duplicate_field", fmt.Sprintf("Field %s appears twice", quote(name)), "")
}

// repeatedBelow returns a name that appears twice in one object anywhere inside
// value. value must be part of data that has passed Fields.
func repeatedBelow(value []byte) (string, bool) {
	w := walker{data: value}
	w.space()
	switch value[w.at] {
	case '{':
		fields := w.object()
		if name, ok := repeated(fields); ok {
			return name, true
		}
		for _, f := range fields {
			if name, ok := repeatedBelow(f.Value); ok {
				return name, true
			}
		}
	case '[':
		for _, v := range w.array() {
			if name, ok := repeatedBelow(v); ok {
				return name, true
			}
		}
	}
	return "", false
}

// repeated returns a name that appears twice in fields. It compares pairs while
// that is faster than a map.
func repeated(fields []Field) (string, bool) {
	if len(fields) > 16 {
		seen := make(map[string]bool, len(fields))
		for _, f := range fields {
			if seen[f.Name] {
				return f.Name, true
			}
			seen[f.Name] = true
		}
		return "", false
	}
	for i, f := range fields {
		if slices.ContainsFunc(fields[:i], func(g Field) bool { return g.Name == f.Name }) {
			return f.Name, true
		}
	}
	return "", false
}

// tooDeep reports whether brackets outside strings nest deeper than MaxDepth. data
// need not be valid.
func tooDeep(data []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// walker steps through valid JSON.
type walker struct {
	data []byte
	at   int
}

func (w *walker) space() {
	for w.at < len(w.data) {
		switch w.data[w.at] {
		case ' ', '\t', '\n', '\r':
			w.at++
		default:
			return
		}
	}
}

// object returns the members of the object that begins at w.at.
func (w *walker) object() []Field {
	fields := make([]Field, 0, 8)
	w.at++ // {
	for w.space(); w.data[w.at] != '}'; w.space() {
		if w.data[w.at] == ',' {
			w.at++
			w.space()
		}
		name := text(w.value())
		w.space()
		w.at++ // :
		fields = append(fields, Field{Name: name, Value: w.value()})
	}
	return fields
}

// array returns the elements of the array that begins at w.at.
func (w *walker) array() []json.RawMessage {
	var values []json.RawMessage
	w.at++ // [
	for w.space(); w.data[w.at] != ']'; w.space() {
		if w.data[w.at] == ',' {
			w.at++
		}
		values = append(values, w.value())
	}
	return values
}

// value steps over one value and returns it without surrounding white space.
func (w *walker) value() json.RawMessage {
	w.space()
	start, depth, inString := w.at, 0, false
	for ; w.at < len(w.data); w.at++ {
		switch c := w.data[w.at]; {
		case inString && c == '\\':
			w.at++
		case c == '"':
			if inString = !inString; !inString && depth == 0 {
				w.at++
				return w.data[start:w.at]
			}
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 { // the end of the enclosing value, after a number, true, false or null
				return w.data[start:w.at]
			}
			if depth--; depth == 0 {
				w.at++
				return w.data[start:w.at]
			}
		case depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			return w.data[start:w.at]
		}
	}
	return w.data[start:w.at]
}

// text decodes a valid JSON string.
func text(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if !slices.Contains(inner, '\\') {
		return string(inner)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return string(inner)
	}
	return s
}

// With returns the JSON object raw with the member name set to value. A new member
// is added at the end. A nil value removes the member. Its errors are those of
// [Fields].
func With(raw json.RawMessage, name string, value json.RawMessage) (json.RawMessage, error) {
	fields, err := Fields(raw)
	if err != nil {
		return nil, err
	}
	switch i := index(fields, name); {
	case i >= 0 && value == nil:
		fields = slices.Delete(fields, i, i+1)
	case i >= 0:
		fields[i].Value = value
	case value != nil:
		fields = append(fields, Field{Name: name, Value: value})
	}
	return join(fields), nil
}
