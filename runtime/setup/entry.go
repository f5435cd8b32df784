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

// Server is how a client starts the MCP server.
type Server struct {
	Command string
	Args    []string
}

// field is one key of an entry, in the order in which it is written.
type field struct {
	name  string
	value any // a string, a bool, an int, a []string, or []field for a group
}

// editor edits the entries of one kind of configuration file. Its methods are
// pure: bytes in, bytes out. What they do not edit they keep to the byte,
// comments and line ends too.
type editor interface {
	// entries returns the entries of the file by name, as JSON would have them.
	// The file of no bytes has none.
	entries(data []byte) (map[string]any, error)
	// others returns all else that the file says.
	others(data []byte) (any, error)
	// blank reports whether a file has nothing that a person would miss.
	blank(data []byte) bool
	// put adds the entry, or replaces the one of that name.
	put(data []byte, name string, entry []field) ([]byte, error)
	// cut takes the entry out, and what contains it if that is empty then and
	// before had none. before may be nil.
	cut(data []byte, name string, before []byte) ([]byte, error)
}

// problem says where a file cannot be read or edited as needed.
type problem struct {
	line int // 0: unknown
	text string
}

func (p *problem) Error() string {
	if p.line == 0 {
		return p.text
	}
	return fmt.Sprintf("line %d: %s", p.line, p.text)
}

var errByHand = errors.New("it cannot be edited without changing something else")

// text splits a file into its byte-order mark and the rest, and says which line
// ends it has.
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

// blank reports whether there is nothing but space.
func blank(data []byte) bool {
	_, rest, _ := split(data)
	return strings.TrimSpace(rest) == ""
}

const bom = "\ufeff"

// plain is an entry as a decoder returns it.
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

// same reports whether an entry of a file is the one.
func same(found any, entry []field) bool { return reflect.DeepEqual(found, any(plain(entry))) }

// asJSON is a decoded value with the types that JSON has, so that values of
// different formats compare.
func asJSON(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	return out, json.Unmarshal(b, &out)
}

// ours reports whether an entry starts deskhand's server, and how.
func ours(entry any) (s Server, ok bool) {
	m, _ := entry.(map[string]any)
	for _, key := range []string{"command", "cmd"} {
		switch v := m[key].(type) {
		case string:
			s.Command = v
		case []any: // with its arguments, as opencode has it
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

// checked runs an edit and makes sure that it changed what it should and nothing
// else: want gets the entries as they were and makes them as they should be.
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
