package fault

import (
	"cmp"
	"regexp"
	"strings"
)

// Hints holds one door's hints: a text for each case of a fault, and for each
// code without cases. In a text, {name} stands for the fault's value of that
// name, or NAME if it has none; {hint} stands for the fault's own hint.
type Hints map[string]string

// Key returns the key of f in a door's [Hints]: its case, or else its code.
func (f *Fault) Key() string { return cmp.Or(f.Case, f.Code) }

// Of returns the door's hint for f, or false if the door has none. more adds
// values that the door knows; those of the fault take precedence.
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

// braces matches a name in braces.
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
