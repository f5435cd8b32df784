package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// For a client that fetches results later, a call to ask_user is its request in the
// hub and has the request's ID. A call to await_answer consists of the request and
// how long to wait for it, and its ID contains both. No other state is kept: the
// hub's store is enough to find a call again.

// kind is the prefix of request IDs.
const kind = "elc_"

// pollEvery is how often a client should poll. Reading the question takes a
// person longer than that.
const pollEvery = 2 * time.Second

// takenBack is the withdrawal reason of a request whose asker cancelled the call.
const takenBack = "task_cancelled"

// later returns the Later of a tool whose calls begin with start.
func (d *Toolset) later(start func(context.Context, contract.Caller, json.RawMessage) (contract.Pending, error)) *contract.Later {
	return &contract.Later{Kind: kind, Start: start, Calls: pendingCalls{d}}
}

// startAsking opens the request of ask_user. If nobody can be reached, there is
// nothing to wait for, and the call ends immediately with its usual result.
func (d *Toolset) startAsking(ctx context.Context, caller contract.Caller, args json.RawMessage) (contract.Pending, error) {
	r, err := read(args, d.from(caller))
	if err != nil {
		return contract.Pending{}, err
	}
	hub, err := d.hub(ctx)
	if err != nil {
		return contract.Pending{}, err
	}
	earlier, err := d.earlier(ctx, hub, r)
	switch {
	case err != nil:
		return contract.Pending{}, d.worded(err, "")
	case earlier != nil && earlier.Ended():
		result, err := d.repeated(ctx, hub, caller, earlier)
		return contract.Pending{Result: result}, err
	case earlier != nil: // the same question is open, so this call is the same task
		if err := hub.Rejoin(ctx, earlier, r); err != nil {
			return contract.Pending{}, d.worded(err, earlier.ID)
		}
		return pendingCalls{d}.pending(ctx, hub, caller, *earlier, waiting{id: earlier.ID})
	}
	reachable, err := hub.Reachable(ctx)
	if err != nil {
		return contract.Pending{}, err
	}
	through, _ := caller.Client.(client)
	if !reachable && (d.options.NoDialogs || through == nil || !through.CanShow(&r)) {
		result, err := d.askNow(ctx, hub, caller, r, nil)
		return contract.Pending{Result: result}, err
	}
	if r, err = hub.Open(ctx, r); err != nil {
		return contract.Pending{}, d.worded(err, "")
	}
	return pendingCalls{d}.pending(ctx, hub, caller, r, waiting{id: r.ID})
}

// call is the function of a held tool call.
type call func(context.Context, contract.Caller, json.RawMessage) (contract.Result, error)

// startAwaiting begins calls to await_answer. now is the held form. A call ends
// immediately if its answer is there, if it does not wait, or if it is refused.
func (d *Toolset) startAwaiting(now call) func(context.Context, contract.Caller, json.RawMessage) (contract.Pending, error) {
	return func(ctx context.Context, caller contract.Caller, args json.RawMessage) (contract.Pending, error) {
		hub, err := d.hub(ctx)
		if err != nil {
			return contract.Pending{}, err
		}
		in, timeout := awaitAnswerIn{}, elicit.DefaultWait
		err = json.Unmarshal(args, &in)
		if err == nil && in.Timeout != nil {
			timeout = time.Duration(*in.Timeout) * time.Millisecond
		}
		r := elicit.Request{}
		if err == nil {
			r, err = hub.Get(ctx, in.RequestID)
		}
		if err != nil || r.Status == elicit.Completed || d.foreign(&r, caller) || timeout <= 0 || timeout > elicit.MaxWait {
			result, err := now(ctx, caller, args)
			return contract.Pending{Result: result}, err
		}
		since := time.Now()
		return pendingCalls{d}.pending(ctx, hub, caller, r, waiting{r.ID, since, since.Add(timeout)})
	}
}

// waiting identifies a call: of ask_user if until is zero, otherwise of
// await_answer.
type waiting struct {
	id           string
	since, until time.Time
}

func (w waiting) String() string {
	if w.until.IsZero() {
		return w.id
	}
	return fmt.Sprintf("%s-%s-%s", w.id, strconv.FormatInt(w.since.UnixMilli(), 36), strconv.FormatInt(w.until.UnixMilli(), 36))
}

func parseWaiting(s string) (waiting, error) {
	parts := strings.Split(s, "-")
	if len(parts) == 1 {
		return waiting{id: s}, nil
	}
	if len(parts) != 3 {
		return waiting{}, contract.NoCall()
	}
	since, err := strconv.ParseInt(parts[1], 36, 64)
	until, err2 := strconv.ParseInt(parts[2], 36, 64)
	if err != nil || err2 != nil {
		return waiting{}, contract.NoCall()
	}
	return waiting{parts[0], time.UnixMilli(since), time.UnixMilli(until)}, nil
}

// pendingCalls implements [contract.PendingCalls].
type pendingCalls struct{ d *Toolset }

