package contracttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Mistake is a call that contains a mistake that models typically make.
type Mistake struct {
	// What describes the mistake.
	What string
	// Args holds the call's arguments.
	Args json.RawMessage
	// Field is the field that the refusal must name. It is empty if the whole call
	// is wrong.
	Field string
}

// Example returns arguments with which t can be called: the required arguments,
// each with a value of its type.
func Example(t contract.Tool) string {
	var schema struct {
		Properties map[string]struct {
			Type, Format string
			Enum         []any
		}
		Required []string
	}
	if err := json.Unmarshal(t.Input, &schema); err != nil {
		panic("contracttest: " + t.Name + ": " + err.Error())
	}
	args := map[string]any{}
	for _, name := range schema.Required {
		switch p := schema.Properties[name]; {
		case len(p.Enum) > 0:
			args[name] = p.Enum[0]
		case p.Format == "uuid":
			args[name] = "0197f3a4-5b6c-7d8e-9f00-112233445566"
		default:
			args[name] = map[string]any{"string": "x", "integer": 1, "number": 1, "boolean": true, "array": []any{}, "object": map[string]any{}}[p.Type]
		}
	}
	raw, _ := json.Marshal(args) // these values always marshal
	return string(raw)
}

// Mistakes returns calls that differ from a correct call by one typical mistake.
// The parameter right holds the arguments of the correct call. The mistakes are
// values of the wrong type, JSON in strings, names in another spelling or from
// other tools, nulls, and unknown fields. The map also contains, for each field,
// other names that models use for them.
func Mistakes(t contract.Tool, right string, also map[string]string) (all []Mistake) {
	var args map[string]json.RawMessage
	var schema struct {
		Properties map[string]struct{ Type string }
		Required   []string
	}
	if json.Unmarshal([]byte(right), &args) != nil || json.Unmarshal(t.Input, &schema) != nil {
		panic("contracttest: " + t.Name + ": " + right)
	}
	with := func(what, field string, change func(map[string]json.RawMessage)) {
		changed := maps.Clone(args)
		change(changed)
		raw, err := json.Marshal(changed)
		if err != nil {
			panic(err)
		}
		all = append(all, Mistake{what, raw, field})
	}
	set := func(what, field, name, value string) {
		with(what, field, func(a map[string]json.RawMessage) { a[name] = json.RawMessage(value) })
	}
	rename := func(what, field, to string) {
		with(what, field, func(a map[string]json.RawMessage) { a[to] = a[field]; delete(a, field) })
	}
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value := string(args[name])
		if camel := camelCase(name); camel != name {
			rename("camelCase name", name, camel)
			rename("kebab-case name", name, strings.ReplaceAll(name, "_", "-"))
		}
		rename("capital letters in the name", name, strings.ToUpper(name[:1])+name[1:])
		if to := also[name]; to != "" {
			rename("name from another tool", name, to)
		}
		switch value[0] {
		case '"':
			set("array for a string", name, name, "["+value+"]")
			set("object for a string", name, name, `{"value":`+value+`}`)
			set("number for a string", name, name, "7")
			set("blank string", name, name, `"  "`)
		case '[', '{':
			set("JSON in a string", name, name, quoted(value))
			set("JSON in a Markdown fence", name, name, quoted("```json\n"+value+"\n```"))
			set("plain text for a structure", name, name, `"all of it"`)
			set("number for a structure", name, name, "7")
			set("empty structure", name, name, value[:1]+value[len(value)-1:])
		case 't', 'f':
			set("true or false in a string", name, name, quoted(value))
			set("word for true or false", name, name, `"maybe"`)
			set("number for true or false", name, name, "1")
		default:
			set("number in a string", name, name, quoted(value))
			set("number with a unit", name, name, quoted(value+" items"))
			set("fraction", name, name, value+".5")
			set("huge number", name, name, "99999999999999999999")
			set("negative number", name, name, "-7")
		}
		set("null", name, name, "null")
		if slices.Contains(schema.Required, name) {
			with("required field left out", name, func(a map[string]json.RawMessage) { delete(a, name) })
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if _, given := args[name]; !given {
			set("null for an optional field", name, name, "null")
		}
	}
	for _, extra := range []string{`reason`, `explanation`, `tool_name`, `_comment`, `format`, `session`, `user`, `verbose`, `language_code`, `page`, `workspace`, `metadata`,
		`context_window`, `options_json`, `id_list`, `max_tokens`, `temperature`, `stream`, `dry_run`, `locale`} {
		if len(all) >= 20 && extra != "reason" {
			break
		}
		set("field that there is not", extra, extra, `"x"`)
	}
	return all
}

func camelCase(name string) string {
	up := false
	return strings.Map(func(c rune) rune {
		if c == '_' {
			up = true
			return -1
		}
		if up {
			up = false
			return unicode.ToUpper(c)
		}
		return c
	}, name)
}

// Understood reports whether an error means that the arguments were accepted
// and a later step failed.
type Understood func(error) bool

// TellMistakes calls the tool with each mistake and returns the calls and
// outcomes, two lines each. It fails the test if a call is neither accepted nor
// refused in one line that names the field.
func TellMistakes(t *testing.T, tool contract.Tool, all []Mistake, understood Understood) string {
	t.Helper()
	if len(all) < 20 {
		t.Errorf("%s: %d mistakes, want 20 or more", tool.Name, len(all))
	}
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, ">>> %s %s\n# %s\n", tool.Name, m.Args, m.What)
		_, err := tool.Call(context.Background(), contract.Caller{}, m.Args)
		if err == nil || understood(err) {
			b.WriteString("understood\n\n")
			continue
		}
		f := fault.Of(err)
		if f == nil {
			t.Errorf("%s %s = %v, want it accepted or refused", tool.Name, m.Args, err)
			continue
		}
		said := strings.TrimSuffix(f.Message+". "+f.Hint, ". ")
		if strings.Contains(said, "\n") || len(said) > 600 || !strings.Contains(strings.ReplaceAll(strings.ToLower(said), " ", "_"), strings.ToLower(m.Field)) {
			t.Errorf("%s %s: the refusal is not one line that names %s: %s", tool.Name, m.Args, m.Field, said)
		}
		fmt.Fprintf(&b, "! %s\n\n", said)
	}
	return b.String()
}
