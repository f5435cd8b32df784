package console

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	textutil "github.com/deskhand/deskhand/runtime/text"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
)

// NoteOf returns the person's note on an answer, to be printed after the question.
func NoteOf(r elicit.Request) string {
	if r.Completion == nil || r.Completion.Note == "" {
		return ""
	}
	return " (note: " + textutil.Shorten(OneLine(r.Completion.Note), 60) + ")"
}

// StateOf returns a word for a request's state.
func StateOf(r elicit.Request) string {
	switch {
	case r.TurnEnd != nil && r.Status != elicit.Completed:
		return "open, agent finished"
	case r.Status == elicit.Open:
		return "open"
	case r.Status == elicit.ExpiredOpen:
		return "expired"
	}
	return OutcomeWords[r.Completion.Outcome]
}

// OutcomeWords maps each outcome of a request to a word.
var OutcomeWords = map[elicit.Outcome]string{
	elicit.Accept: "answered", elicit.Decline: "declined", elicit.Cancel: "cancelled", elicit.Abandoned: "withdrawn", elicit.Timeout: "expired",
}

// Heading returns the first line of a question's title or message, shortened if
// necessary.
func Heading(r elicit.Request) string {
	first, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(r.Title, r.Message)), "\n")
	return textutil.Shorten(first, 60)
}

// Age returns how long ago t was, for example "5m ago".
func Age(t time.Time) string {
	switch d := time.Since(t); {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(max(d, 0).Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	}
}

// Question prints a request for people.
func (c *Console) Question(r elicit.Request) error {
	paint := PainterFor(c.Stdout)
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s, asked %s by %s\n", paint.Bold(r.ID), StateOf(r), Age(r.CreatedAt.Time), paint.Plain(r.Source.Name))
	if !r.Deadline.IsZero() && r.Status == elicit.Open {
		fmt.Fprintf(&b, "until %s\n", r.Deadline.Local().Format(time.DateTime))
	}
	if who := r.Audience.Words(); who != "" {
		fmt.Fprintf(&b, "for %s\n", paint.Plain(who))
	}
	if routing := r.Takes(time.Local); routing != "" {
		fmt.Fprintf(&b, "%s\n", paint.Plain(routing))
	}
	if standing := r.Standing(); standing != "" {
		fmt.Fprintf(&b, "%s\n", standing)
	}
	if c := r.Completion; c != nil && r.Status == elicit.Completed {
		fmt.Fprintf(&b, "%s, %s\n", paint.Plain(By(StateOf(r), c)), Age(c.At.Time))
	}
	if o := r.EndedFrom; o != nil {
		fmt.Fprintf(&b, "from %s\n", paint.Plain(o.Words()))
	}
	if r.Title != "" {
		fmt.Fprintf(&b, "\n%s\n", paint.Bold(r.Title))
	}
	if p := r.Proposal; p != nil {
		if warning := p.Warning(); warning != "" {
			fmt.Fprintf(&b, "\n%s\n", paint.Bold(warning))
		}
		fmt.Fprintf(&b, "\n    %s\n", strings.ReplaceAll(paint.Plain(p.Text), "\n", "\n    "))
	}
	if len(r.Questions) == 0 || r.Message != r.Title && r.Message != r.Questions[0].Message {
		fmt.Fprintf(&b, "\n%s\n", paint.Plain(r.Message))
	}
	if r.URL != "" {
		fmt.Fprintf(&b, "\n%s\n", paint.Path(r.URL))
	}
	for i, q := range r.Questions {
		fmt.Fprintf(&b, "\n#%d %s  %s\n", i+1, paint.Plain(q.Asks()), paint.Dim(describe(q)))
		for _, o := range q.Options {
			fmt.Fprintf(&b, "   - %s\n", paint.Plain(strings.Join(strings.Fields(optionLine(o)), " ")))
		}
		if answer, ok := r.Answers[q.ID]; ok {
			fmt.Fprintf(&b, "   %s: %s\n", answer.State, paint.Plain(strings.Join(asktools.AnswerOf(&q, answer).Texts(), ", ")))
		}
	}
	_, err := c.Stdout.Write([]byte(b.String()))
	return err
}

// describe returns a question's ID, kind and possible answers.
func describe(q elicit.Question) string {
	text := q.ID + ", " + string(q.Kind)
	if !q.Required {
		text += ", optional"
	}
	if q.AllowFreeform {
		text += ", or free text as " + q.ID + elicit.OtherSuffix
	}
	return text
}

func optionLine(o elicit.Option) string {
	text := o.Label
	if o.ID != o.Label {
		text += " (" + o.ID + ")"
	}
	if o.Description != "" {
		text += ": " + o.Description
	}
	if o.Recommended {
		text += " [recommended]"
	}
	return text
}

// By adds the person, channel, time and note of a completion to the given
// description.
func By(what string, c *elicit.Completion) string {
	if c.Rule != nil {
		what += " " + c.Rule.Words() + ";"
	} else {
		what += elicit.Who(c.By, c.Channel)
	}
	what += " at " + c.At.Local().Format(time.TimeOnly)
	if c.Note != "" {
		what += ": " + c.Note
	}
	return what
}

// Questions prints a table of requests.
func (c *Console) Questions(list []elicit.Request) error {
	paint := PainterFor(c.Stdout)
	w := NewTable(c.Stdout)
	fmt.Fprintln(w, "ID\tSTATE\tASKED\tBY\tQUESTION")
	for _, r := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.ID, StateOf(r), Age(r.CreatedAt.Time), paint.Plain(r.Source.Name), paint.Plain(Heading(r)+NoteOf(r)))
	}
	return w.Flush()
}
