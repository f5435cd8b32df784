package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/tailscale/hujson"
)

// jsonFile is the format JSON, optionally with comments and trailing commas.
// Its entries are the members of the object named group. An edit changes the
// text only at positions that the parser reports, and does not reformat the
// rest.
type jsonFile struct {
	group string
	// schema is the $schema of a new file. If it is empty, a new file has no
	// $schema.
	schema string
}

// fresh returns the fields of a new file with one entry.
func (j jsonFile) fresh(name string, entry []field) []field {
	file := []field{{j.group, []field{{name, entry}}}}
	if j.schema != "" {
		file = append([]field{{"$schema", j.schema}}, file...)
	}
	return file
}

// blank reports whether a file contains only an empty object, or only the
// schema, and no comments.
func (j jsonFile) blank(data []byte) bool {
	var all map[string]any
	if err := decode(data, &all); err != nil {
		return len(strings.TrimSpace(string(data))) == 0
	}
	delete(all, "$schema")
	_, rest, _ := split(data)
	rest = strings.ReplaceAll(rest, j.schema, "")
	return len(all) == 0 && !strings.Contains(rest, "/*") && !strings.Contains(rest, "//")
}

var atLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^hujson: line (\d+), column \d+: `) })

func (j jsonFile) parse(rest string) (*hujson.Object, error) {
	if strings.TrimSpace(rest) == "" {
		return &hujson.Object{}, nil
	}
	if err := shallow(rest); err != nil {
		return nil, err
	}
	v, err := hujson.Parse([]byte(rest))
	if err != nil {
		text, line := err.Error(), 0
		if found := atLine().FindStringSubmatch(text); found != nil {
			line, _ = strconv.Atoi(found[1])
			text = text[len(found[0]):]
		}
		return nil, &problem{line, text}
	}
	root, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, &problem{1, "it is not a JSON object"}
	}
	return root, nil
}

// member returns the index of a member, or -1 if there is none.
func member(o *hujson.Object, name string) (at int, err error) {
	at = -1
	for i, m := range o.Members {
		if literal, ok := m.Name.Value.(hujson.Literal); ok && literal.String() == name {
			if at >= 0 {
				return -1, &problem{0, fmt.Sprintf("it contains the key %q twice", name)}
			}
			at = i
		}
	}
	return at, nil
}

// find returns the object that contains the entries, or nil if there is no such
// object.
func (j jsonFile) find(root *hujson.Object) (at int, object *hujson.Object, err error) {
	if at, err = member(root, j.group); err != nil || at < 0 {
		return at, nil, err
	}
	object, ok := root.Members[at].Value.Value.(*hujson.Object)
	if !ok {
		return at, nil, &problem{0, fmt.Sprintf("%q is not an object", j.group)}
	}
	return at, object, nil
}

func (j jsonFile) entries(data []byte) (map[string]any, error) {
	_, rest, _ := split(data)
	root, err := j.parse(rest)
	if err != nil {
		return nil, err
	}
	_, object, err := j.find(root)
	if err != nil || object == nil {
		return map[string]any{}, err
	}
	all := map[string]any{}
	for _, m := range object.Members {
		name := m.Name.Value.(hujson.Literal).String()
		if _, twice := all[name]; twice {
			return nil, &problem{0, fmt.Sprintf("it contains the key %q twice", name)}
		}
		v := m.Value.Clone()
		v.Standardize()
		var value any
		if err := json.Unmarshal(v.Pack(), &value); err != nil {
			return nil, &problem{0, err.Error()}
		}
		all[name] = value
	}
	return all, nil
}

func (j jsonFile) others(data []byte) (any, error) {
	_, rest, _ := split(data)
	all := map[string]any{}
	if strings.TrimSpace(rest) == "" {
		return all, nil
	}
	if err := decode(data, &all); err != nil {
		return nil, err
	}
	delete(all, j.group)
	delete(all, "$schema") // ignored, because new files contain it
	return all, nil
}

func (j jsonFile) put(data []byte, name string, entry []field) ([]byte, error) {
	return checked(j, data, func() ([]byte, error) {
		mark, rest, newline := split(data)
		root, err := j.parse(rest)
		if err != nil {
			return nil, err
		}
		w := jsonText{rest, newline, indentOf(rest)}
		if strings.TrimSpace(rest) == "" {
			return []byte(mark + w.format(j.fresh(name, entry), 0) + newline), nil
		}
		at, object, err := j.find(root)
		if err != nil {
			return nil, err
		}
		if object == nil {
			from := strings.IndexByte(rest, '{') // comments may come before the brace
			if v, err := hujson.Parse([]byte(rest)); err == nil {
				from = v.StartOffset
			}
			return []byte(mark + w.add(root, from, 0, field{j.group, []field{{name, entry}}})), nil
		}
		i, err := member(object, name)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			return []byte(mark + w.add(object, root.Members[at].Value.StartOffset, 1, field{name, entry})), nil
		}
		old := object.Members[i].Value
		return []byte(mark + rest[:old.StartOffset] + w.format(entry, 2) + rest[old.EndOffset:]), nil
	}, func(all map[string]any) { all[name] = plain(entry) })
}

func (j jsonFile) cut(data []byte, name string, before []byte) ([]byte, error) {
	return checked(j, data, func() ([]byte, error) {
		mark, rest, _ := split(data)
		root, err := j.parse(rest)
		if err != nil {
			return nil, err
		}
		at, object, err := j.find(root)
		if err != nil || object == nil {
			return data, err
		}
		i, err := member(object, name)
		if err != nil || i < 0 {
			return data, err
		}
		if len(object.Members) == 1 && before != nil && !j.had(before) && !commented(object) {
			return []byte(mark + without(rest, root, at)), nil
		}
		return []byte(mark + without(rest, object, i)), nil
	}, func(all map[string]any) { delete(all, name) })
}

// had reports whether a file has a group of entries, even an invalid one.
func (j jsonFile) had(data []byte) bool {
	_, rest, _ := split(data)
	root, err := j.parse(rest)
	if err != nil {
		return false
	}
	_, object, err := j.find(root)
	return object != nil || err != nil
}

// commented reports whether an object's members have comments.
func commented(o *hujson.Object) bool {
	extra := string(o.AfterExtra)
	for _, m := range o.Members {
		extra += string(m.Name.BeforeExtra) + string(m.Name.AfterExtra) + string(m.Value.BeforeExtra) + string(m.Value.AfterExtra)
	}
	return strings.TrimSpace(extra) != ""
}

// jsonText formats JSON for insertion into a file. It uses the file's own line
// ending and indentation.
type jsonText struct{ rest, newline, unit string }

var firstIndent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\n([ \t]+)"`) })

