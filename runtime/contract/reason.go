package contract

import (
	"fmt"
	"strconv"
	"strings"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// reworded describes an error of the schema library as the quick checks describe theirs:
// with the innermost field and what its value must be. The library's error is a chain of
// locations, followed by the keyword that failed.
func reworded(err error) (field, message string) {
	reason := err.Error()
	subject := ""
	for {
		rest, ok := strings.CutPrefix(reason, "validating ")
		if !ok {
			break
		}
		place, tail, ok := strings.Cut(rest, ": ")
		if !ok {
			break
		}
		if path := dotted(place); path != "" {
			field, subject = path, path
		}
		for end, each := range map[string]string{"/items": "item", "/additionalProperties": "value"} {
			if field != "" && strings.HasSuffix(place, end) {
				subject = "each " + each + " of " + field
			}
		}
		reason = tail
	}
	reason, _, _ = strings.Cut(reason, "\n")
	if own := inOwnWords(field, subject, reason); own != "" {
		return field, own
	}
	if field == "" {
		return "", "Invalid arguments: " + textutil.Excerpt(reason, maxQuoted)
	}
	return field, "Invalid value for " + quote(field) + ": " + textutil.Excerpt(reason, maxQuoted)
}

// inOwnWords returns the message for a reason of the schema library, or "" for one that
// it does not know.
func inOwnWords(field, subject, reason string) string {
	if names, ok := strings.CutPrefix(reason, "required: missing properties: "); ok {
		return strings.TrimPrefix(field+"."+listedNames(names), ".") + " is required"
	}
	if field == "" {
		return ""
	}
	if names, ok := strings.CutPrefix(reason, "unexpected additional properties "); ok {
		return fmt.Sprintf("Unexpected field '%s' in %s", listedNames(names), field)
	}
	keyword, detail, _ := strings.Cut(reason, ": ")
	if keyword == "pattern" {
		return misspelt(subject, detail)
	}
	if _, types, ok := cutLast(detail, " has type "); ok && keyword == "type" {
		given, want, _ := strings.Cut(types, ", want ")
		return must(subject, typeName(want)+", not "+typeName(given))
	}
	if given, allowed, ok := strings.Cut(detail, " does not equal any of: "); ok && keyword == "enum" {
		return fmt.Sprintf("Invalid value for '%s': %s. Allowed values: %s", field, quote(given), strings.Join(strings.Fields(strings.Trim(allowed, "[]")), ", "))
	}
	rule, known := limits[keyword]
	if !known {
		return ""
	}
	at := strings.LastIndexByte(detail, ' ')
	limit, err := strconv.ParseFloat(detail[at+1:], 64)
	if err != nil {
		return ""
	}
	unit := rule.unit
	if limit == 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	return must(subject, strings.TrimSpace(strings.NewReplacer("#", plain(limit), "~", unit).Replace(rule.words)))
}

// limits words the keywords whose message ends with a number. In words, # is the number
// and ~ is the unit.
var limits = map[string]struct{ words, unit string }{
	"minItems":         {"have at least # ~", "items"},
	"maxItems":         {"have at most # ~", "items"},
	"minProperties":    {"have at least # ~", "fields"},
	"maxProperties":    {"have at most # ~", "fields"},
	"minLength":        {"be at least # ~ long", "characters"},
	"maxLength":        {"be at most # ~ long", "characters"},
	"minimum":          {"be at least #", ""},
	"maximum":          {"be at most #", ""},
	"exclusiveMinimum": {"be more than #", ""},
	"exclusiveMaximum": {"be less than #", ""},
}

func must(subject, what string) string {
	if verb, _, _ := strings.Cut(what, " "); verb != "have" && verb != "be" {
		what = "be " + what
	}
	return subject + " must " + what
}

// misspelt words a string that does not match a pattern.
func misspelt(subject, detail string) string {
	quoted, err := strconv.QuotedPrefix(detail)
	if err != nil {
		return ""
	}
	given, _ := strconv.Unquote(quoted)
	switch _, pattern, _ := strings.Cut(detail, " regular expression "); pattern {
	case strconv.Quote(uuidPattern):
		return must(subject, "a UUID, not "+quote(given))
	case strconv.Quote(visiblePattern):
		return must(subject, "a non-empty string")
	}
	return ""
}

// typeName returns a JSON type, which the library has put in quotes, with its article.
func typeName(quoted string) string {
	switch name := strings.Trim(quoted, `"`); name {
	case "string", "number":
		return "a " + name
	case "integer", "object":
		return "an " + name
	case "boolean":
		return "true or false"
	case "array":
		return "a list"
	default:
		return name
	}
}

// listedNames converts ["a" "b"] to a, b.
func listedNames(quoted string) string {
	return strings.ReplaceAll(strings.Trim(quoted, `[]"`), `" "`, ", ")
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// dotted converts /properties/a/items/properties/b to a.b.
func dotted(pointer string) string {
	var names []string
	parts := strings.Split(pointer, "/")
	for i := 1; i < len(parts); i++ {
		if parts[i-1] == "properties" {
			names = append(names, parts[i])
		}
	}
	return strings.Join(names, ".")
}
