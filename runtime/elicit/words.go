package elicit

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// People read the same text in the terminal and on the web. The strings returned
// here contain the askers' words unchanged; each surface cleans them in its own
// way.

// Heading returns the request's title, or its message if there is no title.
// Surfaces show the first line.
func (r *Request) Heading() string {
	if r.Title != "" {
		return r.Title
	}
	return r.Message
}

// Place returns where the request comes from: its project, or otherwise the asker's
// folder; empty if unknown.
func (r *Request) Place() string {
	if name := cmp.Or(r.Context.Project, r.Context.ProjectID); name != "" {
		return name
	}
	if cwd := strings.TrimRight(strings.ReplaceAll(r.Context.CWD, `\`, "/"), "/"); cwd != "" {
		return path.Base(cwd)
	}
	return ""
}

// Wants describes the type of answer a question takes.
func (q *Question) Wants() string {
	text := map[Kind]string{Text: "text", Number: "a number", Integer: "an integer",
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
		text += ", optional"
	}
	return text
}

// Header returns the question's short label; empty if it adds nothing to the
// question.
func (q *Question) Header() string {
	if q.Title == q.Message {
		return ""
	}
	return q.Title
}

// Asks returns the question after its header: "Database: Which one?"
func (q *Question) Asks() string {
	if header := q.Header(); header != "" {
		return header + ": " + q.Message
	}
	return q.Message
}

// Beside returns the question's text for display below heading: if heading is the
// question itself, this is only the question's header.
func (q *Question) Beside(heading string) string {
	if q.Message == heading {
		return q.Header()
	}
	return q.Asks()
}

// Says returns the full text of an option: "Postgres (recommended): runs
// already". Recommended options are not preselected.
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

// Say returns an answer in words; empty if there is none.
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

// Words describes how a request ended, by whom and where, but not when.
func (c *Completion) Words() string {
	what := map[Outcome]string{Accept: "answered", Decline: "declined", Cancel: "cancelled",
		Abandoned: "withdrawn", Timeout: "time is up"}[c.Outcome]
	if c.Rule != nil {
		return what + " " + c.Rule.Words()
	}
	what += Who(c.By, c.Channel)
	if why := c.why(); why != "" {
		what += ", " + why
	}
	return what
}

// why describes why a request was withdrawn, or returns "" if the reason is
// unknown.
func (c *Completion) why() string {
	if c.Outcome != Abandoned {
		return ""
	}
	return endWords[c.Reason]
}

// Who describes the person and the channel of an action, as text to append: " by
// ada in the browser". It does not name the user of this machine, because that is
// the usual case.
func Who(by, channel string) (text string) {
	if by == ByRule {
		return " by a rule"
	}
	if by != "" && by != Local && by != ByLink {
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
		return text + " from a notification"
	case "slack":
		return text + " in Slack"
	case "mail link":
		return text + " by mail link"
	case "app":
		return text + " in the conversation"
	}
	return text + " in " + channel
}

// Final returns the answers to send when the person is done: it submits the
// questions that have an answer and skips optional questions without an answer.
// It leaves out unanswered required questions, which [Reduce] then reports.
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

// Fields returns the value as the strings of a plain form's fields, which
// [Request.Fields] parses. question is the question's ID.
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
