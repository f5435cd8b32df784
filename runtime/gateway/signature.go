package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
)

// argument is one property of an input schema.
type argument struct {
	name     string
	schema   json.RawMessage
	required bool
}

// argumentsOf returns the properties of an object schema, the required ones first,
// otherwise in schema order.
func argumentsOf(schema json.RawMessage) (all []argument) {
	required := requiredOf(schema)
	properties, err := contract.Fields(member(schema, "properties"))
	if err != nil {
		return nil
	}
	for _, p := range properties {
		all = append(all, argument{p.Name, p.Value, slices.Contains(required, p.Name)})
	}
	slices.SortStableFunc(all, func(a, b argument) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return all
}

// values returns the strings that the schema lists for the argument or for its
// items.
func (a argument) values() (texts []string) {
	for _, schema := range []json.RawMessage{a.schema, member(a.schema, "items")} {
		var list []any
		_ = json.Unmarshal(member(schema, "enum"), &list) // nil if it lists none
		for _, one := range list {
			if s, ok := one.(string); ok {
				texts = append(texts, s)
			}
		}
	}
	return texts
}

func requiredOf(schema json.RawMessage) (names []string) {
	_ = json.Unmarshal(member(schema, "required"), &names) // nil if there are none
	return names
}

// member returns a member of a JSON object, or nil if there is none.
func member(object json.RawMessage, name string) json.RawMessage {
	members, err := contract.Fields(object)
	if err != nil {
		return nil
	}
	for _, m := range members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // "" if it is not a string
	return s
}

// detail is how much a signature shows.
type detail int

const (
	namesOnly  detail = iota // no arguments
	essentials               // the required arguments in full, the names of the others
	types                    // all arguments with their types
	notes                    // plus a line for each argument that has a description
	whole                    // plus full descriptions and all enum values
	details
)

// signature writes a tool's input schema in the form that a model needs to fill it
// in: {owner: string, state?: "open"|"closed"} and a line for each description.
func signature(schema json.RawMessage, d detail) string {
	if d == namesOnly {
		return ""
	}
	w := &signer{root: schema, detail: d}
	w.object(schema, 0)
	if d >= notes {
		limit := 90
		if d == whole {
			limit = 2000
		}
		for _, a := range argumentsOf(schema) {
			if said := oneLine(text(member(w.deref(a.schema), "description")), limit); said != "" {
				fmt.Fprintf(&w.b, "\n  %s: %s", a.name, said)
			}
		}
	}
	return w.b.String()
}

// signer writes one signature.
type signer struct {
	root   json.RawMessage
	detail detail
	b      strings.Builder
	values int                        // written so far
	refs   map[string]json.RawMessage // resolved references; nil for a reference that resolves to nothing
}

// maxSigned is the maximum number of levels of nested objects to write, and
// maxValues the maximum number of values. Without these limits, writing a schema
// whose parts refer to each other would never end.
const (
	maxSigned = 3
	maxValues = 2000
)

func (w *signer) object(schema json.RawMessage, depth int) {
	all := argumentsOf(schema)
	if len(all) == 0 || depth > maxSigned || depth > 0 && w.detail == essentials {
		if depth == 0 {
			w.b.WriteString("{}")
		} else {
			w.b.WriteString("object")
		}
		return
	}
	w.b.WriteByte('{')
	for i, a := range all {
		if i > 0 {
			w.b.WriteString(", ")
		}
		w.b.WriteString(a.name)
		if !a.required {
			w.b.WriteByte('?')
			if w.detail == essentials {
				continue
			}
		}
		w.b.WriteString(": ")
		w.value(a.schema, depth+1)
	}
	w.b.WriteByte('}')
}

// value writes the type of one value.
func (w *signer) value(schema json.RawMessage, depth int) {
	schema = w.deref(schema)
	if w.values++; depth > 2*maxSigned || w.values > maxValues {
		w.b.WriteString("any")
		return
	}
	var kinds []string
	for _, either := range []string{"anyOf", "oneOf"} {
		var list []json.RawMessage
		if json.Unmarshal(member(schema, either), &list) == nil && len(list) > 0 {
			w.either(list, depth)
			return
		}
	}
	var enum []json.RawMessage
	if json.Unmarshal(member(schema, "enum"), &enum) == nil && len(enum) > 0 {
		w.enum(enum)
		return
	}
	if one := member(schema, "const"); one != nil {
		w.b.Write(one)
		return
	}
	kind := member(schema, "type")
	if json.Unmarshal(kind, &kinds) != nil {
		kinds = []string{text(kind)}
	}
	for i, k := range kinds {
		if i > 0 {
			w.b.WriteByte('|')
		}
		switch k {
		case "array":
			w.items(schema, depth)
		case "object":
			w.object(schema, depth)
		case "":
			w.b.WriteString("any")
		default:
			w.b.WriteString(k)
		}
	}
}

func (w *signer) items(schema json.RawMessage, depth int) {
	items := member(schema, "items")
	if items == nil {
		w.b.WriteString("any[]")
		return
	}
	before := w.b.Len()
	w.value(items, depth+1)
	if written := w.b.String()[before:]; strings.Contains(written, "|") && !strings.HasPrefix(written, "{") {
		kept := w.b.String()[:before]
		w.b.Reset()
		w.b.WriteString(kept + "(" + written + ")")
	}
	w.b.WriteString("[]")
}

// shownValues is how many enum values are written.
const shownValues = 12

func (w *signer) enum(values []json.RawMessage) {
	for i, v := range values {
		if i == shownValues && w.detail < whole {
			fmt.Fprintf(&w.b, "|... %d more", len(values)-i)
			return
		}
		if i > 0 {
			w.b.WriteByte('|')
		}
		w.b.Write(v)
	}
}

func (w *signer) either(list []json.RawMessage, depth int) {
	var said []string
	for _, one := range list {
		before := w.b.Len()
		w.value(one, depth+1)
		all := w.b.String()
		written := all[before:]
		w.b.Reset()
		w.b.WriteString(all[:before])
		if !slices.Contains(said, written) {
			said = append(said, written)
		}
	}
	w.b.WriteString(strings.Join(said, "|"))
}

// deref follows a reference within the schema. A reference that resolves to
// nothing, or points outside the schema, is returned unchanged.
func (w *signer) deref(schema json.RawMessage) json.RawMessage {
	for range 8 {
		ref := text(member(schema, "$ref"))
		if !strings.HasPrefix(ref, "#/") {
			return schema
		}
		at, known := w.refs[ref]
		if !known {
			at = w.lookUp(ref[2:])
			if w.refs == nil {
				w.refs = map[string]json.RawMessage{}
			}
			w.refs[ref] = at
		}
		if at == nil {
			return schema
		}
		schema = at
	}
	return schema
}

// lookUp resolves a JSON pointer (RFC 6901) from the root. It returns nil if the
// pointer leads to nothing.
func (w *signer) lookUp(path string) json.RawMessage {
	at := w.root
	for part := range strings.SplitSeq(path, "/") {
		if at = member(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(part)); at == nil {
			return nil
		}
	}
	return at
}

// oneLine returns text on one line, without repeated spaces, truncated to limit
// bytes at a word boundary.
func oneLine(text string, limit int) string {
	line := strings.Join(strings.Fields(text), " ")
	if len(line) <= limit {
		return line
	}
	cut := strings.LastIndexByte(line[:limit], ' ')
	if cut < limit/2 {
		cut = limit
	}
	return strings.TrimRight(strings.ToValidUTF8(line[:cut], ""), " ,;:.") + "..."
}
