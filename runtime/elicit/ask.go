package elicit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Surface is a way to reach a person from this process, for example the terminal or
// the calling client. Other processes' surfaces find a request in the store.
type Surface interface {
	// Offer shows r to a person and answers with h.Dispatch. It returns after that,
	// or when ctx ends because another surface answered or no process is waiting
	// any more.
	Offer(ctx context.Context, h *Hub, r Request)
}

// Ask opens r, offers it to the surfaces and waits until it ends: with an
// answer, a decline or cancel, its deadline, or its withdrawal. These are
// outcomes, not errors. The request has answers only if it was accepted.
//
// An error means that r was not asked or that ctx ended first. If nobody can be
// reached, the error is the fault no_surface; if r is invalid, it is a
// *[Rejection]. If ctx ended and the request belongs to a turn, Ask withdraws the
// request. Otherwise, Ask leaves the request open and marks its asker as gone.
// The request returned with ctx's error has its ID.
func (h *Hub) Ask(ctx context.Context, r Request, surfaces ...Surface) (Request, error) {
	r, err := h.prepare(ctx, r)
	if err != nil {
		return Request{}, err
	}
	if len(surfaces) == 0 {
		reachable, err := h.Reachable(ctx)
		if err != nil {
			return Request{}, err
		}
		if !reachable {
			return h.unreachable(ctx, r)
		}
	}
	if err := h.sweeper.wait(ctx, h); err != nil {
		return Request{}, err
	}
	defer h.sweeper.done()
	r.Asker = h.instance
	r, found, err := h.open(ctx, r)
	if err != nil {
		return Request{}, err
	}
	if found {
		if err := h.comeBack(ctx, r.ID); err != nil {
			return Request{}, err
		}
	}
	offering, stop := context.WithCancel(ctx)
	var offers sync.WaitGroup
	if !r.Ended() {
		for _, s := range surfaces {
			offers.Go(func() { s.Offer(offering, h, r) })
		}
	}
	ended, err := h.await(ctx, r.ID, (*Request).Ended)
	stop()
	offers.Wait()
	if err != nil {
		return r.ForAsker(), h.left(r, err)
	}
	return ended.ForAsker(), nil
}

// unreachable records r as withdrawn because nobody can be reached, and returns
// the fault no_surface.
func (h *Hub) unreachable(ctx context.Context, r Request) (Request, error) {
	r, _, err := h.open(ctx, r)
	if err != nil {
		return Request{}, err
	}
	if r.Ended() {
		return r.ForAsker(), nil // a rule answered, or it was asked before, when someone could be reached
	}
	c, err := h.dispatch(ctx, Action{Type: Withdrawn, RequestID: r.ID, Reason: "unreachable"})
	if err != nil {
		return Request{}, err
	}
	return c.Request.ForAsker(), &fault.Fault{Code: NoSurface, Message: "no person can be reached from here",
		Hint: "continue without an answer and say so, or have someone open the inbox and ask again", Retryable: true}
}

// leaveTime is the time limit for recording that an asker has left.
const leaveTime = 5 * time.Second

// left records that r's asker is gone, and returns cause.
func (h *Hub) left(r Request, cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	a := Action{Type: AskerLeft, RequestID: r.ID}
	if r.OnTurnEnd == Abandon && !r.awaitsTurn() {
		a.Type, a.Reason = Withdrawn, askerGone
	}
	if h.ctx.Err() != nil {
		return cause // the hub is closing, and the asker may come back to the request
	}
	if _, err := h.dispatch(ctx, a); err != nil && fault.Of(err) == nil {
		return errors.Join(cause, fmt.Errorf("record that the asker left: %w", err))
	}
	return cause
}

// Wait waits until the open request ends, for example because its deadline passed,
// and returns it as Ask does.
func (h *Hub) Wait(ctx context.Context, id string) (Request, error) {
	return h.rejoin(ctx, id, (*Request).Ended)
}

// WaitLate waits until a request is completed, even after its deadline, in case a
// late answer arrives.
func (h *Hub) WaitLate(ctx context.Context, id string) (Request, error) {
	return h.rejoin(ctx, id, func(r *Request) bool { return r.Status == Completed })
}

