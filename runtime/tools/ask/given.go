package ask

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// given are the members of an object as a model wrote them.
type given []contract.Field

// first returns the value of the first name that is given, exactly or in
// another spelling. A null counts as absent.
func (g given) first(names ...string) (json.RawMessage, bool) {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b },
		func(a, b string) bool { return folded(a) == folded(b) },
	} {
		for _, name := range names {
			for _, f := range g {
				if same(f.Name, name) && string(f.Value) != "null" {
					return f.Value, true
				}
			}
		}
	}
	return nil, false
}

func (g given) has(names ...string) bool {
	_, ok := g.first(names...)
	return ok
}

// folded is a name without case, "_" and "-".
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// object reads the members of an object; nil if it is none.
func (in *reading) object(place string, raw json.RawMessage) given {
	members, err := contract.Fields(contract.Unwrap(raw))
	if err != nil {
		switch f := fault.Of(err); f.Code {
		case "not_object":
			in.wrong("%s must be an object", place)
		default:
			in.wrong("%s: %s", place, f.Message)
		}
		return nil
	}
	if members == nil {
		members = []contract.Field{}
	}
	return members
}

// list reads an array.
func list(raw json.RawMessage) (items []json.RawMessage, ok bool) {
	raw = contract.Unwrap(raw)
	return items, raw[0] == '[' && json.Unmarshal(raw, &items) == nil
}

// text reads a string, or a number or a truth value as it is written.
func text(raw json.RawMessage) (s string, ok bool) {
	switch raw[0] {
	case '"':
		ok = json.Unmarshal(raw, &s) == nil
		return s, ok
	case '{', '[', 'n':
		return "", false
	}
	return string(raw), true
}

// text is the first of the names that is given as a text; empty if none is.
// Only the first name has to be one: who knows what another tool means by the
// others.
func (in *reading) text(place string, fields given, names ...string) string {
	for i, name := range names {
		raw, ok := fields.first(name)
		if !ok {
			continue
		}
		if s, ok := text(raw); ok {
			return s
		}
		if i == 0 {
			in.wrong("%s must be a string", place)
			return ""
		}
	}
	return ""
}

// flag is the first of the names that is given as true or false, in quotes or
// not. As with texts, only the first name has to be one.
func (in *reading) flag(place string, fields given, names ...string) (on, ok bool) {
	for i, name := range names {
		raw, ok := fields.first(name)
		if !ok {
			continue
		}
		word, _ := text(raw)
		switch strings.ToLower(word) {
		case "true", "yes", "1":
			return true, true
		case "false", "no", "0":
			return false, true
		}
		if i == 0 {
			in.wrong("%s must be true or false", place)
			return false, false
		}
	}
	return false, false
}

// milliseconds reads a whole number; 5e4 and 50000.0 are ones. Zero, which to
// elicit means that none was given, is out of range as 1 is.
func (in *reading) milliseconds(place string, raw json.RawMessage) int64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) {
		hint := ""
		if s, ok := text(raw); ok && raw[0] == '"' {
			if _, err := strconv.ParseInt(s, 10, 64); err == nil {
				hint = ": write " + s + ", without quotes"
			}
		}
		in.wrong("%s must be an integer, in milliseconds%s", place, hint)
		return 0
	}
	if n < 1 {
		return 1
	}
	return int64(min(n, 1<<41)) // 70 years, which elicit can still add up
}
