package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/clients"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// holding is one held call.
type holding struct {
	hub    *elicit.Hub
	caller contract.Caller
	// limit is the maximum time to hold the call; 0 means until wait returns.
	limit time.Duration
	// opened reports whether the request is in the store; its ID can then be
	// returned. If opened is nil, the request was in the store before the call.
	opened func() bool
	// total is the maximum time that wait may take, used to compute the remaining
	// time; 0 if it is unknown.
	total time.Duration
	// says returns the progress message. If nil, the message says that the call is
	// waiting for a person, and where to answer.
	says func() string
	wait func(context.Context) (elicit.Request, error)
	// where is [Toolset.where].
	where func(context.Context, *elicit.Hub) string
}

// holding returns the holding of a call by caller for r.
func (d *Toolset) holding(hub *elicit.Hub, caller contract.Caller, r *elicit.Request) holding {
	return holding{hub: hub, caller: caller, where: d.where, limit: d.limit(caller), total: time.Duration(r.WaitMS) * time.Millisecond}
}

// limit returns how long a call may be held for a client; 0 means as long as the
// question waits.
func (d *Toolset) limit(caller contract.Caller) time.Duration {
	if d.options.Hold > 0 {
		return d.options.Hold
	}
	c := clients.Of(caller.Name)
	if caller.Progress == nil {
		return min(c.Hold, clients.Unknown)
	}
	if caller.Waits && c.Version == "" {
		return 0
	}
	return c.Hold
}

func (d *Toolset) stopping() bool {
	select {
	case <-d.options.Stopping:
		return true
	default:
		return false
	}
}

// openPoll is how often a call that is about to end checks whether its request is
// in the store. This takes long only if the store has problems.
const openPoll = 50 * time.Millisecond

// hold waits for a request, and sends progress to the caller in the meantime. If
// the limit is reached or the server stops, done is false, and the function wait
// continues in the background, which shows others that the request still has a
// waiting asker. If ctx ends, wait ends too, and the hub decides what happens to
// the request.
func (d *Toolset) hold(ctx context.Context, h holding) (r elicit.Request, done bool, err error) {
	waiting, leave := context.WithCancel(context.WithoutCancel(ctx))
	type end struct {
		request elicit.Request
		err     error
	}
	ended := make(chan end, 1)
	d.waits.Go(func() {
		defer leave()
		r, err := h.wait(waiting)
		ended <- end{r, err}
	})
	var beats, limit <-chan time.Time
	stopping := d.options.Stopping
	if h.caller.Progress != nil {
		tick := time.NewTicker(d.options.Heartbeat)
		defer tick.Stop()
		beats = tick.C
	}
	if h.limit > 0 {
		timer := time.NewTimer(h.limit)
		defer timer.Stop()
		limit = timer.C
	}
	told := -time.Millisecond // progress must increase, even if a beat is late
	for since := time.Now(); ; {
		if h.caller.Progress != nil {
			told = max(time.Since(since).Truncate(time.Millisecond), told+time.Millisecond)
			h.tell(ctx, told)
		}
		select {
		case e := <-ended:
			return e.request, true, e.err
		case <-limit:
			if h.isOpen() {
				return elicit.Request{}, false, nil
			}
			limit = time.After(openPoll)
		case <-stopping:
			if h.isOpen() {
				return elicit.Request{}, false, nil
			}
			stopping, limit = nil, time.After(openPoll)
		case <-ctx.Done():
			leave()
			if e := <-ended; e.err == nil {
				return e.request, true, nil // it ended at the same moment
			}
			return elicit.Request{}, false, ctx.Err()
		case <-beats:
		}
	}
}

func (h *holding) isOpen() bool { return h.opened == nil || h.opened() }

// tell sends a progress message: the call is still waiting, and a person can answer at
// this address.
func (h *holding) tell(ctx context.Context, waited time.Duration) {
	p := contract.Progress{Done: waited.Seconds()}
	if h.says != nil {
		p.Message = h.says()
	} else {
		p.Message = "Waiting for a person. " + h.where(ctx, h.hub)
	}
	if h.total > 0 {
		p.Total = h.total.Seconds()
		p.Message += ", " + span(h.total-waited) + " left"
	}
	h.caller.Progress(ctx, p)
}

// pagePoll is how often a call checks whether the page that is coming is there.
const pagePoll = 10 * time.Millisecond

// where returns a sentence on how a person can answer the question. It waits for a page
// that is about to open, but no longer than Options.PageComes.
func (d *Toolset) where(ctx context.Context, hub *elicit.Hub) string {
	for until := time.Now().Add(d.options.PageComes); ; {
		up, err := hub.Reach(ctx)
		for _, s := range up {
			if at := cmp.Or(s.Public, s.Address); at != "" {
				return "Answer at " + at
			}
		}
		if err != nil || ctx.Err() != nil || !time.Now().Before(until) {
			return "Answer it in the terminal: deskhand inbox"
		}
		select {
		case <-ctx.Done():
		case <-time.After(pagePoll):
		}
	}
}

// worded converts errors that a caller can act on to faults.
func (d *Toolset) worded(err error, id string) error {
	if rejected := new(elicit.Rejection); errors.As(err, &rejected) && rejected.Code == elicit.InvalidRequest {
		return fault.New("invalid_argument", invalid+rejected.Message, rejected.Hint)
	}
	if errors.Is(err, elicit.ErrClosed) {
		return &fault.Fault{Code: "stopping", Message: "this server is stopping; the question stays open as " + id,
			Hint: fmt.Sprintf("call %s with that request_id when it is back", d.name("await_answer")), Retryable: true}
	}
	return err
}
