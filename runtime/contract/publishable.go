package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Clients accept a list of tools as a whole or not at all: one invalid tool makes
// them drop all others, and some model services then refuse the conversation. This
// file therefore defines, in one place, what a list may contain. Doors and the
// code that fills them use it.

// MaxDefinition is the maximum size in bytes of a published tool, prompt or
// resource. Real tools take a few thousand bytes (docs/tools.md).
const MaxDefinition = 1 << 20

// Publishable returns an error that says why a door cannot publish t, or nil if
// it can. It refuses schemas with a duplicate member, or with a member that
// differs from a known member only in case, because parsers disagree about them.
func Publishable(t *Tool) error {
	if !ValidName(t.Name) {
		return errors.New("a name must have 1 to 64 characters from a-z, A-Z, 0-9, _ and -")
	}
	if size := len(t.Title) + len(t.Description) + len(t.Input) + len(t.Output) + len(t.Published); size > MaxDefinition {
		return fmt.Errorf("its definition is %d bytes long; the maximum is %d", size, MaxDefinition)
	}
	if err := checkObjectSchema(t.Input); err != nil {
		return fmt.Errorf("the input schema %w", err)
	}
	if t.Output != nil {
		if err := checkObjectSchema(t.Output); err != nil {
			return fmt.Errorf("the output schema %w", err)
		}
	}
	if t.Published != nil {
		if err := checkMembers(t.Published, toolMembers); err != nil {
			return err
		}
	}
	return nil
}

// checkObjectSchema returns an error that says why raw is not a JSON Schema of
// type object, or nil if it is.
func checkObjectSchema(raw json.RawMessage) error {
	fields, err := Fields(raw)
	if err != nil {
		return errors.New("is " + fault.Of(err).Message)
	}
	i := index(fields, "type")
	if i < 0 || string(fields[i].Value) != `"object"` {
		return errors.New("is not of type object")
	}
	s := schemaCheck{root: fields, headers: map[string]bool{}}
	return s.object(fields, "", true)
}

// SchemaError returns an error that says why raw is not a JSON Schema of any
// type, or nil if it is one.
func SchemaError(raw json.RawMessage) error {
	fields, err := Fields(raw)
	if err != nil {
		return errors.New("is " + fault.Of(err).Message)
	}
	s := schemaCheck{root: fields, headers: map[string]bool{}}
	return s.object(fields, "", true)
}

// schemaCheck checks one schema.
type schemaCheck struct {
	root    []Field
	headers map[string]bool // the x-mcp-header names in use, in lower case
}

// keywords maps each keyword of JSON Schema to the check of its value. It covers
// all drafts from 4 on, because servers publish any of them.
var keywords map[string]func(s *schemaCheck, value json.RawMessage, at string, onPath bool) error

// alike maps the result of [foldedCase] for each keyword to that keyword.
var alike = map[string]string{}

func init() { // the table's functions read both maps
	keywords = map[string]func(s *schemaCheck, value json.RawMessage, at string, onPath bool) error{
		"type":                  (*schemaCheck).types,
		"properties":            (*schemaCheck).properties,
		"patternProperties":     (*schemaCheck).named,
		"$defs":                 (*schemaCheck).named,
		"definitions":           (*schemaCheck).named,
		"dependentSchemas":      (*schemaCheck).named,
		"additionalProperties":  (*schemaCheck).one,
		"unevaluatedProperties": (*schemaCheck).one,
		"propertyNames":         (*schemaCheck).one,
		"unevaluatedItems":      (*schemaCheck).one,
		"additionalItems":       (*schemaCheck).one,
		"contains":              (*schemaCheck).one,
		"not":                   (*schemaCheck).one,
		"if":                    (*schemaCheck).one,
		"then":                  (*schemaCheck).one,
		"else":                  (*schemaCheck).one,
		"items":                 (*schemaCheck).items,
		"prefixItems":           (*schemaCheck).list,
		"allOf":                 (*schemaCheck).list,
		"anyOf":                 (*schemaCheck).list,
		"oneOf":                 (*schemaCheck).list,
		"required":              (*schemaCheck).texts,
		"enum":                  (*schemaCheck).array,
		"pattern":               (*schemaCheck).pattern,
		"$ref":                  (*schemaCheck).ref,
		"title":                 (*schemaCheck).text,
		"description":           (*schemaCheck).text,
		"format":                (*schemaCheck).text,
		"$schema":               (*schemaCheck).text,
		"$id":                   (*schemaCheck).text,
		"minLength":             (*schemaCheck).count,
		"maxLength":             (*schemaCheck).count,
		"minItems":              (*schemaCheck).count,
		"maxItems":              (*schemaCheck).count,
		"minProperties":         (*schemaCheck).count,
		"maxProperties":         (*schemaCheck).count,
		"minimum":               (*schemaCheck).number,
		"maximum":               (*schemaCheck).number,
		"multipleOf":            (*schemaCheck).number,
	}
	for name := range keywords {
		alike[foldedCase(name)] = name
	}
}

