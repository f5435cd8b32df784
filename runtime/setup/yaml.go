package setup

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// yamlFile is the format YAML. Its entries are the keys below the key named
// group, one per line. An edit changes lines at positions that the parser
// reports. The result is parsed to verify that nothing else has changed.
type yamlFile struct{ group string }

var yamlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:yaml: )?line (\d+): `) })

// decode returns the file's mapping, or nil if the file is empty.
func (y yamlFile) decode(data []byte) (*yaml.Node, error) {
	_, rest, _ := split(data)
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(rest)))
	var document, more yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, yamlProblem(err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, &problem{0, "it has more than one document"}
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, &problem{root.Line, "it does not consist of KEY: VALUE lines"}
	}
	var value any
	if err := root.Decode(&value); err != nil { // for example a duplicate key
		return nil, yamlProblem(err)
	}
	return root, nil
}

func yamlProblem(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimSpace(strings.TrimPrefix(text, "unmarshal errors:"))
	p := &problem{0, text}
	if found := yamlLine().FindStringSubmatch(text); found != nil {
		p.line, _ = strconv.Atoi(found[1])
		p.text = text[len(found[0]):]
	}
	return p
}

// pair returns the node of a key in a mapping and the node of its value. It
// returns nil if there is no such key.
func pair(m *yaml.Node, name string) (key, value *yaml.Node) {
	if m == nil {
		return nil, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i], m.Content[i+1]
		}
	}
	return nil, nil
}

func (y yamlFile) entries(data []byte) (map[string]any, error) {
	root, err := y.decode(data)
	if err != nil {
		return nil, err
	}
	_, group := pair(root, y.group)
	if group == nil || group.Kind == yaml.ScalarNode && group.Tag == "!!null" {
		return map[string]any{}, nil
	}
	if group.Kind != yaml.MappingNode {
		return nil, &problem{group.Line, y.group + " is not a group of keys"}
	}
	var all map[string]any
	if err := group.Decode(&all); err != nil {
		return nil, yamlProblem(err)
	}
	v, err := asJSON(all)
	entries, _ := v.(map[string]any)
	return entries, err
}

func (y yamlFile) others(data []byte) (any, error) {
	root, err := y.decode(data)
	if root == nil {
		return map[string]any{}, err
	}
	all := map[string]any{}
	err = root.Decode(&all)
	delete(all, y.group)
	return all, err
}

func (y yamlFile) blank(data []byte) bool { return blank(data) }

func (y yamlFile) put(data []byte, name string, entry []field) ([]byte, error) {
	if _, found := y.at(data, name); found {
		var err error
		if data, err = y.cut(data, name, data); err != nil {
			return nil, err
		}
	}
	return checked(y, data, func() ([]byte, error) {
		mark, rest, newline := split(data)
		root, err := y.decode(data)
		if err != nil {
			return nil, err
		}
		if rest != "" && !strings.HasSuffix(rest, "\n") {
			rest += newline
		}
		key, group := pair(root, y.group)
		if key == nil {
			return []byte(mark + rest + y.group + ":" + newline + y.lines(name, entry, "  ", newline)), nil
		}
		lines := strings.SplitAfter(rest, "\n")
		line := lines[key.Line-1]
		switch {
		case len(group.Content) == 0 && strings.Contains(line, "{}"):
			line = strings.TrimRight(strings.Replace(line, "{}", "", 1), " \t\r\n") + newline
		case len(group.Content) > 0 && group.Style&yaml.FlowStyle != 0:
			return nil, &problem{key.Line, y.group + " is written on one line, in braces"}
		}
		indent := "  "
		if len(group.Content) > 0 {
			indent = strings.Repeat(" ", group.Content[0].Column-1)
		}
		head, tail := strings.Join(lines[:key.Line-1], ""), strings.Join(lines[key.Line:], "")
		return []byte(mark + head + line + y.lines(name, entry, indent, newline) + tail), nil
	}, func(all map[string]any) { all[name] = plain(entry) })
}

func (y yamlFile) cut(data []byte, name string, before []byte) ([]byte, error) {
	return checked(y, data, func() ([]byte, error) {
		mark, rest, _ := split(data)
		root, err := y.decode(data)
		if err != nil {
			return nil, err
		}
		key, group := pair(root, y.group)
		own, _ := pair(group, name)
		if own == nil {
			return data, nil
		}
		lines := strings.SplitAfter(rest, "\n")
		from, to := own.Line-1, own.Line
		for i := to; i < len(lines); i++ {
			text := strings.TrimSpace(lines[i])
			if indent := len(lines[i]) - len(strings.TrimLeft(lines[i], " ")); text != "" && !strings.HasPrefix(text, "#") {
				if indent < own.Column {
					break
				}
				to = i + 1
			}
		}
		if len(group.Content) == 2 {
			if had, _ := y.decode(before); before != nil {
				if before, _ := pair(had, y.group); before == nil {
					from = key.Line - 1
				}
			}
		}
		return []byte(mark + strings.Join(lines[:from], "") + strings.Join(lines[to:], "")), nil
	}, func(all map[string]any) { delete(all, name) })
}

// at returns an entry in a file. found is false if the file cannot be read.
func (y yamlFile) at(data []byte, name string) (entry any, found bool) {
	all, err := y.entries(data)
	if err != nil {
		return nil, false
	}
	entry, found = all[name]
	return entry, found
}

// lines returns an entry as YAML lines.
func (y yamlFile) lines(name string, entry []field, indent, newline string) string {
	var b strings.Builder
	b.WriteString(indent + name + ":" + newline)
	for _, f := range entry {
		switch v := f.value.(type) {
		case []string:
			b.WriteString(indent + "  " + f.name + ":" + newline)
			for _, s := range v {
				b.WriteString(indent + "    - " + word(s) + newline)
			}
		case []field:
			b.WriteString(indent + "  " + f.name + ": {}" + newline) // an empty group; entries contain no other kind of group
		case string:
			b.WriteString(indent + "  " + f.name + ": " + word(v) + newline)
		default:
			b.WriteString(indent + "  " + f.name + ": " + jsonText{}.value(v, 0) + newline)
		}
	}
	return b.String()
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z./][A-Za-z0-9./_-]*$`) })

// word returns s as a YAML string. It quotes s if s could have another meaning
// in YAML.
func word(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return quote(s)
	}
	if plainWord().MatchString(s) {
		return s
	}
	return quote(s)
}
