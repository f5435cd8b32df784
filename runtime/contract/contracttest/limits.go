package contracttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
)

// Limits returns the limits and defaults of a tool's arguments that their
// descriptions do not mention, for example "find.limit maximum 50". Codex shows
// its model no minimum, maximum, default, length or number of items, so calls
// would exceed unmentioned limits without warning.
func Limits(t contract.Tool) (unsaid []string) {
	var root map[string]any
	if err := json.Unmarshal(t.Input, &root); err != nil {
		return []string{t.Name + ": " + err.Error()}
	}
	limits(root, t.Name, "", func(at, keyword string, value any) {
		unsaid = append(unsaid, fmt.Sprintf("%s %s %v", at, keyword, value))
	})
	return unsaid
}

var limitKeywords = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "default"}

// limits walks a schema. If node describes the items of an array, above is the
// array's description, which may state the limits of its items.
func limits(node map[string]any, at, above string, report func(at, keyword string, value any)) {
	text, _ := node["description"].(string)
	text += " " + above
	for _, keyword := range limitKeywords {
		if value, ok := node[keyword]; ok && !says(text, keyword, value) {
			report(at, keyword, value)
		}
	}
	properties, _ := node["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if below, ok := properties[name].(map[string]any); ok {
			limits(below, at+"."+name, "", report)
		}
	}
	if items, ok := node["items"].(map[string]any); ok {
		limits(items, at+"[]", text, report)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := node[keyword].([]any)
		for _, one := range list {
			if below, ok := one.(map[string]any); ok {
				limits(below, at, text, report)
			}
		}
	}
}

// says reports whether text contains a value: a number in digits, or words that
// mean one of plainBounds.
func says(text, keyword string, value any) bool {
	text = strings.ToLower(text)
	word := fmt.Sprint(value)
	if n, ok := value.(float64); ok {
		word = strconv.FormatFloat(n, 'f', -1, 64)
		for _, words := range plainBounds[keyword+" "+word] {
			if strings.Contains(text, words) {
				return true
			}
		}
	}
	if keyword == "default" && !strings.Contains(text, "default") {
		return false
	}
	return regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(strings.ToLower(word)) + `($|[^\w])`).MatchString(text)
}

var plainBounds = map[string][]string{
	"minLength 1": {"non-empty", "not empty"},
	"minItems 1":  {"at least one", "non-empty", "not empty"},
	"minimum 0":   {"not negative"},
}
