package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
)

// askFlags are the flags of ask.
type askFlags struct {
	options                          []string
	multi, confirm, number, integer  bool
	multiline, noOther               bool
	required, optional               bool
	title, id, placeholder, fallback string
	min, max                         float64
	format, url, questions           string
	priority, to, key                string
	timeout                          time.Duration
	bounded                          bool // the request itself says how long to wait
	assume                           []string
	unreachable                      string
	noInbox, noTTY, plain, detach    bool
	output                           string
}

func (f *askFlags) declare(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.options, "option", "o", nil, "one choice (repeat)")
	flags.BoolVarP(&f.multi, "multi", "m", false, "several options may be chosen")
	flags.BoolVar(&f.confirm, "confirm", false, "yes or no; exits 0 only for a person's yes")
	flags.BoolVar(&f.number, "number", false, "the answer is a number")
	flags.BoolVar(&f.integer, "integer", false, "the answer is a whole number")
	flags.BoolVar(&f.multiline, "multiline", false, "the answer may have several lines")
	flags.BoolVar(&f.required, "required", true, "an answer is required")
	flags.BoolVar(&f.optional, "optional", false, "the question may be skipped")
	flags.BoolVar(&f.noOther, "no-other", false, "an option must be chosen, own words are not taken")
	flags.StringVarP(&f.title, "title", "t", "", "heading, at most 100 characters")
	flags.StringVar(&f.id, "id", "answer", "id of the question in the output")
	flags.StringVar(&f.placeholder, "placeholder", "", "example shown in an empty field")
	flags.StringVar(&f.fallback, "default", "", "shown as a proposal; never taken for an answer")
	flags.Float64Var(&f.min, "min", 0, "least number, characters or choices")
	flags.Float64Var(&f.max, "max", 0, "largest number, most characters or choices")
	flags.StringVar(&f.format, "format", "", "of a text: email, uri, date or date-time")
	flags.StringVar(&f.url, "url", "", "page to open and review or agree to")
	flags.StringVar(&f.questions, "questions", "", "file with the input of ask_user as JSON, or - for stdin")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long to wait; 0: for ever (default: elicitation.timeout, 5m; at a terminal 0 unless that is set)")
	flags.StringVar(&f.priority, "priority", "", "low, normal, high or urgent (default: normal)")
	flags.StringVar(&f.to, "to", "", "who may answer: a name, or role:NAME")
	flags.StringVar(&f.key, "key", "", "asking again with this key finds the first question instead")
	flags.StringArrayVar(&f.assume, "assume", nil, "answer q=v to take where nobody can be asked, marked as assumed (repeat)")
	flags.StringVar(&f.unreachable, "unreachable", "fail", "what to do where nobody can be asked: fail or wait")
	flags.BoolVar(&f.noInbox, "no-inbox", false, "count on nobody who would have to open the inbox")
	flags.BoolVar(&f.noTTY, "no-tty", false, "do not ask at this terminal")
	flags.BoolVar(&f.plain, "plain", false, "ask line by line, as for a screen reader")
	flags.BoolVar(&f.detach, "detach", false, "print the id and do not wait")
	flags.StringVar(&f.output, "output", "", console.OutputUsage)
}

// request makes a request of a command line. stdin is read if --questions is -.
func (f *askFlags) request(flags *pflag.FlagSet, question string, stdin io.Reader) (elicit.Request, error) {
	var r elicit.Request
	switch {
	case flags.Changed("questions"):
		var err error
		if r, err = f.read(flags, question, stdin); err != nil {
			return r, err
		}
	case question == "" && f.url == "":
		return r, misuse("there is no question", "say what to ask, such as: deskhand ask 'Which port?'")
	case question != "" && (f.url == "" || f.answers(flags)):
		q, err := f.question(flags, question)
		if err != nil {
			return r, err
		}
		r.Questions = []elicit.Question{q}
	default:
		r.Message = question // a page to agree to
		if r.Message == "" {
			r.Message = "Please review " + f.url
		}
	}
	r.Trigger, r.Source = elicit.CLI, elicit.Source{Kind: "cli", Name: "deskhand ask", Version: buildVersion()}
	if f.title != "" {
		r.Title = f.title
	}
	if f.url != "" {
		r.URL = f.url
	}
	if f.priority != "" {
		r.Priority = elicit.Priority(f.priority)
	}
	if f.key != "" {
		r.Key = f.key
	}
	if role, ok := strings.CutPrefix(f.to, "role:"); ok {
		r.Audience = elicit.Audience{Roles: []string{role}}
	} else if f.to != "" {
		r.Audience = elicit.Audience{Principal: f.to}
	}
	if flags.Changed("timeout") {
		if f.timeout < 0 {
			return r, misuse("--timeout is negative", "give a time such as 90s, or 0 to wait for ever")
		}
		if r.WaitMS = f.timeout.Milliseconds(); r.WaitMS == 0 {
			r.WaitMS = -1
		}
	}
	f.bounded = r.WaitMS != 0
	settings.Surroundings(&r.Context)
	return f.prepare(r)
}

