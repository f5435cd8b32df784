package elicit

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// What people read is the same in the terminal and on the web. The texts here
// hold what askers wrote, as it is: a surface cleans it in its own way.

// Heading is what a request is called: its title, or its message, of which a
// surface shows the first line.
func (r *Request) Heading() string {
	if r.Title != "" {
		return r.Title
	}
	return r.Message
}

// Place is where a request comes from: its project, or else the folder that the
// asker works in; empty: not known.
func (r *Request) Place() string {
	if name := cmp.Or(r.Context.Project, r.Context.ProjectID); name != "" {
		return name
	}
	if cwd := strings.TrimRight(strings.ReplaceAll(r.Context.CWD, `\`, "/"), "/"); cwd != "" {
		return path.Base(cwd)
	}
	return ""
}

// Wants says what sort of answer a question takes.
func (q *Question) Wants() string {
	text := map[Kind]string{Text: "a text", Number: "a number", Integer: "a whole number",
		Boolean: "yes or no", SingleSelect: "choose one", MultiSelect: "choose any"}[q.Kind]
	if q.Format != "" {
		text += ", " + string(q.Format)
	}
	unit := map[Kind]string{Text: " characters", MultiSelect: " choices"}[q.Kind]
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

// Header is the short label of a question; empty if it says no more than the
// question.
func (q *Question) Header() string {
	if q.Title == q.Message {
		return ""
	}
	return q.Title
}

// Asks is the question with its header in front: "Database: Which one?"
func (q *Question) Asks() string {
	if header := q.Header(); header != "" {
		return header + ": " + q.Message
	}
	return q.Message
}

// Beside is what a question says where a heading is shown already: its header
// only, if the heading is its text.
func (q *Question) Beside(heading string) string {
	if q.Message == heading {
		return q.Header()
	}
	return q.Asks()
}

// Says is all there is to say of an option: "Postgres (recommended): runs
// already". Nothing that is recommended is chosen for the person.
func (o *Option) Says() string {
	text := o.Label
	if o.Recommended {
		text += " (recommended)"
	}
	if o.Description != "" {
		text += ": " + o.Description
	}
	return text
}

// Say words an answer; empty if there is none.
func (q *Question) Say(v *Value) string {
	if v == nil {
		return ""
	}
	var parts []string
	switch v.Kind {
	case TextValue:
		return v.Text
	case NumberValue:
		return strconv.FormatFloat(v.Number, 'f', -1, 64)
	case BooleanValue:
		if v.Boolean {
			return "Yes"
		}
		return "No"
	case SelectedValue:
		if o, ok := q.Option(v.Text); ok {
			parts = append(parts, o.Label)
		}
	case SelectedManyValue:
		for _, id := range v.Options {
			if o, ok := q.Option(id); ok {
				parts = append(parts, o.Label)
			}
		}
	}
	return strings.Join(append(parts, v.Freeform...), ", ")
}

// Words says what became of a request, by whom and where, and not when.
func (c *Completion) Words() string {
	what := map[Outcome]string{Accept: "answered", Decline: "declined", Cancel: "cancelled",
		Abandoned: "withdrawn", Timeout: "time is up"}[c.Outcome]
	what += Who(c.By, c.Channel)
	if why := c.why(); why != "" {
		what += ", " + why
	}
	return what
}

// why words the reason of a request that was taken back; empty: not known.
func (c *Completion) why() string {
	if c.Outcome != Abandoned {
		return ""
	}
	return endWords[c.Reason]
}

// Who says by whom and where something was done, to stand behind what was done:
// " by ada in the browser". Whoever uses this machine, as nearly everybody does,
// is not named.
func Who(by, channel string) (text string) {
	if by != "" && by != Local {
		text = " by " + by
	}
	switch channel {
	case "":
		return text
	case "web":
		return text + " in the browser"
	case "cli":
		return text + " on the command line"
	case "terminal":
		return text + " in the terminal"
	case "notification":
		return text + " by a notification"
	case "slack":
		return text + " in Slack"
	case "app":
		return text + " in the conversation"
	}
	return text + " in " + channel
}

// Final is what is sent when the person is done: what is answered is submitted,
// and a question that may be skipped and is not answered is. A question that
// needs an answer and has none is left out, for [Reduce] to name.
func (r *Request) Final(answers map[string]Answer) map[string]Answer {
	final := map[string]Answer{}
	for i := range r.Questions {
		q := &r.Questions[i]
		a := answers[q.ID]
		switch {
		case a.State != Skipped && a.Value != nil && !q.empty(a.Value):
			final[q.ID] = Answer{State: Submitted, Value: a.Value}
		case !q.Required:
			final[q.ID] = Answer{State: Skipped, Freeform: a.Freeform}
		}
	}
	return final
}

// Fields is a value as the texts of a plain form: what [Request.Fields] reads.
// question is the id of the question.
func (v *Value) Fields(question string) map[string][]string {
	fields := map[string][]string{}
	if v == nil {
		return fields
	}
	switch v.Kind {
	case TextValue:
		fields[question] = []string{v.Text}
	case NumberValue:
		fields[question] = []string{strconv.FormatFloat(v.Number, 'f', -1, 64)}
	case BooleanValue:
		fields[question] = []string{map[bool]string{true: "yes", false: "no"}[v.Boolean]}
	case SelectedValue:
		if v.Text != "" {
			fields[question] = []string{v.Text}
		}
	case SelectedManyValue:
		fields[question] = append([]string{}, v.Options...)
	}
	if len(v.Freeform) > 0 {
		fields[question+OtherSuffix] = v.Freeform
	}
	return fields
}
