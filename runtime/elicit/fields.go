package elicit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Fields parses answers from the strings of named fields, for example from a
// command line or a plain form. A field is named after its question, or with
// [OtherSuffix] for free text. Options are given by ID or label, and several
// options as several strings; booleans are yes, no, true and false. A field
// without strings counts as absent, except that for a multi-select it selects
// nothing. Blank strings count only for text questions. The returned answers are
// submitted; [Reduce] checks them. The error is a *[Rejection] that names every
// field that cannot be parsed.
func (r *Request) Fields(fields map[string][]string) (map[string]Answer, error) {
	answers := map[string]Answer{}
	var problems []Problem
	known := map[string]bool{}
	for i := range r.Questions {
		q := &r.Questions[i]
		known[q.ID] = true
		var own []string
		if q.AllowFreeform {
			known[q.ID+OtherSuffix] = true
			own = notBlank(fields[q.ID+OtherSuffix])
		}
		texts, given := fields[q.ID]
		if q.Kind != Text {
			texts = notBlank(texts)
		}
		if len(texts) == 0 && len(own) == 0 && !(given && q.Kind == MultiSelect) {
			continue
		}
		v, code, text := q.read(texts)
		if code != "" {
			problems = append(problems, *q.wrong(code, text))
			continue
		}
		v.Freeform = own
		answers[q.ID] = Answer{State: Submitted, Value: v}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !known[name] {
			problems = append(problems, unknownQuestion(name))
		}
	}
	if len(problems) > 0 {
		return nil, rejectProblems(InvalidAnswers, problems)
	}
	return answers, nil
}

func notBlank(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return strings.TrimSpace(s) == "" })
}

// read converts a field's strings to a value. If that fails, code is the reason;
// otherwise code is empty.
func (q *Question) read(texts []string) (v *Value, code, text string) {
	v = &Value{Kind: valueKinds[q.Kind]}
	if q.Kind != MultiSelect && len(texts) > 1 {
		return nil, "too_many", fmt.Sprintf("want one answer, not %d", len(texts))
	}
	if q.Kind == MultiSelect {
		v.Options = []string{}
	}
	for _, s := range texts {
		switch q.Kind {
		case Text:
			v.Text = s
		case Number, Integer:
			n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
			if err != nil {
				return nil, "not_a_number", fmt.Sprintf("%q is not a number", brief(s))
			}
			v.Number = n
		case Boolean:
			switch strings.ToLower(strings.TrimSpace(s)) {
			case "yes", "y", "true":
				v.Boolean = true
			case "no", "n", "false":
			default:
				return nil, "not_yes_or_no", fmt.Sprintf("%q is not yes or no", brief(s))
			}
		case SingleSelect:
			v.Text = q.choose(s)
		case MultiSelect:
			v.Options = append(v.Options, q.choose(s))
		}
	}
	return v, "", ""
}

// choose returns the ID of the option with this ID or label. If there is none, it
// returns s, which is then refused as an unknown ID.
func (q *Question) choose(s string) string {
	if _, ok := q.Option(s); ok {
		return s
	}
	for _, o := range q.Options {
		if o.Label == s {
			return o.ID
		}
	}
	return s
}

// Content returns the answers as JSON values by question ID. Free text in
// addition to a list has a key with [OtherSuffix]. Skipped questions and drafts
// are left out. [TextsOf] and [Request.Fields] parse the result again.
func (r *Request) Content() map[string]any {
	content := map[string]any{}
	for _, q := range r.Questions {
		a := r.Answers[q.ID]
		v := a.Value
		if a.State != Submitted || v == nil {
			continue
		}
		switch v.Kind {
		case TextValue:
			content[q.ID] = v.Text
		case NumberValue:
			content[q.ID] = v.Number
		case BooleanValue:
			content[q.ID] = v.Boolean
		case SelectedValue:
			if v.Text != "" {
				content[q.ID] = v.Text
			}
		case SelectedManyValue:
			content[q.ID] = append([]string{}, v.Options...)
		}
		if len(v.Freeform) > 0 {
			content[q.ID+OtherSuffix] = v.Freeform
		}
	}
	return content
}

// TextsOf returns a decoded JSON value as the strings of a field for
// [Request.Fields]: none, one, or one for each item of a list. ok is false for
// objects and nested lists.
func TextsOf(v any) (texts []string, ok bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case string:
		return []string{v}, true
	case bool:
		return []string{strconv.FormatBool(v)}, true
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}, true
	case []any:
		texts = []string{}
		for _, item := range v {
			one, ok := TextsOf(item)
			if !ok || len(one) != 1 {
				return nil, false
			}
			texts = append(texts, one...)
		}
		return texts, true
	}
	return nil, false
}
