// Package terminal asks the person at a terminal: with a form, with a list of all
// open questions, or line by line for screen readers and for terminals without
// escape sequences.
//
// [Form] is a hub surface for one request. [Inbox] is a complete program. Both
// store typed text in the hub as drafts, which every other surface shows. They
// select nothing for the person: the cursor starts on no option, a proposed
// answer is shown but not selected, and only Enter sends an answer.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// Device is the terminal that the person uses, independent of stdin and stdout.
type Device struct {
	In, Out *os.File // may be the same file
}

// ErrNoTerminal means that there is no terminal, or that this process is in the
// background.
var ErrNoTerminal = errors.New("no terminal")

// Close closes the device.
func (d *Device) Close() error {
	if d.In == d.Out {
		return d.In.Close()
	}
	return errors.Join(d.In.Close(), d.Out.Close())
}

// Form asks the person at a terminal.
type Form struct {
	Device *Device
	Plain  bool // asks line by line, without escape sequences
	// Interrupt is called when the person wants to stop the program.
	Interrupt func()
}

// Offer implements [elicit.Surface]. It closes the form when another surface
// answers, and shows who answered, where and when.
func (f *Form) Offer(ctx context.Context, h *elicit.Hub, r elicit.Request) {
	show := formOf
	if f.Plain {
		show = talkAbout
	}
	how, err := show(ctx, f.Device, h, r)
	if err != nil && ctx.Err() == nil {
		f.say("cannot ask in this terminal (%v); answer the question in \"deskhand inbox\"", err)
		return
	}
	switch how {
	case interrupted:
		f.Interrupt()
	case putOff:
		f.say("%s stays open; answer it in \"deskhand inbox\", or press Ctrl+C to stop waiting", r.ID)
	case ended, closed:
		f.sayEnd(h, r)
	}
}

// sayEnd leaves the question and the person who answered on the screen. For any
// other outcome, it prints nothing, because the waiting call prints the reason.
func (f *Form) sayEnd(h *elicit.Hub, r elicit.Request) {
	now, err := h.Get(context.Background(), r.ID)
	if err != nil || !now.Accepted() {
		return
	}
	f.say("%s: %s", heading(&now), Ended(&now))
}

func (f *Form) say(format string, args ...any) {
	fmt.Fprintf(f.Device.Out, "deskhand: "+format+"\n", args...)
}

// how is the reason why a form was left.
type how int

const (
	closed      how = iota // the form's context ended
	ended                  // the request has ended
	putOff                 // the request stays open
	interrupted            // the request stays open, and the program stops
	editing                // the person's editor takes the terminal
)
