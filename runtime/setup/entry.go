package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Server holds the command by which a client starts the MCP server.
type Server struct {
	Command string
	Args    []string
}

// field is one key of an entry, with its value. Fields are written in order.
type field struct {
	name  string
	value any // a string, a bool, an int, a []string, or []field for a group
}

// editor edits the entries in a configuration file of one format. Its methods
// are pure functions on bytes. Everything else in the file, including comments
// and line endings, stays identical byte for byte.
type editor interface {
	// entries returns the file's entries by name, with JSON types. An empty
	// file has no entries.
	entries(data []byte) (map[string]any, error)
	// others returns everything in the file except the entries.
	others(data []byte) (any, error)
	// blank reports whether a file contains nothing that a person would miss.
	blank(data []byte) bool
	// put adds the entry. If there is an entry with the same name, put replaces
	// it.
	put(data []byte, name string, entry []field) ([]byte, error)
	// cut removes the entry. If the group around it is then empty, and before
	// had no such group, cut removes the group too. before may be nil.
	cut(data []byte, name string, before []byte) ([]byte, error)
}

// problem is an error that says where a file could not be read or edited.
type problem struct {
	line int // 0 if unknown
	text string
}

func (p *problem) Error() string {
	if p.line == 0 {
		return p.text
	}
	return fmt.Sprintf("line %d: %s", p.line, p.text)
}

var errByHand = errors.New("it cannot be edited without changing something else")

// split splits a file into its byte-order mark and the rest. It also returns
// the file's line ending.
func split(data []byte) (mark, rest, newline string) {
	rest = string(data)
	if strings.HasPrefix(rest, bom) {
		mark, rest = bom, rest[len(bom):]
	}
	newline = "\n"
	if i := strings.IndexByte(rest, '\n'); i > 0 && rest[i-1] == '\r' {
		newline = "\r\n"
	}
	return mark, rest, newline
}

// blank reports whether data contains only white space.
func blank(data []byte) bool {
	_, rest, _ := split(data)
	return strings.TrimSpace(rest) == ""
}

const bom = "\ufeff"

// plain returns an entry with the types that a decoder returns.
func plain(entry []field) map[string]any {
	m := map[string]any{}
	for _, f := range entry {
		switch v := f.value.(type) {
		case []field:
			m[f.name] = plain(v)
		case []string:
			list := make([]any, len(v))
			for i, s := range v {
				list[i] = s
			}
			m[f.name] = list
		case int:
			m[f.name] = float64(v)
		default:
			m[f.name] = v
		}
	}
	return m
}

// same reports whether found equals entry.
func same(found any, entry []field) bool { return reflect.DeepEqual(found, any(plain(entry))) }

// asJSON converts a decoded value to JSON types, so that values from different
// formats can be compared.
func asJSON(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	return out, json.Unmarshal(b, &out)
}

// ours reports whether an entry starts deskhand's server. If so, it also
// returns the command.
func ours(entry any) (s Server, ok bool) {
	m, _ := entry.(map[string]any)
	for _, key := range []string{"command", "cmd"} {
		switch v := m[key].(type) {
		case string:
			s.Command = v
		case []any: // in some formats, for example opencode's, the list includes the arguments
			if list := texts(v); len(list) > 0 {
				s.Command, s.Args = list[0], list[1:]
			}
		}
	}
	if args, found := m["args"].([]any); found {
		s.Args = texts(args)
	}
	base := filepath.Base(strings.ReplaceAll(s.Command, `\`, "/"))
	return s, strings.TrimSuffix(base, ".exe") == "deskhand" && slices.Contains(s.Args, "serve")
}

func texts(list []any) (all []string) {
	for _, v := range list {
		if s, ok := v.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// checked runs an edit. It returns an error if the edit changed anything else.
// want changes the old entries to the expected new entries.
func checked(e editor, data []byte, edit func() ([]byte, error), want func(map[string]any)) ([]byte, error) {
	before, err := e.entries(data)
	if err != nil {
		return nil, err
	}
	out, err := edit()
	if err != nil {
		return nil, err
	}
	after, err := e.entries(out)
	if err != nil {
		return nil, errByHand
	}
	want(before)
	else1, err1 := e.others(data)
	else2, err2 := e.others(out)
	if err1 != nil || err2 != nil || !reflect.DeepEqual(before, after) || !reflect.DeepEqual(else1, else2) {
		return nil, errByHand
	}
	return out, nil
}
