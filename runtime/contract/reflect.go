package contract

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema derives the schema of a tool's arguments, or of its answer, from the
// exported fields of struct T, in their order. Each field needs the tags json and doc
// (its description); fields of embedded structs count as fields of T. The schema type
// follows the Go type: pointers may be null, [UUID] and [Time] have their formats,
// json.RawMessage allows anything. Further tags:
//
//	required:"true"   required argument; in an answer, all fields without omitempty are
//	enum:"a,b"        allowed strings, which the description then lists; a type with
//	                  a method Enum() []string has them without the tag
//	min:"1" max:"9"   bounds of a number, or of the length of a string or list
//	default:"50"      value if omitted, as JSON
//	visible:"true"    string must not be blank
//
// It panics if a tag does not fit, because tools are part of our code.
func Schema[T any](answer bool) *jsonschema.Schema {
	return structSchema(reflect.TypeFor[T](), answer)
}

func structSchema(t reflect.Type, answer bool) *jsonschema.Schema {
	var required []string
	var properties []Property
	var fields func(reflect.Type)
	fields = func(t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Anonymous {
				fields(f.Type)
				continue
			}
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || f.Tag.Get("doc") == "" {
				panic(fmt.Sprintf("contract: field %s of %s has no json or doc tag", f.Name, t))
			}
			properties = append(properties, Property{name, fieldSchema(f, answer)})
			if answer && options != "omitempty" || f.Tag.Get("required") != "" {
				required = append(required, name)
			}
		}
	}
	fields(t)
	s := Object(required, properties...)
	if answer { // a later version may add fields
		s.AdditionalProperties = nil
	}
	return s
}

func fieldSchema(f reflect.StructField, answer bool) *jsonschema.Schema {
	t, null := f.Type, false
	if t.Kind() == reflect.Pointer {
		t, null = t.Elem(), answer // a missing argument is absent, not null
	}
	s := typeSchema(t, answer)
	s.Description = f.Tag.Get("doc")
	switch t {
	case reflect.TypeFor[UUID]():
		s.Description += " UUID."
	case reflect.TypeFor[Time]():
		s.Description += " RFC3339, UTC."
	}
	list := f.Tag.Get("enum")
	if own, ok := reflect.Zero(t).Interface().(interface{ Enum() []string }); ok {
		list = strings.Join(own.Enum(), ",")
	}
	if list != "" {
		on := s
		if s.Items != nil {
			on = s.Items
		}
		for one := range strings.SplitSeq(list, ",") {
			on.Enum = append(on.Enum, one)
		}
		s.Description += " One of: " + strings.ReplaceAll(list, ",", ", ") + "."
	}
	bounds(f, s)
	if f.Tag.Get("visible") != "" {
		s.Pattern = visiblePattern
	}
	if text := f.Tag.Get("default"); text != "" {
		s.Default = json.RawMessage(text)
	}
	if null {
		if s.Enum != nil {
			s.Enum = append(s.Enum, nil)
		}
		s.Types, s.Type = []string{s.Type, "null"}, ""
	}
	return s
}

func bounds(f reflect.StructField, s *jsonschema.Schema) {
	for tag, set := range map[string]func(int){
		"min": func(n int) {
			switch low := float64(n); s.Type {
			case "integer":
				s.Minimum = &low
			case "array":
				s.MinItems = &n
			default:
				s.MinLength = &n
			}
		},
		"max": func(n int) {
			switch high := float64(n); s.Type {
			case "integer":
				s.Maximum = &high
			case "array":
				s.MaxItems = &n
			default:
				s.MaxLength = &n
			}
		},
	} {
		text := f.Tag.Get(tag)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			panic(fmt.Sprintf("contract: field %s: %s is %q", f.Name, tag, text))
		}
		set(n)
	}
}

func typeSchema(t reflect.Type, answer bool) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[UUID]():
		if answer { // we write valid UUIDs ourselves, and the pattern is long
			return &jsonschema.Schema{Type: "string", Format: "uuid"}
		}
		return &jsonschema.Schema{Type: "string", Format: "uuid", Pattern: uuidPattern}
	case reflect.TypeFor[Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{}
	}
	switch t.Kind() {
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return &jsonschema.Schema{Type: "integer"}
	case reflect.Float64:
		return &jsonschema.Schema{Type: "number"}
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: typeSchema(t.Elem(), answer)}
	case reflect.Struct:
		return structSchema(t, answer)
	}
	panic(fmt.Sprintf("contract: no schema for %s", t))
}