// foldedCase returns name in the form in which a case-insensitive parser, for
// example encoding/json, compares it.
func foldedCase(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// object checks a schema's members. The parameter at is the schema's path, for
// errors. onPath reports whether the path from the root contains only properties.
func (s *schemaCheck) object(fields []Field, at string, onPath bool) error {
	for _, f := range fields {
		check, known := keywords[f.Name]
		if !known {
			if name := alike[foldedCase(f.Name)]; name != "" {
				return fmt.Errorf("has %q%s, which some parsers read as %q", f.Name, place(at), name)
			}
			continue
		}
		if err := check(s, f.Value, at+"/"+f.Name, onPath); err != nil {
			return err
		}
	}
	if onPath && at != "" {
		return s.header(fields, at)
	}
	return nil
}

func place(at string) string {
	if at == "" {
		return ""
	}
	return " at " + textutil.Excerpt(at, maxQuoted)
}

// schema checks one schema, which may be true or false.
func (s *schemaCheck) schema(value json.RawMessage, at string, onPath bool) error {
	switch value[0] {
	case 't', 'f':
		return nil
	case '{':
		fields, err := s.members(value, at)
		if err != nil {
			return err
		}
		return s.object(fields, at, onPath)
	}
	return fmt.Errorf("has no schema at %s", textutil.Excerpt(at, maxQuoted))
}

// members returns the members of an object inside the schema. A duplicate name is
// an error.
func (s *schemaCheck) members(value json.RawMessage, at string) ([]Field, error) {
	if value[0] != '{' {
		return nil, fmt.Errorf("has no object at %s", textutil.Excerpt(at, maxQuoted))
	}
	w := walker{data: value}
	fields := w.object()
	if name, ok := repeated(fields); ok {
		return nil, fmt.Errorf("has %s twice at %s", quote(name), textutil.Excerpt(at, maxQuoted))
	}
	return fields, nil
}

func (s *schemaCheck) elements(value json.RawMessage, at string) ([]json.RawMessage, error) {
	if value[0] != '[' {
		return nil, fmt.Errorf("has no array at %s", textutil.Excerpt(at, maxQuoted))
	}
	w := walker{data: value}
	return w.array(), nil
}

func (s *schemaCheck) one(value json.RawMessage, at string, _ bool) error {
	return s.schema(value, at, false)
}

func (s *schemaCheck) items(value json.RawMessage, at string, _ bool) error {
	if value[0] == '[' {
		return s.list(value, at, false)
	}
	return s.schema(value, at, false)
}

func (s *schemaCheck) list(value json.RawMessage, at string, _ bool) error {
	all, err := s.elements(value, at)
	for i, one := range all {
		if err := s.schema(one, at+"/"+strconv.Itoa(i), false); err != nil {
			return err
		}
	}
	return err
}

func (s *schemaCheck) named(value json.RawMessage, at string, _ bool) error {
	return s.each(value, at, false)
}

func (s *schemaCheck) properties(value json.RawMessage, at string, onPath bool) error {
	return s.each(value, at, onPath)
}

func (s *schemaCheck) each(value json.RawMessage, at string, onPath bool) error {
	fields, err := s.members(value, at)
	for _, f := range fields {
		if err := s.schema(f.Value, at+"/"+f.Name, onPath); err != nil {
			return err
		}
	}
	return err
}

var typeNames = []string{`"object"`, `"array"`, `"string"`, `"number"`, `"integer"`, `"boolean"`, `"null"`}

func (s *schemaCheck) types(value json.RawMessage, at string, _ bool) error {
	all := []json.RawMessage{value}
	if value[0] == '[' {
		all, _ = s.elements(value, at)
	}
	for _, one := range all {
		if !slices.Contains(typeNames, string(one)) {
			return fmt.Errorf("has the type %s at %s", textutil.Excerpt(string(one), maxQuoted), textutil.Excerpt(at, maxQuoted))
		}
	}
	return nil
}

func (s *schemaCheck) array(value json.RawMessage, at string, _ bool) error {
	_, err := s.elements(value, at)
	return err
}

func (s *schemaCheck) texts(value json.RawMessage, at string, _ bool) error {
	all, err := s.elements(value, at)
	for _, one := range all {
		if err := s.text(one, at, false); err != nil {
			return err
		}
	}
	return err
}

func (s *schemaCheck) text(value json.RawMessage, at string, _ bool) error {
	if value[0] != '"' {
		return fmt.Errorf("has no string at %s", textutil.Excerpt(at, maxQuoted))
	}
	return nil
}

func (s *schemaCheck) number(value json.RawMessage, at string, _ bool) error {
	if !isNumber(value) {
		return fmt.Errorf("has no number at %s", textutil.Excerpt(at, maxQuoted))
	}
	return nil
}

func (s *schemaCheck) count(value json.RawMessage, at string, _ bool) error {
	if !isNumber(value) || value[0] == '-' {
		return fmt.Errorf("has no non-negative number at %s", textutil.Excerpt(at, maxQuoted))
	}
	return nil
}

// brokenPatterns lists the mistakes that are errors in every dialect of regular
// expressions. Patterns that only Go rejects, for example with a lookahead, are
// accepted.
var brokenPatterns = []syntax.ErrorCode{syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrMissingRepeatArgument, syntax.ErrTrailingBackslash}

func (s *schemaCheck) pattern(value json.RawMessage, at string, _ bool) error {
	if value[0] != '"' {
		return fmt.Errorf("has no string at %s", textutil.Excerpt(at, maxQuoted))
	}
	wrong := new(syntax.Error)
	if _, err := syntax.Parse(text(value), syntax.Perl); errors.As(err, &wrong) && slices.Contains(brokenPatterns, wrong.Code) {
		return fmt.Errorf("has a pattern at %s that does not compile: %s", textutil.Excerpt(at, maxQuoted), wrong.Code)
	}
	return nil
}

// ref checks a reference. It accepts any reference to another document.
func (s *schemaCheck) ref(value json.RawMessage, at string, _ bool) error {
	if value[0] != '"' {
		return fmt.Errorf("has no string at %s", textutil.Excerpt(at, maxQuoted))
	}
	target := text(value)
	if pointer, local := strings.CutPrefix(target, "#/"); local && !s.leads(pointer) {
		return fmt.Errorf("refers to %s, which does not exist", quote(target))
	}
	return nil
}

// leads reports whether a JSON pointer resolves to a value in the root schema.
func (s *schemaCheck) leads(pointer string) bool {
	fields, value := s.root, json.RawMessage(nil)
	for token := range strings.SplitSeq(pointer, "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(unescaped(token), "~1", "/"), "~0", "~")
		switch {
		case value == nil || value[0] == '{':
			if value != nil {
				w := walker{data: value}
				fields = w.object()
			}
			i := index(fields, token)
			if i < 0 {
				return false
			}
			value = fields[i].Value
		case value[0] == '[':
			w := walker{data: value}
			all := w.array()
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(all) {
				return false
			}
			value = all[i]
		default:
			return false
		}
	}
	return true
}

// unescaped undoes percent-encoding, as in a URL fragment.
func unescaped(token string) string {
	if !strings.Contains(token, "%") {
		return token
	}
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		if token[i] == '%' && i+2 < len(token) {
			if n, err := strconv.ParseUint(token[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(token[i])
	}
	return b.String()
}

// header checks the x-mcp-header of a property, which names the HTTP header that
// repeats the property's value (MCP 2026-07-28). If the header's name is invalid,
// a door would reject the whole tool.
func (s *schemaCheck) header(fields []Field, at string) error {
	i := index(fields, "x-mcp-header")
	if i < 0 {
		return nil
	}
	t := index(fields, "type")
	if t < 0 || !slices.Contains([]string{`"string"`, `"integer"`, `"boolean"`}, string(fields[t].Value)) {
		return fmt.Errorf("has x-mcp-header at %s, which is not a string, integer or boolean", textutil.Excerpt(at, maxQuoted))
	}
	value := fields[i].Value
	if value[0] != '"' || !isToken(text(value)) {
		return fmt.Errorf("has x-mcp-header at %s that is not a header name", textutil.Excerpt(at, maxQuoted))
	}
	name := strings.ToLower(text(value))
	if s.headers[name] {
		return fmt.Errorf("has x-mcp-header %s twice", quote(name))
	}
	s.headers[name] = true
	return nil
}

// isToken reports whether name is a token of RFC 9110 section 5.6.2.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r >= utf8.RuneSelf || r <= ' ' || r == 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// members maps the names of known members to the characters that their values may
// begin with.
type members map[string]string

// Members of MCP definitions. n stands for null.
var (
	toolMembers     = members{"name": `"`, "title": `"n`, "description": `"n`, "annotations": "{n", "icons": "[n", "_meta": "{n", "inputSchema": "{n", "outputSchema": "{n", "execution": "{n"}
	promptMembers   = members{"name": `"`, "title": `"n`, "description": `"n`, "arguments": "[n", "icons": "[n", "_meta": "{n"}
	resourceMembers = members{"uri": `"`, "name": `"`, "title": `"n`, "description": `"n`, "mimeType": `"n`, "annotations": "{n", "icons": "[n", "_meta": "{n", "size": "0123456789n"}
	templateMembers = members{"uriTemplate": `"`, "name": `"`, "title": `"n`, "description": `"n`, "mimeType": `"n`, "annotations": "{n", "icons": "[n", "_meta": "{n"}
)

// EntryKind is the kind of list that contains an [Entry].
type EntryKind string

// Lists of an [Elsewhere].
const (
	PromptEntry   EntryKind = "prompt"
	ResourceEntry EntryKind = "resource"
	TemplateEntry EntryKind = "resource template"
)

// PublishableEntry returns an error that says why a door cannot publish e, or nil
// if it can.
func PublishableEntry(kind EntryKind, e Entry) error {
	if len(e.Published) > MaxDefinition {
		return fmt.Errorf("its definition is %d bytes long; the maximum is %d", len(e.Published), MaxDefinition)
	}
	known, key := promptMembers, "name"
	switch kind {
	case ResourceEntry:
		known, key = resourceMembers, "uri"
	case TemplateEntry:
		known, key = templateMembers, "uriTemplate"
	}
	if err := checkMembers(e.Published, known); err != nil {
		return err
	}
	fields, _ := Fields(e.Published) // checkMembers has already parsed it
	if i := index(fields, key); i < 0 || text(fields[i].Value) != e.Key || e.Key == "" {
		return fmt.Errorf("its %s is not %s", key, quote(e.Key))
	}
	return nil
}

// checkMembers checks the known members of a definition.
func checkMembers(raw json.RawMessage, known members) error {
	fields, err := Fields(raw)
	if err != nil {
		return errors.New("its definition is " + fault.Of(err).Message)
	}
	for _, f := range fields {
		begins, ok := known[f.Name]
		if ok && !strings.Contains(begins, string(f.Value[0])) {
			return fmt.Errorf("its %s is %s", f.Name, textutil.Excerpt(string(f.Value), maxQuoted))
		}
		for name := range known {
			if !ok && foldedCase(name) == foldedCase(f.Name) {
				return fmt.Errorf("it has %q, which some parsers read as %q", f.Name, name)
			}
		}
	}
	return nil
}
