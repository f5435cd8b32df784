package setup

import (
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// tomlFile is the format TOML. Its entries are the tables below the table named
// group, for example [mcp_servers.deskhand]. put adds a table at the end, and
// cut removes a table's lines. The result is parsed to verify that nothing else
// has changed.
type tomlFile struct{ group string }

func (t tomlFile) decode(data []byte) (map[string]any, error) {
	_, rest, _ := split(data)
	var all map[string]any
	if err := toml.Unmarshal([]byte(rest), &all); err != nil {
		p := &problem{0, strings.TrimPrefix(err.Error(), "toml: ")}
		if at := new(toml.DecodeError); errors.As(err, &at) {
			p.line, _ = at.Position()
		}
		return nil, p
	}
	return all, nil
}

func (t tomlFile) entries(data []byte) (map[string]any, error) {
	all, err := t.decode(data)
	if err != nil {
		return nil, err
	}
	switch group := all[t.group].(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		v, err := asJSON(group)
		entries, _ := v.(map[string]any)
		return entries, err
	}
	return nil, &problem{0, t.group + " is not a table"}
}

func (t tomlFile) others(data []byte) (any, error) {
	all, err := t.decode(data)
	delete(all, t.group)
	if len(all) == 0 {
		return nil, err
	}
	return all, err
}

func (t tomlFile) blank(data []byte) bool { return blank(data) }

func (t tomlFile) put(data []byte, name string, entry []field) ([]byte, error) {
	return checked(t, data, func() ([]byte, error) {
		mark, rest, newline := split(data)
		table := t.table(name, entry, newline)
		if from, to := t.lines(rest, name); from >= 0 {
			return []byte(mark + rest[:from] + table + rest[to:]), nil
		}
		if rest != "" && !strings.HasSuffix(rest, "\n") {
			rest += newline
		}
		if rest != "" {
			rest += newline
		}
		return []byte(mark + rest + table), nil
	}, func(all map[string]any) { all[name] = plain(entry) })
}

func (t tomlFile) cut(data []byte, name string, _ []byte) ([]byte, error) {
	return checked(t, data, func() ([]byte, error) {
		mark, rest, newline := split(data)
		from, to := t.lines(rest, name)
		if from < 0 {
			return data, nil
		}
		head, tail := rest[:from], rest[to:]
		if strings.HasSuffix(head, newline+newline) && (tail == "" || strings.HasPrefix(tail, newline)) {
			head = strings.TrimSuffix(head, newline) // the blank line that put has added
		}
		return []byte(mark + head + tail), nil
	}, func(all map[string]any) { delete(all, name) })
}

// table returns an entry as TOML. Its values may be strings, lists and numbers.
func (t tomlFile) table(name string, entry []field, newline string) string {
	var b strings.Builder
	b.WriteString("[" + t.group + "." + name + "]" + newline)
	for _, f := range entry {
		b.WriteString(f.name + " = " + jsonText{}.value(f.value, 0) + newline)
	}
	return b.String()
}

// lines returns the byte range of an entry's table, from its header to the end
// of its last value. from is -1 if there is no such table. The range does not
// include comments before the next table.
func (t tomlFile) lines(rest, name string) (from, to int) {
	from = -1
	inside, at := false, 0
	for line := range strings.Lines(rest) {
		text := strings.TrimSpace(line)
		own := t.header(text, name)
		switch {
		case own && from < 0:
			from, inside = at, true
		case strings.HasPrefix(text, "[") && !own:
			inside = false
		}
		at += len(line)
		if inside && text != "" && !strings.HasPrefix(text, "#") {
			to = at
		}
	}
	return from, to
}

// header reports whether a line is the header of an entry's table or of one of
// its subtables.
func (t tomlFile) header(line, name string) bool {
	line, _, _ = strings.Cut(line, "#")
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "[") || !strings.HasSuffix(line, "]") {
		return false
	}
	keys := strings.Split(strings.Trim(line, "[]"), ".")
	if len(keys) < 2 {
		return false
	}
	for i, want := range []string{t.group, name} {
		if strings.Trim(strings.TrimSpace(keys[i]), `"'`) != want {
			return false
		}
	}
	return true
}
