package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Kind classifies what is wrong with a call's arguments.
type Kind string

// Kinds of refusal, in the order of the checks. Fields are checked in the order of
// the schema's properties.
const (
	NotJSON    Kind = "not_json"    // not JSON, nested too deeply, or with a duplicate name
	NotObject  Kind = "not_object"  // JSON, but not an object
	Unexpected Kind = "unexpected"  // a field that is not in the schema
	Missing    Kind = "missing"     // a required field is absent
	WrongType  Kind = "wrong_type"  // a field with the wrong type
	Blank      Kind = "blank"       // a string without a visible character
	OutOfRange Kind = "range"       // a number or a length outside its bounds
	NotAllowed Kind = "not_allowed" // a value outside the enum
	Mismatch   Kind = "mismatch"    // any other violation of the schema
)

// Refusal describes bad arguments. Define turns a Refusal into an error.
type Refusal struct {
	Kind Kind
	// Field is the property at fault, or "" if the whole call is.
	Field string
	// Value is the string given for a NotAllowed field, truncated.
	Value string
	// Allowed lists the values of a NotAllowed field, in the schema's order.
	Allowed []string
	// Message is the default message.
	Message string
}

// check rejects arguments that the schema does not allow, and otherwise returns
// them ready to decode. It writes integers without a fraction or exponent. It
// removes undeclared fields that the case-insensitive decoder would mistake for
// declared fields.
func (s *shape) check(args json.RawMessage) (json.RawMessage, *Refusal) {
	fields, err := Fields(args)
	if err != nil {
		return nil, notFields(err)
	}
	rewritten := false
	if !s.exact {
		if fields, rewritten = s.respell(fields); rewritten {
			args = join(fields)
		}
	}
	if name, ok := s.unexpected(fields); ok {
		return nil, &Refusal{Kind: Unexpected, Field: name, Message: "Unexpected field " + quote(name) + s.instead(name)}
	}
	for _, name := range s.required {
		if index(fields, name) < 0 {
			return nil, s.missing(name)
		}
	}
	for i := range s.properties {
		at := index(fields, s.properties[i].name)
		if at < 0 {
			continue
		}
		value, refusal := s.properties[i].check(fields[at].Value)
		if refusal != nil {
			return nil, refusal
		}
		if value != nil {
			fields[at].Value, rewritten = value, true
		}
	}
	if s.rest != nil {
		if refusal := s.checkRest(args); refusal != nil {
			return nil, refusal
		}
	}
	if s.open {
		all := len(fields)
		fields = slices.DeleteFunc(fields, s.similarField)
		rewritten = rewritten || len(fields) < all
	}
	if !rewritten {
		return args, nil
	}
	return join(fields), nil
}

func index(fields []Field, name string) int {
	return slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
}

func notFields(err error) *Refusal {
	switch f := fault.Of(err); f.Code {
	case "not_object":
		return &Refusal{Kind: NotObject, Message: "Arguments must be a JSON object"}
	case "duplicate_field":
		return &Refusal{Kind: NotJSON, Message: f.Message}
	default:
		return &Refusal{Kind: NotJSON, Message: "Arguments are " + f.Message}
	}
}

// unexpected returns the first undeclared field in alphabetical order.
func (s *shape) unexpected(fields []Field) (first string, found bool) {
	if s.open {
		return "", false
	}
	for _, f := range fields {
		if s.property(f.Name) == nil && (!found || f.Name < first) {
			first, found = f.Name, true
		}
	}
	return first, found
}

// instead returns a hint that names the field to use in place of an undeclared
// field.
func (s *shape) instead(name string) string {
	if p := s.alike(name); p != nil {
		return ": write " + quote(p.name)
	}
	if len(s.properties) == 0 {
		return ": there are no arguments"
	}
	var names []string
	for _, p := range s.properties {
		if p.required {
			names = append(names, p.name+" (required)")
		} else {
			names = append(names, p.name)
		}
	}
	return ": the fields are " + AllowedList(names)
}

func (s *shape) property(name string) *property {
	for i := range s.properties {
		if s.properties[i].name == name {
			return &s.properties[i]
		}
	}
	return nil
}