// prepare checks a request and gives it the default answer, which needs the
// question's options.
func (f *askFlags) prepare(r elicit.Request) (elicit.Request, error) {
	r, err := elicit.Prepare(r)
	if err != nil || f.fallback == "" || len(r.Questions) != 1 {
		return r, err
	}
	q := &r.Questions[0]
	answers, err := r.Fields(map[string][]string{q.ID: {f.fallback}})
	if err != nil {
		return r, err
	}
	q.Default = answers[q.ID].Value
	return elicit.Prepare(r)
}

// answers says that a flag asks for an answer in words or choices, so that a
// url has a question too.
func (f *askFlags) answers(flags *pflag.FlagSet) bool {
	for _, name := range questionFlags {
		if flags.Changed(name) {
			return true
		}
	}
	return false
}

// questionFlags describe the one question of a command line.
var questionFlags = []string{"option", "multi", "confirm", "number", "integer", "multiline", "required", "optional", "no-other",
	"id", "placeholder", "default", "min", "max", "format"}

func (f *askFlags) question(flags *pflag.FlagSet, text string) (elicit.Question, error) {
	if err := settings.Exclusive(flags, "confirm", "number", "integer", "option"); err != nil {
		return elicit.Question{}, err
	}
	q := elicit.Question{ID: f.id, Message: text, Required: f.required && !f.optional, Placeholder: f.placeholder, Multiline: f.multiline, Format: elicit.Format(f.format)}
	switch {
	case len(f.options) > 0:
		q.Kind, q.AllowFreeform = elicit.SingleSelect, !f.noOther
		if f.multi {
			q.Kind = elicit.MultiSelect
		}
		for _, text := range f.options {
			q.Options = append(q.Options, asktools.ReadOption(text))
		}
	case f.multi:
		return q, misuse("--multi needs options", "give each choice with --option")
	case f.confirm:
		q.Kind = elicit.Boolean
	case f.number:
		q.Kind = elicit.Number
	case f.integer:
		q.Kind = elicit.Integer
	}
	if flags.Changed("min") {
		q.Min = &f.min
	}
	if flags.Changed("max") {
		q.Max = &f.max
	}
	return q, nil
}

// maxQuestionsBytes is above what a request may have.
const maxQuestionsBytes = 1 << 20

// read reads --questions.
func (f *askFlags) read(flags *pflag.FlagSet, question string, stdin io.Reader) (r elicit.Request, err error) {
	if question != "" {
		return r, misuse("there is a question on the command line and --questions", "leave one of them out")
	}
	for _, name := range questionFlags {
		if flags.Changed(name) {
			return r, misuse("--"+name+" is for one question on the command line", "say it in the JSON of --questions")
		}
	}
	source := stdin
	if f.questions != "-" {
		file, err := os.Open(f.questions)
		if errors.Is(err, os.ErrNotExist) {
			return r, misuse("--questions "+f.questions+": there is no such file", "name a file, or - for stdin")
		}
		if err != nil {
			return r, misuse(err.Error(), "name another file")
		}
		defer file.Close()
		source = file
	}
	b, err := io.ReadAll(io.LimitReader(source, maxQuestionsBytes+1))
	if err != nil {
		return r, misuse(fmt.Sprintf("read --questions: %v", err), "name another file")
	}
	if len(b) > maxQuestionsBytes {
		return r, misuse(fmt.Sprintf("--questions has more than %d bytes", maxQuestionsBytes), "ask less at once")
	}
	if r, err = asktools.ReadQuestions(b); err != nil {
		return r, misuse(fmt.Sprintf("--questions is not the JSON of questions: %v", err), `write {"questions": [{"question": "Which port?"}]}`)
	}
	return r, nil
}