// visitor lists the methods of a door's client that checks a call.
type visitor interface {
	// CanShow reports whether the client has declared the capabilities to show r.
	CanShow(r *elicit.Request) bool
	// Put records that the call is waiting for r.
	Put(r *elicit.Request)
	// Actions returns the user's actions on r.
	Actions(r *elicit.Request) []elicit.Action
	// Unattended reports whether the client may have answered without asking a
	// person.
	Unattended(r *elicit.Request) bool
}

// find returns the request of a call. Requests from another attempt or token count
// as missing.
func (k pendingCalls) find(ctx context.Context, caller contract.Caller, id string) (*elicit.Hub, elicit.Request, waiting, error) {
	w, err := parseWaiting(id)
	if err != nil {
		return nil, elicit.Request{}, w, err
	}
	hub, err := k.d.hub(ctx)
	if err != nil {
		return nil, elicit.Request{}, w, err
	}
	r, err := hub.Get(ctx, w.id)
	if fault.Of(err) != nil || err == nil && k.d.foreign(&r, caller) {
		return hub, elicit.Request{}, w, contract.NoCall()
	}
	return hub, r, w, err
}

// Look implements [contract.PendingCalls].
func (k pendingCalls) Look(ctx context.Context, caller contract.Caller, id string) (contract.Pending, error) {
	hub, r, w, err := k.find(ctx, caller, id)
	if err != nil {
		return contract.Pending{}, err
	}
	p, err := k.pending(ctx, hub, caller, r, w)
	if v, ok := caller.Client.(visitor); ok && err == nil && p.State == contract.Working && !k.d.options.NoDialogs && v.CanShow(&r) {
		v.Put(&r)
	}
	return p, err
}

// pending returns a call's current state.
func (k pendingCalls) pending(ctx context.Context, hub *elicit.Hub, caller contract.Caller, r elicit.Request, w waiting) (contract.Pending, error) {
	p := contract.Pending{ID: w.String(), Created: r.CreatedAt.Time, Updated: r.CreatedAt.Time, Poll: pollEvery}
	if !w.until.IsZero() {
		p.Created, p.Updated = w.since, w.since
	}
	if c := r.Completion; c != nil && c.At.After(p.Updated) {
		p.Updated = c.At.Time
	}
	now := time.Now()
	switch {
	case r.Status == elicit.Completed && r.Completion.Reason == takenBack:
		p.State, p.Message = contract.Cancelled, "The question was withdrawn."
		return p, nil
	case r.Status == elicit.Completed:
		p.State, p.TTL = contract.Ended, r.Completion.At.Sub(p.Created)+hub.Retain()
		p.Result, p.Err = k.d.report(ctx, hub, caller, r.ID)
		return p, nil
	case w.until.IsZero() && r.Ended(), !w.until.IsZero() && !now.Before(w.until):
		p.State = contract.Ended
		if p.Updated = w.until; w.until.IsZero() {
			p.Updated = r.Deadline.Time
		}
		p.Result, p.Err = k.d.report(ctx, hub, caller, r.ID)
		return p, nil
	}
	p.Message = "Waiting for a person. " + k.d.where(ctx, hub)
	return p, nil
}

// Answer implements [contract.PendingCalls].
func (k pendingCalls) Answer(ctx context.Context, caller contract.Caller, id string) error {
	hub, r, _, err := k.find(ctx, caller, id)
	v, ok := caller.Client.(visitor)
	if err != nil || !ok || r.Status == elicit.Completed {
		return err
	}
	return hub.Take(ctx, v.Actions(&r), v.Unattended(&r))
}

// Cancel implements [contract.PendingCalls]. It withdraws ask_user's question.
// Cancelling an await_answer call does not change its question.
func (k pendingCalls) Cancel(ctx context.Context, caller contract.Caller, id string) error {
	hub, r, w, err := k.find(ctx, caller, id)
	if err != nil || !w.until.IsZero() || r.Ended() {
		return err
	}
	_, err = hub.Dispatch(ctx, elicit.Action{Type: elicit.Withdrawn, RequestID: r.ID, Reason: takenBack})
	if fault.Of(err) != nil { // the request has ended in the meantime
		return nil
	}
	return err
}

// Watch implements [contract.PendingCalls].
func (k pendingCalls) Watch(ctx context.Context, id string) (contract.Watcher, error) {
	hub, _, w, err := k.find(ctx, contract.Caller{}, id) // Look checks the caller's permission
	if err != nil {
		return nil, err
	}
	_, seq, err := hub.GetAt(ctx, w.id)
	if err != nil {
		return nil, err
	}
	watch, err := hub.Watch(ctx, seq, w.id)
	if err != nil {
		return nil, err
	}
	return &watcher{watch, w.until}, nil
}

type watcher struct {
	*elicit.Watcher
	until time.Time // zero if only the request's changes count
}

// Wait implements [contract.Watcher]. It reports the deadline once.
func (w *watcher) Wait(ctx context.Context) error {
	if w.until.IsZero() {
		return w.Watcher.Wait(ctx)
	}
	waiting, stop := context.WithDeadline(ctx, w.until)
	defer stop()
	err := w.Watcher.Wait(waiting)
	if waiting.Err() != nil && ctx.Err() == nil {
		w.until = time.Time{}
		return nil
	}
	return err
}