func (s *shape) similarField(f Field) bool {
	return s.property(f.Name) == nil &&
		slices.ContainsFunc(s.properties, func(p property) bool { return strings.EqualFold(p.name, f.Name) })
}

func (s *shape) missing(name string) *Refusal {
	if p := s.property(name); p.nonBlank {
		return p.blank(Missing)
	}
	return &Refusal{Kind: Missing, Field: name, Message: name + " is required"}
}

// check rejects a value, or returns the value in a form that the decoder accepts.
// nil means that the decoder accepts it unchanged.
func (p *property) check(value json.RawMessage) (json.RawMessage, *Refusal) {
	switch p.kind {
	case "string":
		return nil, p.checkText(value)
	case "integer":
		return p.checkInteger(value)
	case "number":
		return nil, p.checkNumber(value)
	case "boolean":
		if value[0] != 't' && value[0] != 'f' {
			return nil, p.wrongType("true or false", value)
		}
	case "array":
		if value[0] != '[' {
			return nil, p.wrongType(map[bool]string{false: "a list", true: "a list of objects"}[p.items == "object"], value)
		}
	case "object":
		if value[0] != '{' {
			return nil, p.wrongType("an object", value)
		}
	}
	return nil, nil // the rest of the schema decides
}

func (p *property) checkText(value json.RawMessage) *Refusal {
	if value[0] != '"' {
		if p.nonBlank {
			refusal := p.blank(WrongType)
			refusal.Message += p.rewrite(value)
			return refusal
		}
		return p.wrongType("a string", value)
	}
	given := text(value)
	if p.nonBlank && strings.TrimSpace(given) == "" {
		return p.blank(Blank)
	}
	if p.allowed != nil && !slices.Contains(p.allowed, given) {
		return p.notAllowed(given)
	}
	if p.uuid && !isUUID.MatchString(given) {
		return &Refusal{Kind: Mismatch, Field: p.name, Message: fmt.Sprintf("%s must be a UUID, not %s", p.name, quote(given))}
	}
	if p.minLength == nil && p.maxLength == nil {
		return nil
	}
	n := utf8.RuneCountInString(given)
	if p.minLength != nil && n < *p.minLength {
		return &Refusal{Kind: OutOfRange, Field: p.name, Message: fmt.Sprintf("%s must be at least %d characters long", p.name, *p.minLength)}
	}
	if p.maxLength != nil && n > *p.maxLength {
		return &Refusal{Kind: OutOfRange, Field: p.name, Message: fmt.Sprintf("%s must be at most %d characters long", p.name, *p.maxLength)}
	}
	return nil
}

func (p *property) checkInteger(value json.RawMessage) (json.RawMessage, *Refusal) {
	if !isNumber(value) {
		return nil, p.wrongType("an integer", value)
	}
	digits, n, ok := integer(string(value))
	if !ok {
		return nil, p.wrongType("an integer", value)
	}
	if refusal := p.checkRange(float64(n)); refusal != nil {
		return nil, refusal
	}
	if digits == string(value) {
		return nil, nil
	}
	return json.RawMessage(digits), nil
}

func (p *property) checkNumber(value json.RawMessage) *Refusal {
	if !isNumber(value) {
		return p.wrongType("a number", value)
	}
	f, _ := strconv.ParseFloat(string(value), 64) // a number that is too large becomes infinite, so it is out of range
	return p.checkRange(f)
}

func isNumber(value json.RawMessage) bool {
	return value[0] == '-' || value[0] >= '0' && value[0] <= '9'
}

func (p *property) checkRange(f float64) *Refusal {
	low := p.minimum != nil && f < *p.minimum
	high := p.maximum != nil && f > *p.maximum
	if !low && !high {
		return nil
	}
	message := ""
	switch {
	case p.minimum != nil && p.maximum != nil:
		message = fmt.Sprintf("%s must be between %s and %s", p.name, plain(*p.minimum), plain(*p.maximum))
	case low:
		message = fmt.Sprintf("%s must be at least %s", p.name, plain(*p.minimum))
	default:
		message = fmt.Sprintf("%s must be at most %s", p.name, plain(*p.maximum))
	}
	return &Refusal{Kind: OutOfRange, Field: p.name, Message: message}
}

