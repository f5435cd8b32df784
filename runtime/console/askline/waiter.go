package askline

import (
	"context"
	"errors"
	"time"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// Desk provides answers. It is a hub on the store, or the server of the attempt that
// this process runs in.
type Desk interface {
	Wait(ctx context.Context, id string) (elicit.Request, error)
	WaitLate(ctx context.Context, id string) (elicit.Request, error)
	Delivered(ctx context.Context, r elicit.Request) error
}

// Wait waits until r ends, and prints its answer in the format of --output. If r has
// expired, it waits for a late answer. A timeout of 0 means no timeout. The error has
// the exit code.
func Wait(ctx context.Context, c *console.Console, desk Desk, r elicit.Request, output string, timeout time.Duration) error {
	form, err := console.FormOf(output, len(r.Questions))
	if err != nil {
		return err
	}
	w := waiter{c, desk, form, soleConfirm(r)}
	return w.wait(ctx, r, timeout)
}

// soleConfirm reports whether a request is a single yes-or-no question. For such a
// request, the answer "no" changes the exit code.
func soleConfirm(r elicit.Request) bool {
	return len(r.Questions) == 1 && r.Questions[0].Kind == elicit.Boolean
}

// waiter waits until a request ends, and prints the outcome.
type waiter struct {
	*console.Console
	desk    Desk
	form    string // output format
	confirm bool   // the answer "no" changes the exit code
}

// wait waits until r ends. If r has expired, it waits for a late answer. A
// timeout of 0 means no timeout.
func (w *waiter) wait(ctx context.Context, r elicit.Request, timeout time.Duration) error {
	bounded, cancel := bound(ctx, timeout)
	defer cancel()
	wait := w.desk.Wait
	if r.Status == elicit.ExpiredOpen {
		wait = w.desk.WaitLate
	}
	ended, err := wait(bounded, r.ID)
	if errors.Is(err, context.DeadlineExceeded) {
		ended, err = r, nil
	}
	return w.finish(r, ended, err)
}

// bound returns ctx with a timeout. If after is 0, there is no timeout.
func bound(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	if after <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, after)
}

// finish prints how a request ended, and returns an error with the exit code. r is the
// request before the wait, ended is the request after it, and err is the error from the
// wait.
func (w *waiter) finish(r, ended elicit.Request, err error) error {
	interrupted := errors.Is(err, context.Canceled)
	if interrupted {
		ended, err = r, nil
	}
	if err == nil {
		err = w.Answer(ended.ForAsker(), w.form)
	}
	if err == nil && ended.Accepted() && ended.Completion.Note != "" {
		w.Tell("note: " + ended.Completion.Note)
	}
	if err == nil && !interrupted {
		// ctx is not used here, because a printed answer counts as delivered even if ctx
		// has ended. The store has its own time limit.
		err = w.desk.Delivered(context.Background(), ended)
	}
	switch {
	case err != nil:
		return err
	case interrupted:
		return end(ExitInterrupted, "interrupted", "the question stays open; wait for the answer: deskhand ask wait "+r.ID)
	}
	return Outcome(ended, w.confirm)
}
