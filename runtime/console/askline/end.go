package askline

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

// Exit codes of ask, in addition to 0 for an answer. There are different exit codes for
// the answer "no", a refusal, a cancellation, a timeout and an unreachable person. The
// exit codes of gum and dialog do not distinguish these outcomes.
const (
	ExitNo          = 1 // the answer to --confirm was no
	ExitDeclined    = 3
	ExitCancelled   = 4
	ExitUnreachable = 5
	ExitAbandoned   = 6
	ExitStore       = 7
	ExitTimedOut    = 124
	ExitInterrupted = 130
)

// Exit codes that all commands have.
const (
	exitFailed  = 1
	exitMisused = 2
)

func end(code int, message, hint string) error {
	return &console.Ending{Err: fault.New("ended", message, hint), Code: code}
}

// Outcome returns nil for an answer, or an error with an exit code for any other
// outcome. If confirm is true, the answer "no" is also an error.
func Outcome(r elicit.Request, confirm bool) error {
	c := r.Completion
	if c == nil {
		return end(ExitTimedOut, "no answer yet", "the question stays open; wait for the answer: deskhand ask wait "+r.ID)
	}
	switch c.Outcome {
	case elicit.Accept:
		if confirm && !yes(r) {
			return &console.Ending{Err: console.ErrSaid, Code: ExitNo}
		}
		return nil
	case elicit.Decline:
		return end(ExitDeclined, console.By("declined", c), "continue without an answer, and do not assume one")
	case elicit.Cancel:
		return end(ExitCancelled, console.By("cancelled", c), "ask again if the answer is still needed")
	case elicit.Timeout:
		return end(ExitTimedOut, "no one answered in time", "a late answer is kept; wait for it: deskhand ask wait "+r.ID)
	}
	return end(ExitAbandoned, console.By("withdrawn", c), "")
}

// yes reports whether every yes-or-no question was answered yes.
func yes(r elicit.Request) bool {
	return !slices.ContainsFunc(r.Questions, func(q elicit.Question) bool {
		a := r.Answers[q.ID]
		return q.Kind == elicit.Boolean && (a.Value == nil || !a.Value.Boolean)
	})
}

// Asking adds an exit code to an error that occurs while a question is asked. It
// treats unexpected errors as store failures.
func Asking(err error) error {
	f := fault.Of(err)
	switch {
	case err == nil || errors.As(err, new(*console.Ending)):
		return err
	case f != nil && f.Hint == "":
		own := *f
		own.Hint = cmp.Or(console.NextStep(f.Code, "ID"), "see deskhand ask --help")
		return Asking(&own)
	case f != nil && f.Code == elicit.NoSurface:
		return &console.Ending{Err: err, Code: ExitUnreachable}
	case f != nil && f.Code == askdoor.Unreachable:
		return &console.Ending{Err: err, Code: ExitStore}
	case f != nil:
		return &console.Ending{Err: err, Code: exitMisused}
	case errors.Is(err, context.Canceled):
		return &console.Ending{Err: err, Code: ExitInterrupted}
	}
	return &console.Ending{Err: err, Code: ExitStore}
}

// Managing adds an exit code to an error that occurs while a person inspects or
// answers a request. The code is 1 if the request has already ended or is for
// another person.
func Managing(err error) error {
	f := fault.Of(err)
	if r := new(elicit.Rejection); errors.As(err, &r) && r.Winner != nil && r.Winner.Outcome == elicit.Abandoned {
		own := *f
		own.Hint = "no one is waiting for the answer any more; to send the attempt's agent a message, use \"deskhand tasks say\""
		err = &own
	}
	err = Asking(err)
	if f != nil && slices.Contains([]string{elicit.AlreadyCompleted, elicit.Expired, elicit.NotYours}, f.Code) {
		return &console.Ending{Err: err, Code: exitFailed}
	}
	return err
}