// indentOf returns the indentation of the first member.
func indentOf(rest string) string {
	if found := firstIndent().FindStringSubmatch(rest); found != nil {
		return found[1]
	}
	return "  "
}

// add inserts a member after the last member of an object. from is the offset
// of the object's start. The object's closing brace is indented by depth units.
func (w jsonText) add(o *hujson.Object, from, depth int, f field) string {
	text := w.newline + strings.Repeat(w.unit, depth+1) + quote(f.name) + ": " + w.value(f.value, depth+1)
	if len(o.Members) == 0 {
		start := from + 1
		keep := strings.TrimRight(string(o.AfterExtra), " \t\r\n")
		gap := string(o.AfterExtra)[len(keep):]
		if !strings.Contains(gap, "\n") {
			gap = w.newline + strings.Repeat(w.unit, depth)
		}
		return w.rest[:start] + keep + text + gap + w.rest[start+len(o.AfterExtra):]
	}
	last := o.Members[len(o.Members)-1].Value
	comma, after := last.EndOffset, last.EndOffset
	trailing := last.AfterExtra != nil // whether the object has a trailing comma
	if trailing {
		after += len(last.AfterExtra) + 1
	}
	keep := strings.TrimRight(string(o.AfterExtra), " \t\r\n")
	gap := string(o.AfterExtra)[len(keep):]
	if !strings.Contains(gap, "\n") {
		gap = w.newline + strings.Repeat(w.unit, depth)
	}
	tail := w.rest[after+len(o.AfterExtra):]
	if trailing {
		return w.rest[:after] + keep + text + "," + gap + tail
	}
	return w.rest[:comma] + "," + keep + text + gap + tail
}

// without returns the text without a member and the member's comma. Comments
// stay.
func without(rest string, o *hujson.Object, i int) string {
	m := o.Members[i]
	start := m.Name.StartOffset - len(m.Name.BeforeExtra)
	keep := strings.TrimRight(string(m.Name.BeforeExtra), " \t\r\n")
	from, to := start+len(keep), m.Value.EndOffset
	last := i == len(o.Members)-1
	switch {
	case last && m.Value.AfterExtra == nil && i > 0: // remove the comma before the member
		return rest[:start-1] + keep + rest[to:]
	case last && i == 0 && m.Value.AfterExtra == nil && keep == "" && strings.TrimSpace(string(o.AfterExtra)) == "":
		return rest[:from] + rest[to+len(o.AfterExtra):]
	}
	if m.Value.AfterExtra != nil || !last { // remove the member's own comma
		to += len(m.Value.AfterExtra) + 1
		return rest[:from] + strings.TrimRight(string(m.Value.AfterExtra), " \t\r\n") + rest[to:]
	}
	return rest[:from] + rest[to:]
}

// format returns an object with the given fields. Its closing brace is indented
// by depth units.
func (w jsonText) format(fields []field, depth int) string {
	if len(fields) == 0 {
		return "{}"
	}
	lines := make([]string, len(fields))
	for i, f := range fields {
		lines[i] = w.newline + strings.Repeat(w.unit, depth+1) + quote(f.name) + ": " + w.value(f.value, depth+1)
	}
	return "{" + strings.Join(lines, ",") + w.newline + strings.Repeat(w.unit, depth) + "}"
}

func (w jsonText) value(v any, depth int) string {
	switch v := v.(type) {
	case []field:
		return w.format(v, depth)
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = quote(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return quote(v)
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	}
	panic(errors.New("setup: a value of another kind"))
}

// quote returns s as a JSON string. The result is also valid in TOML and YAML.
func quote(s string) string { return string(hujson.String(s)) }