func (p *property) wrongType(want string, given json.RawMessage) *Refusal {
	return &Refusal{Kind: WrongType, Field: p.name, Message: p.name + " must be " + want + p.rewrite(given)}
}

// rewrite returns a hint on how to correct a value that has the wrong type, or "" if there
// is no obvious correction.
func (p *property) rewrite(given json.RawMessage) string {
	inner := ""
	switch {
	case (p.kind == "array" || p.kind == "object") && p.respell(given) != nil:
		return ": write it as JSON, without quotes around it"
	case string(given) == "null" && !p.required:
		return ": leave it out instead of null"
	case given[0] == '"':
		inner = strings.TrimSpace(text(given))
	}
	switch p.kind {
	case "integer", "number":
		if inner != "" && isNumber(json.RawMessage(inner)) && json.Valid([]byte(inner)) && len(inner) <= 20 {
			return ": write " + inner + ", without quotes"
		}
	case "boolean":
		if word := strings.ToLower(inner); word == "true" || word == "false" {
			return ": write " + word + ", without quotes"
		}
	case "array":
		if p.items == "string" && given[0] == '"' && len(given) <= maxQuoted {
			return ": write [" + string(given) + "]"
		}
	case "string":
		if free := p.allowed == nil && !p.uuid; free && isNumber(given) && len(given) <= 20 {
			return `: write "` + string(given) + `"`
		}
		if items := elements(given); len(items) == 1 && items[0][0] == '"' && len(items[0]) <= maxQuoted {
			return ": write " + string(items[0])
		}
	}
	return ""
}

// elements returns an array's elements, or nil for any other value.
func elements(value json.RawMessage) []json.RawMessage {
	if value[0] != '[' {
		return nil
	}
	w := walker{data: value}
	return w.array()
}

func (p *property) blank(kind Kind) *Refusal {
	return &Refusal{Kind: kind, Field: p.name, Message: p.name + " must be a non-empty string"}
}

func (p *property) notAllowed(given string) *Refusal {
	given = textutil.Excerpt(given, maxQuoted)
	return &Refusal{
		Kind: NotAllowed, Field: p.name, Value: given, Allowed: p.allowed,
		Message: fmt.Sprintf("Invalid value for '%s': '%s'. Allowed values: %s", p.name, given, AllowedList(p.allowed)),
	}
}

// maxListed is the maximum number of values that AllowedList names. With names of
// about 20 characters, the message stays near 4 KiB; a facet may have 512 values.
const maxListed = 200

// AllowedList formats an enum's values, and notes how many it leaves out.
func AllowedList(values []string) string {
	if len(values) <= maxListed {
		return strings.Join(values, ", ")
	}
	return fmt.Sprintf("%s, ... (%d more)", strings.Join(values[:maxListed], ", "), len(values)-maxListed)
}

// checkRest uses the schema library to validate everything that the quick checks
// do not cover: arrays, nested objects, conditions.
func (s *shape) checkRest(args json.RawMessage) *Refusal {
	if name, ok := repeatedBelow(args); ok {
		return &Refusal{Kind: NotJSON, Message: duplicate(name).Message}
	}
	var value map[string]any
	if err := json.Unmarshal(args, &value); err != nil {
		return &Refusal{Kind: Mismatch, Message: "Arguments contain a number that is out of range"}
	}
	if err := s.rest.Validate(value); err != nil {
		field, message := reworded(err)
		return &Refusal{Kind: Mismatch, Field: field, Message: message}
	}
	return nil
}

// misfit returns the refusal for arguments that pass the checks but do not decode,
// for example a number that is too large for the Go type.
func misfit(err error) *Refusal {
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) && typed.Field != "" {
		return &Refusal{Kind: Mismatch, Field: typed.Field, Message: typed.Field + " is out of range"}
	}
	return &Refusal{Kind: Mismatch, Message: "Arguments do not fit the schema"}
}

func join(fields []Field) json.RawMessage {
	b := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		name, _ := json.Marshal(f.Name) // a string always marshals
		b = append(append(append(b, name...), ':'), f.Value...)
	}
	return append(b, '}')
}

// maxQuoted is the maximum number of bytes of the caller's input that a message
// repeats.
const maxQuoted = 200

func quote(s string) string { return "'" + textutil.Excerpt(s, maxQuoted) + "'" }
