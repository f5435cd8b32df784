package contracttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/deskhand/deskhand/runtime/contract"
)

// Check returns an error that describes everything in a tool that is known to
// confuse clients, or nil if there is nothing of the kind.
func Check(t contract.Tool) error {
	var problems []error
	report := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %s", t.Name, fmt.Sprintf(format, args...)))
	}
	if !contract.ValidName(t.Name) {
		report("the name does not fit [a-zA-Z0-9_-]{1,64}")
	}
	if t.Description == "" {
		report("no description")
	}
	if t.Call == nil {
		report("no function")
	}
	checkSchema(t.Input, "input", report)
	if t.Output != nil {
		checkSchema(t.Output, "output", report)
	}
	return errors.Join(problems...)
}

func checkSchema(raw json.RawMessage, place string, report func(string, ...any)) {
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil || root["type"] != "object" {
		report("%s schema is not of an object: %v", place, err)
		return
	}
	// A popular client silently drops tools whose root combines schemas.
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		if _, ok := root[word]; ok {
			report("%s schema: %s at the root", place, word)
		}
	}
	checkNode(root, place, report)
}

// checkNode walks a schema. It reports properties without a description, obsolete
// names and references. It skips conditions (if, then, else, not), because their
// properties are described where they are declared.
func checkNode(node map[string]any, place string, report func(string, ...any)) {
	if _, ok := node["$ref"]; ok {
		report("%s: $ref", place)
	}
	properties, _ := node["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		at := place + "." + name
		if name == "workspace_id" {
			report("%s: not a word of ours", at)
		}
		property, _ := properties[name].(map[string]any)
		if text, _ := property["description"].(string); text == "" {
			report("%s: no description", at)
		}
		checkNode(property, at, report)
	}
	for _, word := range []string{"items", "additionalProperties"} {
		if below, ok := node[word].(map[string]any); ok {
			checkNode(below, place+"/"+word, report)
		}
	}
	for _, word := range []string{"oneOf", "anyOf", "allOf", "prefixItems"} {
		list, _ := node[word].([]any)
		for i, entry := range list {
			if below, ok := entry.(map[string]any); ok {
				checkNode(below, fmt.Sprintf("%s/%s[%d]", place, word, i), report)
			}
		}
	}
}