// rejoin makes this hub the asker while it waits.
func (h *Hub) rejoin(ctx context.Context, id string, done func(*Request) bool) (Request, error) {
	r, err := h.Get(ctx, id)
	if err != nil {
		return Request{}, err
	}
	if done(&r) {
		return r.ForAsker(), nil
	}
	if err := h.sweeper.wait(ctx, h); err != nil {
		return Request{}, err
	}
	defer h.sweeper.done()
	if err := h.comeBack(ctx, id); err != nil {
		return Request{}, err
	}
	if r, err = h.await(ctx, id, done); err != nil {
		if current, e := h.Get(context.WithoutCancel(ctx), id); e == nil && current.Asker == h.instance {
			current.OnTurnEnd = Keep // the caller only checked again, so its departure must not withdraw the request
			err = h.left(current, err)
		}
		return Request{ID: id}, err
	}
	return r.ForAsker(), nil
}

// comeBack makes this hub the asker of a request, unless it has ended.
func (h *Hub) comeBack(ctx context.Context, id string) error {
	_, err := h.dispatch(ctx, Action{Type: AskerReturned, RequestID: id, Asker: h.instance})
	if fault.Of(err) != nil {
		return nil
	}
	return err
}

// Delivered records that the asker received the person's answer to r. Until then r
// is undelivered: [Hub.Earlier] and [Filter] find it. Delivered may be called more
// than once.
func (h *Hub) Delivered(ctx context.Context, r Request) error {
	if !r.Undelivered() {
		return nil
	}
	_, err := h.dispatch(ctx, Action{Type: Collected, RequestID: r.ID})
	if fault.Of(err) != nil {
		return nil // the request was deleted, so there is nothing to deliver
	}
	return err
}

// HandedBack records that a call returned the request's ID without an outcome.
func (h *Hub) HandedBack(ctx context.Context, id string) error {
	_, err := h.dispatch(ctx, Action{Type: HandBack, RequestID: id})
	if fault.Of(err) != nil {
		return nil // it ended in the meantime
	}
	return err
}

// await watches one request until it is done.
func (h *Hub) await(ctx context.Context, id string, done func(*Request) bool) (Request, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.ctx, func() { cancel(ErrClosed) })()
	r, err := h.awaiting(ctx, id, done)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return r, err
}

func (h *Hub) awaiting(ctx context.Context, id string, done func(*Request) bool) (Request, error) {
	r, seq, err := h.GetAt(ctx, id)
	if err != nil || done(&r) {
		return r.ForAsker(), err
	}
	w, err := h.Watch(ctx, seq, id)
	if err != nil {
		return Request{}, fmt.Errorf("watch request: %w", err)
	}
	defer w.Close()
	for {
		changes, err := w.Next(ctx)
		if errors.Is(err, store.ErrGone) { // this machine was asleep for days
			if err = w.Resume(ctx, err); err == nil {
				r, err = h.Get(ctx, id)
			}
			if err != nil || done(&r) {
				return r.ForAsker(), err
			}
			changes = []Change{{Action: Action{Type: AskerLeft}}}
		}
		if err != nil {
			return Request{}, err
		}
		for _, c := range changes {
			switch c.Action.Type {
			case CompletedBy, TimeUp, Withdrawn, Removed:
				if r, err = h.Get(ctx, id); err != nil {
					return r.ForAsker(), err
				}
				if c.Action.Type == CompletedBy && c.Action.Origin.elsewhere() {
					h.note(Change{Seq: c.Seq, Action: c.Action, Request: &r})
				}
				if done(&r) {
					return r.ForAsker(), nil
				}
			case AskerLeft: // another waiting call here left, or this machine was asleep
				if r, err = h.Get(ctx, id); err != nil || r.TurnEnd != nil {
					continue // a call that outlived its turn is not the asker
				}
				if err := h.comeBack(ctx, id); err != nil {
					return Request{}, err
				}
			case Extended, Requested, PresentedTo, AnswerHeld:
				if r, err = h.Get(ctx, id); err != nil {
					return Request{}, err
				}
				h.expectEnd(&r, c.Action.At)
			}
		}
	}
}

// Offer shows r on a surface until stop is called. stop waits for the surface to
// return. Offer is for callers that do not wait with [Hub.Ask].
func (h *Hub) Offer(ctx context.Context, r Request, s Surface) (stop func()) {
	offering, cancel := context.WithCancel(ctx)
	var offer sync.WaitGroup
	offer.Go(func() { s.Offer(offering, h, r) })
	return func() {
		cancel()
		offer.Wait()
	}
}
