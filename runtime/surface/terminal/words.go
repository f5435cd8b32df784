package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// clean takes out of text what would do something to a terminal, or would show
// it in an order that it does not have: askers may be anybody.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// line is the first line of a text, clean.
func line(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return strings.ReplaceAll(clean(text), "\t", " ")
}

// flat is all of a text on one line, clean: an option must not look like two.
func flat(text string) string { return strings.Join(strings.Fields(clean(text)), " ") }

// heading is what a request is called in one line.
func heading(r *elicit.Request) string {
	if r.Title != "" {
		return line(r.Title)
	}
	return line(r.Message)
}

// asker says who asks, and about what place.
func asker(r *elicit.Request) string {
	text := line(r.Source.Name)
	if text == "" {
		text = "somebody"
	}
	for _, more := range []string{r.Context.Branch, r.Context.CWD} {
		if more != "" {
			text += ", " + line(more)
		}
	}
	return text
}

// left says how much time a request has; empty: no bound.
func left(r *elicit.Request, now time.Time) string {
	switch {
	case r.Status == elicit.ExpiredOpen:
		return "late, still welcome"
	case r.Deadline.IsZero():
		return ""
	}
	return duration(r.Deadline.Sub(now)) + " left"
}

// duration is short and for reading: 45s, 4m12s, 2h05m, 3d.
func duration(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// wants says in words what sort of answer a question takes.
func wants(q *elicit.Question) string {
	text := map[elicit.Kind]string{elicit.Text: "a text", elicit.Number: "a number", elicit.Integer: "a whole number",
		elicit.Boolean: "yes or no", elicit.SingleSelect: "choose one", elicit.MultiSelect: "choose any"}[q.Kind]
	if q.Format != "" {
		text += ", " + string(q.Format)
	}
	unit := map[elicit.Kind]string{elicit.Text: " characters", elicit.MultiSelect: " choices"}[q.Kind]
	if q.Min != nil {
		text += fmt.Sprintf(", at least %v%s", *q.Min, unit)
	}
	if q.Max != nil {
		text += fmt.Sprintf(", at most %v%s", *q.Max, unit)
	}
	if !q.Required {
		text += ", may be skipped"
	}
	return text
}

// say words an answer; empty if there is none.
func say(q *elicit.Question, v *elicit.Value) string {
	if v == nil {
		return ""
	}
	var parts []string
	switch v.Kind {
	case elicit.TextValue:
		return v.Text
	case elicit.NumberValue:
		return strconv.FormatFloat(v.Number, 'f', -1, 64)
	case elicit.BooleanValue:
		if v.Boolean {
			return "Yes"
		}
		return "No"
	case elicit.SelectedValue:
		if o, ok := q.Option(v.Text); ok {
			parts = append(parts, o.Label)
		}
	case elicit.SelectedManyValue:
		for _, id := range v.Options {
			if o, ok := q.Option(id); ok {
				parts = append(parts, o.Label)
			}
		}
	}
	return strings.Join(append(parts, v.Freeform...), ", ")
}

// Ended says how a request ended: what, by whom, where and when.
func Ended(r *elicit.Request) string {
	c := r.Completion
	if c == nil {
		return "the question is closed"
	}
	what := map[elicit.Outcome]string{elicit.Accept: "answered", elicit.Decline: "declined", elicit.Cancel: "cancelled",
		elicit.Abandoned: "withdrawn", elicit.Timeout: "time is up"}[c.Outcome]
	if c.By != "" {
		what += " by " + line(c.By)
	}
	if c.Channel != "" {
		what += " in " + line(c.Channel)
	}
	return what + " at " + c.At.Local().Format(time.TimeOnly)
}
