package main

import (
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/console/askline"
)

type askFlags struct {
	askline.Line
	askline.Way
}

func (f *askFlags) declare(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.Options, "option", "o", nil, "one choice (repeatable)")
	flags.BoolVarP(&f.Multi, "multi", "m", false, "allow several options")
	flags.BoolVar(&f.Confirm, "confirm", false, "ask for yes or no; exit with 0 only if a person says yes")
	flags.BoolVar(&f.Number, "number", false, "require a number as the answer")
	flags.BoolVar(&f.Integer, "integer", false, "require an integer as the answer")
	flags.BoolVar(&f.Multiline, "multiline", false, "allow an answer of several lines")
	flags.BoolVar(&f.Required, "required", true, "require an answer")
	flags.BoolVar(&f.Optional, "optional", false, "allow skipping the question")
	flags.BoolVar(&f.NoOther, "no-other", false, "require one of the options; no free text")
	flags.StringVarP(&f.Title, "title", "t", "", "heading of the question, at most 100 characters")
	flags.StringVar(&f.ID, "id", "answer", "ID of the question in the output")
	flags.StringVar(&f.Placeholder, "placeholder", "", "example shown in an empty field")
	flags.StringVar(&f.Fallback, "default", "", "proposed answer to show; never used as the answer")
	flags.Float64Var(&f.Min, "min", 0, "minimum number, length or count of choices")
	flags.Float64Var(&f.Max, "max", 0, "maximum number, length or count of choices")
	flags.StringVar(&f.Format, "format", "", "format of the text: email, uri, date or date-time")
	flags.StringVar(&f.URL, "url", "", "address of a page for the person to open")
	flags.StringVar(&f.Questions, "questions", "", "JSON file with the input of ask_user, or - for stdin")
	flags.DurationVar(&f.Timeout, "timeout", 0, "how long to wait; 0 waits forever (default: elicitation.timeout or 5m; at a terminal, elicitation.timeout or 0)")
	flags.StringVar(&f.Priority, "priority", "", "low, normal, high or urgent (default: normal)")
	flags.StringVar(&f.To, "to", "", "who may answer: a name, or role:NAME")
	flags.StringVar(&f.Key, "key", "", "idempotency key: asking again with the same key returns the first question")
	flags.StringArrayVar(&f.Assume, "assume", nil, "answer to assume if no one can be asked, as q=v; it is marked as assumed (repeatable)")
	flags.StringVar(&f.Unreachable, "unreachable", "fail", "what to do if no one can be asked: fail or wait")
	flags.BoolVar(&f.NoInbox, "no-inbox", false, "fail unless someone already has the inbox open")
	flags.BoolVar(&f.NoTTY, "no-tty", false, "do not ask at this terminal")
	flags.BoolVar(&f.Plain, "plain", false, "ask line by line, for example for a screen reader")
	flags.BoolVar(&f.Detach, "detach", false, "print the question's ID and do not wait")
	flags.StringVar(&f.Output, "output", "", console.OutputUsage)
}
