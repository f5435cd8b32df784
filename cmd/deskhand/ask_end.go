package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/elicit/askdoor"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Exit codes of ask, in addition to 0 for an answer and exitMisused. There are
// different exit codes for the answer "no", a refusal, a cancellation, a timeout and
// an unreachable person. The exit codes of gum and dialog do not distinguish these
// outcomes.
const (
	exitNo          = 1 // the answer to --confirm was no
	exitDeclined    = 3
	exitCancelled   = 4
	exitUnreachable = 5
	exitAbandoned   = 6
	exitStore       = 7
	exitTimedOut    = 124
	exitInterrupted = 130
)

// ending is an error with a specific exit code.
type ending struct {
	error
	code int
}

func (e *ending) Unwrap() error { return e.error }

// errSaid suppresses the message on stderr, because stdout already contains the answer.
var errSaid = errors.New("the answer was already printed")

func end(code int, message, hint string) error {
	return &ending{fault.New("ended", message, hint), code}
}

// outcome returns nil for an answer, or an error for any other outcome. If confirm is
// true, the answer "no" is also an error.
func outcome(r elicit.Request, confirm bool) error {
	c := r.Completion
	if c == nil {
		return end(exitTimedOut, "no answer yet", "the question stays open; wait for the answer: deskhand ask wait "+r.ID)
	}
	switch c.Outcome {
	case elicit.Accept:
		if confirm && !yes(r) {
			return &ending{errSaid, exitNo}
		}
		return nil
	case elicit.Decline:
		return end(exitDeclined, console.By("declined", c), "continue without an answer, and do not assume one")
	case elicit.Cancel:
		return end(exitCancelled, console.By("cancelled", c), "ask again if the answer is still needed")
	case elicit.Timeout:
		return end(exitTimedOut, "no one answered in time", "a late answer is kept; wait for it: deskhand ask wait "+r.ID)
	}
	return end(exitAbandoned, console.By("withdrawn", c), "")
}

// yes reports whether every yes-or-no question was answered yes.
func yes(r elicit.Request) bool {
	return !slices.ContainsFunc(r.Questions, func(q elicit.Question) bool {
		a := r.Answers[q.ID]
		return q.Kind == elicit.Boolean && (a.Value == nil || !a.Value.Boolean)
	})
}

// asking adds an exit code to an error that occurs while a question is asked. It
// treats unexpected errors as store failures.
func asking(err error) error {
	f := fault.Of(err)
	switch {
	case err == nil || errors.As(err, new(*ending)):
		return err
	case f != nil && f.Hint == "":
		own := *f
		own.Hint = cmp.Or(console.NextStep(f.Code, "ID"), "see deskhand ask --help")
		return asking(&own)
	case f != nil && f.Code == elicit.NoSurface:
		return &ending{err, exitUnreachable}
	case f != nil && f.Code == askdoor.Unreachable:
		return &ending{err, exitStore}
	case f != nil:
		return &ending{err, exitMisused}
	case errors.Is(err, context.Canceled):
		return &ending{err, exitInterrupted}
	}
	return &ending{err, exitStore}
}

// managing adds an exit code to an error that occurs while a person inspects or
// answers a request. The code is 1 if the request has already ended or is for
// another person.
func managing(err error) error {
	f := fault.Of(err)
	if r := new(elicit.Rejection); errors.As(err, &r) && r.Winner != nil && r.Winner.Outcome == elicit.Abandoned {
		own := *f
		own.Hint = "no one is waiting for the answer any more; to send the attempt's agent a message, use \"deskhand tasks say\""
		err = &own
	}
	err = asking(err)
	if f != nil && slices.Contains([]string{elicit.AlreadyCompleted, elicit.Expired, elicit.NotYours}, f.Code) {
		return &ending{err, exitFailed}
	}
	return err
}
