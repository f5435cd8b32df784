// Package askline implements deskhand ask: it builds a question from a command line, asks
// it, and prints how it ends.
package askline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
)

// Line holds the flags of deskhand ask that describe the question. Changed and
// Exclusive are required.
type Line struct {
	Options                          []string // each VALUE or LABEL=VALUE; empty if there are no choices
	Multi, Confirm, Number, Integer  bool
	Multiline, NoOther               bool
	Required, Optional               bool
	Title, ID, Placeholder, Fallback string
	Min, Max                         float64
	Format, URL                      string
	Questions                        string // file with the input of ask_user; "-" means stdin
	Priority, To, Key                string
	Timeout                          time.Duration

	Changed   func(flag string) bool      // reports whether a flag was given
	Exclusive func(flags ...string) error // returns an error if more than one flag was given
}

// request builds a request from the flags and the question's text. It reads
// stdin if --questions is "-". The caller adds who asks and from where, and then
// calls prepare.
func (l *Line) request(question string, stdin io.Reader) (elicit.Request, error) {
	var r elicit.Request
	switch {
	case l.Changed("questions"):
		var err error
		if r, err = l.read(question, stdin); err != nil {
			return r, err
		}
	case question == "" && l.URL == "":
		return r, fault.Misuse("there is no question", "pass a question, for example: deskhand ask 'Which port?'")
	case question != "" && (l.URL == "" || l.answers()):
		q, err := l.question(question)
		if err != nil {
			return r, err
		}
		r.Questions = []elicit.Question{q}
	default:
		r.Message = question // a page to review
		if r.Message == "" {
			r.Message = "Please review " + l.URL
		}
	}
	if l.Title != "" {
		r.Title = l.Title
	}
	if l.URL != "" {
		r.URL = l.URL
	}
	if l.Priority != "" {
		r.Priority = elicit.Priority(l.Priority)
	}
	if l.Key != "" {
		r.Key = l.Key
	}
	if l.To != "" {
		r.Audience = elicit.AudienceOf(l.To)
	}
	if l.Changed("timeout") {
		if l.Timeout < 0 {
			return r, fault.Misuse("--timeout is negative", "use a duration, for example 90s, or 0 to wait forever")
		}
		if r.WaitMS = l.Timeout.Milliseconds(); r.WaitMS == 0 {
			r.WaitMS = -1
		}
	}
	return r, nil
}

// prepare checks a request and sets the default answer, which requires the
// question's options.
func (l *Line) prepare(r elicit.Request) (elicit.Request, error) {
	r, err := elicit.Prepare(r)
	if err != nil || l.Fallback == "" || len(r.Questions) != 1 {
		return r, err
	}
	q := &r.Questions[0]
	answers, err := r.Fields(map[string][]string{q.ID: {l.Fallback}})
	if err != nil {
		return r, err
	}
	q.Default = answers[q.ID].Value
	return elicit.Prepare(r)
}

// answers reports whether a flag describes an answer, in which case a request with
// a URL also has a question.
func (l *Line) answers() bool {
	for _, name := range questionFlags {
		if l.Changed(name) {
			return true
		}
	}
	return false
}

// questionFlags lists the flags that describe the command line's only question.
var questionFlags = []string{"option", "multi", "confirm", "number", "integer", "multiline", "required", "optional", "no-other",
	"id", "placeholder", "default", "min", "max", "format"}

func (l *Line) question(text string) (elicit.Question, error) {
	if err := l.Exclusive("confirm", "number", "integer", "option"); err != nil {
		return elicit.Question{}, err
	}
	q := elicit.Question{ID: l.ID, Message: text, Required: l.Required && !l.Optional, Placeholder: l.Placeholder, Multiline: l.Multiline, Format: elicit.Format(l.Format)}
	switch {
	case len(l.Options) > 0:
		q.Kind, q.AllowFreeform = elicit.SingleSelect, !l.NoOther
		if l.Multi {
			q.Kind = elicit.MultiSelect
		}
		var err error
		if q.Options, err = options(l.Options); err != nil {
			return q, err
		}
	case l.Multi:
		return q, fault.Misuse("--multi needs options", "pass each choice with --option")
	case l.Confirm:
		q.Kind = elicit.Boolean
	case l.Number:
		q.Kind = elicit.Number
	case l.Integer:
		q.Kind = elicit.Integer
	}
	if l.Changed("min") {
		q.Min = &l.Min
	}
	if l.Changed("max") {
		q.Max = &l.Max
	}
	return q, nil
}

// options parses the values of --option. Two options may have the same label only if each
// has an ID, because the answer would not tell them apart.
func options(texts []string) (list []elicit.Option, err error) {
	for _, text := range texts {
		o := asktools.ReadOption(text)
		for _, other := range list {
			if o.Label == other.Label && (o.ID == o.Label || other.ID == other.Label || o.ID == other.ID) {
				return nil, fault.Misuse(fmt.Sprintf("two options are called %q, and the answer would not tell them apart", o.Label),
					fmt.Sprintf("give each an id of its own, which is then printed: -o '%s=first' -o '%s=second'", o.Label, o.Label))
			}
		}
		list = append(list, o)
	}
	return list, nil
}

// maxQuestionsBytes is larger than any valid request, in bytes.
const maxQuestionsBytes = 1 << 20

// read reads --questions.
func (l *Line) read(question string, stdin io.Reader) (r elicit.Request, err error) {
	if question != "" {
		return r, fault.Misuse("a question on the command line cannot be combined with --questions", "omit one of them")
	}
	for _, name := range questionFlags {
		if l.Changed(name) {
			return r, fault.Misuse("--"+name+" works only with a question on the command line", "set it in the JSON of --questions")
		}
	}
	source := stdin
	if l.Questions != "-" {
		file, err := os.Open(l.Questions)
		if errors.Is(err, os.ErrNotExist) {
			return r, fault.Misuse("--questions "+l.Questions+": there is no such file", "pass a file, or - for stdin")
		}
		if err != nil {
			return r, fault.Misuse(err.Error(), "pass another file")
		}
		defer file.Close()
		source = file
	}
	b, err := io.ReadAll(io.LimitReader(source, maxQuestionsBytes+1))
	if err != nil {
		return r, fault.Misuse(fmt.Sprintf("read --questions: %v", err), "pass another file")
	}
	if len(b) > maxQuestionsBytes {
		return r, fault.Misuse(fmt.Sprintf("the file of --questions is larger than %d bytes", maxQuestionsBytes), "ask fewer or shorter questions")
	}
	if r, err = asktools.ReadQuestions(b); err != nil {
		return r, fault.Misuse(fmt.Sprintf("--questions is not the JSON of questions: %v", err), `write it, for example, as {"questions": [{"question": "Which port?"}]}`)
	}
	return r, nil
}
