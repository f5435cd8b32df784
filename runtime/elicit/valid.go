package elicit

import (
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits for the answers that a person can enter. They far exceed what people
// type, and keep one request from filling a store.
const (
	maxTextBytes = 64 << 10
	maxFreeform  = 16
)

// maxInteger is the largest number up to which a float64 represents every integer
// exactly.
const maxInteger = 1 << 53

// problem returns a description of what is wrong with an answer to q, or nil if the
// answer is valid. Drafts need only have the right kind, because people are still
// typing. Submitted answers are checked completely.
func (q *Question) problem(a *Answer) *Problem {
	var code, text string
	switch a.State {
	case Draft, Submitted:
		code, text = q.misfit(a.Value)
		if code == "" && a.State == Submitted {
			code, text = q.invalid(a.Value)
		}
	case Skipped:
		switch {
		case q.Required:
			code, text = "required", "an answer is required; the question cannot be skipped"
		case a.Value != nil:
			code, text = "value_not_allowed", "a skipped question must not have a value"
		default:
			code, text = freeformBounds(a.Freeform)
		}
	default:
		code, text = "unknown_state", fmt.Sprintf("state %q is not one of draft, submitted, skipped", a.State)
	}
	if code == "" {
		return nil
	}
	return q.wrong(code, text)
}

// Accepts reports whether v is a valid answer to q.
func (q *Question) Accepts(v *Value) bool {
	return q.problem(&Answer{State: Submitted, Value: v}) == nil
}

func (q *Question) wrong(code, text string) *Problem {
	return &Problem{QuestionID: q.ID, Code: code, Message: fmt.Sprintf("question %q: %s", q.ID, text)}
}

// misfit reports why v can never be an answer to q.
func (q *Question) misfit(v *Value) (code, text string) {
	if v == nil {
		return "value_required", "an answer in this state needs a value"
	}
	if want := valueKinds[q.Kind]; v.Kind != want {
		return "kind_mismatch", fmt.Sprintf("a %s question takes a value of kind %s, not %s", q.Kind, want, v.Kind)
	}
	if len(v.Freeform) > 0 && !q.AllowFreeform {
		return "freeform_not_allowed", "the question does not allow free text"
	}
	if code, text := freeformBounds(v.Freeform); code != "" {
		return code, text
	}
	switch v.Kind {
	case TextValue:
		return textBounds(v.Text)
	case NumberValue:
		if math.IsNaN(v.Number) || math.IsInf(v.Number, 0) {
			return "not_a_number", "the answer is not a number"
		}
	case SelectedValue:
		if v.Text != "" {
			return q.known(v.Text)
		}
	case SelectedManyValue:
		for i, id := range v.Options {
			if code, text := q.known(id); code != "" {
				return code, text
			}
			if slices.Contains(v.Options[:i], id) {
				return "duplicate_option", fmt.Sprintf("option %q is chosen twice", id)
			}
		}
	}
	return "", ""
}

func (q *Question) known(id string) (code, text string) {
	if _, ok := q.Option(id); !ok {
		return "unknown_option", fmt.Sprintf("there is no option %q", brief(id))
	}
	return "", ""
}

func freeformBounds(words []string) (code, text string) {
	if len(words) > maxFreeform {
		return "too_many", fmt.Sprintf("at most %d free-text entries are allowed", maxFreeform)
	}
	for _, w := range words {
		if code, text := textBounds(w); code != "" {
			return code, text
		}
	}
	return "", ""
}

func textBounds(s string) (code, text string) {
	switch {
	case len(s) > maxTextBytes:
		return "too_long", fmt.Sprintf("the text is %d bytes long; the maximum is %d", len(s), maxTextBytes)
	case !utf8.ValidString(s):
		return "not_text", "the text is not valid UTF-8"
	}
	return "", ""
}

// invalid reports why v, which fits, cannot be submitted.
func (q *Question) invalid(v *Value) (code, text string) {
	for _, w := range v.Freeform {
		if strings.TrimSpace(w) == "" {
			return "blank", "the free text is blank"
		}
	}
	if q.empty(v) {
		if q.Required || v.Kind == SelectedValue {
			return "required", "an answer is required"
		}
		return "", ""
	}
	switch q.Kind {
	case Text:
		if code, text := q.within(float64(utf8.RuneCountInString(v.Text)), "short", "long", " characters"); code != "" {
			return code, text
		}
		return q.Format.mismatch(v.Text)
	case Integer:
		if v.Number != math.Trunc(v.Number) || math.Abs(v.Number) > maxInteger {
			return "not_an_integer", fmt.Sprintf("%v is too large to be stored exactly as an integer", v.Number)
		}
		return q.within(v.Number, "small", "big", "")
	case Number:
		return q.within(v.Number, "small", "big", "")
	case MultiSelect:
		return q.within(float64(len(v.Options)+len(v.Freeform)), "few", "many", " choices")
	}
	return "", ""
}

// empty reports whether v answers nothing: it is blank text, or nothing is
// selected.
func (q *Question) empty(v *Value) bool {
	switch v.Kind {
	case TextValue:
		return strings.TrimSpace(v.Text) == ""
	case SelectedValue:
		return v.Text == "" && len(v.Freeform) == 0
	case SelectedManyValue:
		return len(v.Options) == 0 && len(v.Freeform) == 0
	}
	return false
}

func (q *Question) within(n float64, under, over, unit string) (code, text string) {
	if q.Min != nil && n < *q.Min {
		return "too_" + under, fmt.Sprintf("at least %v%s, not %v", *q.Min, unit, n)
	}
	if q.Max != nil && n > *q.Max {
		return "too_" + over, fmt.Sprintf("at most %v%s, not %v", *q.Max, unit, n)
	}
	return "", ""
}

func (f Format) mismatch(s string) (code, text string) {
	var err error
	switch f {
	case Email:
		var a *mail.Address
		if a, err = mail.ParseAddress(s); err == nil && a.Address != s {
			err = fmt.Errorf("the text contains more than an address")
		}
	case URI:
		var u *url.URL
		if u, err = url.Parse(s); err == nil && !u.IsAbs() {
			err = fmt.Errorf("no scheme")
		}
	case Date:
		_, err = time.Parse(time.DateOnly, s)
	case DateTime:
		_, err = time.Parse(time.RFC3339, s)
	}
	if err == nil {
		return "", ""
	}
	example := map[Format]string{Email: "ada@example.org", URI: "https://example.org/page", Date: "2026-02-25", DateTime: "2026-02-25T14:30:00Z"}[f]
	return "bad_format", fmt.Sprintf("%q does not have the format %s, for example %s", brief(s), f, example)
}

// brief truncates a client's text so that it fits in a sentence.
func brief(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "..."
}

// missing lists the problems that prevent accepting the request with these answers.
func (r *Request) missing(answers map[string]Answer) []Problem {
	var problems []Problem
	for i := range r.Questions {
		q := &r.Questions[i]
		a, given := answers[q.ID]
		switch {
		case given && a.State != Draft:
			if p := q.problem(&a); p != nil {
				problems = append(problems, *p)
			}
		case q.Required && given:
			problems = append(problems, *q.wrong("not_submitted", "the answer is only a draft"))
		case q.Required:
			problems = append(problems, *q.wrong("required", "an answer is required"))
		}
	}
	return problems
}
