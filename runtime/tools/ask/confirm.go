package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Verdict is a person's decision on whether a tool may do something.
type Verdict string

// Values of [Verdict].
const (
	// Agreed is a yes. It is valid for one call.
	Agreed Verdict = "agreed"
	// Refused is a no, a decline or a closed question.
	Refused Verdict = "refused"
	// Waiting means that there is no answer yet. The same call does not ask again;
	// it continues to wait.
	Waiting Verdict = "waiting"
	// Unreachable means that nobody could be asked.
	Unreachable Verdict = "unreachable"
)

// ChangedMeanwhile is the fault code for a yes that no longer applies, because the
// planned action has changed.
const ChangedMeanwhile = "changed_meanwhile"

// Confirmation asks whether a tool may do something.
type Confirmation struct {
	Tool  string // its name
	Title string // the subject, in a few words
	Ask   string // the question, answered by yes or no
	// Message describes the whole action in at most 4,000 characters. A yes applies
	// only to this message: a different message is a different question.
	Message string
	// About is the context of the question. Its attempt is ignored, because the
	// question belongs to the caller.
	About elicit.Context
}

// Confirmed is the outcome of [Toolset.Confirm].
type Confirmed struct {
	Verdict   Verdict
	RequestID string // of the question
	Note      string // the person's note; may be empty
	Reach     string // how the person can answer; set while Verdict is Waiting
}

// Confirm asks a person whether a tool may do something, in the same way as
// ask_user: through the client if it has dialogs, and held for as long as the
// client waits. A call with the same question joins the first one. A returned yes
// cannot be used again.
func (d *Toolset) Confirm(ctx context.Context, caller contract.Caller, c Confirmation) (done Confirmed, err error) {
	r := d.from(caller)
	r.Trigger, r.Title, r.Message = elicit.TaskGate, textutil.Shorten(c.Title, 100), textutil.Shorten(c.Message, 4000)
	r.Questions = []elicit.Question{{ID: "allow", Kind: elicit.Boolean, Message: textutil.Shorten(c.Ask, 1000), Required: true}}
	about := c.About
	about.ToolName, about.CWD, about.AttemptID = c.Tool, r.Context.CWD, r.Context.AttemptID
	r.Context = about
	if r, err = elicit.Prepare(r); err != nil {
		return done, fmt.Errorf("ask the question of %s: %w", c.Tool, err)
	}
	said, err := d.put(ctx, caller, r)
	if err != nil {
		return done, err
	}
	raw, ok := said.Structured.(json.RawMessage)
	var report Report
	if !ok || json.Unmarshal(raw, &report) != nil {
		return done, fmt.Errorf("read the answer to %s", c.Tool)
	}
	done.RequestID, done.Note = report.RequestID, report.Note
	hub, err := d.hub(ctx)
	if err != nil {
		return done, err
	}
	asked, err := hub.Get(ctx, report.RequestID)
	if err != nil {
		return done, err
	}
	if asked.Trigger != r.Trigger || asked.Message != r.Message || asked.Context.ToolName != r.Context.ToolName {
		return done, fault.New(ChangedMeanwhile, "the planned action has changed since the person was asked", "call "+c.Tool+" again")
	}
	switch {
	case report.Answered && len(report.Answers) == 1 && len(report.Answers[0].Values) == 1 && report.Answers[0].Values[0] == "yes":
		done.Verdict = Agreed
	case report.Answered, report.Cancelled:
		done.Verdict = Refused
	case report.Outcome == unreachable:
		done.Verdict = Unreachable
	default:
		done.Verdict, done.Reach = Waiting, d.where(ctx, hub)
		return done, nil
	}
	return done, d.usedUp(ctx, hub, said, done.RequestID)
}

// usedUp records that a question's outcome was taken, so no later call takes it
// again.
func (d *Toolset) usedUp(ctx context.Context, hub *elicit.Hub, said contract.Result, id string) error {
	if said.Delivered != nil {
		said.Delivered(false) // delivery is recorded here, before anything else is done
	}
	r, err := hub.Get(ctx, id)
	if err != nil || !r.Undelivered() {
		return err
	}
	return hub.Delivered(ctx, r)
}

// Held waits for something other than a person, for as long as a client waits but
// no longer than the given duration. Meanwhile, it sends the text that the
// function says returns, as progress. If done is false, the caller should wait
// again. The function wait must return when its context ends.
func (d *Toolset) Held(ctx context.Context, caller contract.Caller, most time.Duration, says func() string, wait func(context.Context) error) (done bool, err error) {
	limit := d.limit(caller)
	if limit <= 0 || limit > most {
		limit = most
	}
	until, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	h := holding{caller: caller, limit: limit, total: most, says: says, wait: func(ctx context.Context) (elicit.Request, error) {
		ctx, leave := context.WithCancel(ctx)
		defer leave()
		defer context.AfterFunc(until, leave)()
		return elicit.Request{}, wait(ctx)
	}}
	_, done, err = d.hold(ctx, h)
	return done, err
}
