package ask

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// given holds an object's members as the model wrote them.
type given []contract.Field

// first returns the value of the first member among names that is present,
// exactly or in another spelling. null counts as missing.
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

// folded returns name in lower case, without "_" and "-".
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// object returns an object's members, or nil if raw is not an object.
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

// list parses an array.
func list(raw json.RawMessage) (items []json.RawMessage, ok bool) {
	raw = contract.Unwrap(raw)
	return items, raw[0] == '[' && json.Unmarshal(raw, &items) == nil
}

// text returns a string's value, or a number or boolean as written.
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

// text returns the first member among names that is present, as text, or "" if none
// is. Only a wrong type for the first name is a problem, because the other names
// may mean something else in other tools.
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

// flag returns the first member among names that is present, as a boolean. The
// model may have written it with quotes. Only a wrong type for the first name is a
// problem, as with text.
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

// milliseconds parses an integer, which may be written as 5e4 or 50000.0. It
// returns 1 instead of 0, because to elicit 0 means that no timeout was given. Both
// are out of range.
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
	return int64(min(n, 1<<41)) // 70 years, which elicit can still add without overflow
}
