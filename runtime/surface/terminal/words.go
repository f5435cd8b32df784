package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// clean removes characters from text that would control the terminal or change
// the order in which the text is shown. Such characters are removed because
// askers are not trusted.
func clean(text string) string {
	return textutil.Plain(text)
}

// line returns the first line of text, cleaned.
func line(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return strings.ReplaceAll(clean(text), "\t", " ")
}

// flat returns all of text, cleaned and on one line, so that one option cannot
// look like two.
func flat(text string) string { return textutil.OneLine(clean(text)) }

// heading returns a request's heading on one line.
func heading(r *elicit.Request) string {
	return line(r.Heading())
}

// asker describes who asks, and from where.
func asker(r *elicit.Request) string {
	text := line(r.Source.Name)
	if text == "" {
		text = "someone"
	}
	for _, more := range []string{r.Context.Branch, r.Context.CWD} {
		if more != "" {
			text += ", " + line(more)
		}
	}
	return text
}

// left returns how much time a request has left, or "" if it has no deadline.
func left(r *elicit.Request, now time.Time) string {
	switch {
	case r.Status == elicit.ExpiredOpen:
		return "overdue, can still be answered"
	case r.Deadline.IsZero():
		return ""
	}
	return duration(r.Deadline.Sub(now)) + " left"
}

// duration returns a duration in a short form for people: 45s, 4m12s, 2h05m,
// 3d.
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

// Ended describes how a request ended: the outcome, who ended it, where and
// when.
func Ended(r *elicit.Request) string {
	c := r.Completion
	if c == nil {
		return "the question is closed"
	}
	return line(c.Words()) + " at " + c.At.Local().Format(time.TimeOnly)
}

// ago returns how long ago something happened, as a number with one letter.
func ago(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
