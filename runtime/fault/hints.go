package fault

import (
	"cmp"
	"regexp"
	"strings"
)

// Hints holds a door's hints: one for each case of a fault, and one for each code
// without cases. In a hint, {name} is replaced by the fault's value with that
// name, or by NAME if the fault has no such value, and {hint} by the fault's own
// hint.
type Hints map[string]string

// Key returns the key of f in a door's [Hints]: its case if set, otherwise its
// code.
func (f *Fault) Key() string { return cmp.Or(f.Case, f.Code) }

// Of returns the door's hint for f, or false if the door has none. The map more
// holds additional values from the door. The fault's values take precedence.
func (h Hints) Of(f *Fault, more map[string]string) (string, bool) {
	text, ok := h[f.Key()]
	if !ok {
		return "", false
	}
	return Fill(text, f, more), true
}

// Names returns the names in braces in text, in order.
func Names(text string) []string {
	var names []string
	for _, m := range braces.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

var braces = regexp.MustCompile(`\{([a-z_]+)\}`)

// Fill replaces the names in braces in text as described at [Hints].
func Fill(text string, f *Fault, more map[string]string) string {
	return braces.ReplaceAllStringFunc(text, func(name string) string {
		name = name[1 : len(name)-1]
		if name == "hint" {
			return f.Hint
		}
		return cmp.Or(f.Values[name], more[name], strings.ToUpper(name))
	})
}
