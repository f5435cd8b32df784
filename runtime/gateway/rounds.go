package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// A client of version 2026-07-28 cannot be asked while its call is held. The call
// ends with the question, and the client makes the same call again with the reply.
// The upstream must not notice, so its call continues in between, parked under the
// question's ID.

// round is a call to an upstream. Its client is asked questions between the
// client's own calls.
type round struct {
	call   *call
	cancel func()
	ended  chan ended // the upstream's answer, until the client takes it
	asks   chan *ask  // the client's next question
	asked  *ask       // the current question, while parked
}

type ended struct {
	result contract.Result
	err    error
}

// ask is a question for a client between two calls.
type ask struct {
	id string
	// show returns the error that ends the client's call with the question.
	show func(client) error
	// take handles the reply in the client's next call. If again is not nil, it is
	// the error that asks the client once more.
	take func(ctx context.Context, from client) (again, err error)
}

// handle makes a call for its client, or continues the call in which the client was
// asked.
func (u *upstream) handle(ctx context.Context, c *call) (contract.Result, error) {
	if own, err := u.of(ctx); err != nil {
		return contract.Result{}, err
	} else if own != u {
		return own.handle(ctx, c)
	}
	asked, ok := c.who().Client.(client)
	if !ok || !asked.Rounds() {
		defer c.attach(ctx, c.who())()
		defer c.who().WhenWritten(c.place.leave)
		return u.call(ctx, c)
	}
	id, err := asked.Shown()
	if err != nil {
		return contract.Result{}, err
	}
	r := u.parked.take(id)
	switch {
	case r != nil:
		again, err := r.asked.take(ctx, asked)
		if again != nil || err != nil {
			u.parked.put(u, r)
			return contract.Result{}, errors.Join(again, err)
		}
		r.call.mu.Lock()
		r.call.resumed = true
		r.call.mu.Unlock()
	case id != "" && !u.connects(ctx, id):
		return contract.Result{}, fault.New("upstream_lost", fmt.Sprintf("the call of %s that asked for this has ended", u.Title),
			"check whether the call took effect, then call again without requestState")
	default:
		r = u.start(ctx, c)
	}
	return u.follow(ctx, r, c.who(), asked)
}

// connects reports whether an ID belongs to a request to connect. No parked call
// waits for such a request.
func (u *upstream) connects(ctx context.Context, id string) bool {
	hub, err := u.g.openHub(ctx)
	if err != nil {
		return false
	}
	r, err := hub.Get(ctx, id)
	return err == nil && r.Trigger == elicit.CredentialRequired
}

// start starts the call. It does not end when the client's call ends.
func (u *upstream) start(ctx context.Context, c *call) *round {
	c.attach(ctx, c.who()) // attached before the upstream reports progress; follow detaches it
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(u.g.ctx, cancel)
	r := &round{call: c, cancel: cancel, ended: make(chan ended, 1), asks: make(chan *ask)}
	c.round = r
	u.g.running.Go(func() {
		defer forget()
		defer cancel()
		result, err := u.call(ctx, c)
		r.ended <- ended{result, err}
	})
	return r
}

// follow waits for a call until it ends, the client stops waiting, or the client is
// to be asked.
func (u *upstream) follow(ctx context.Context, r *round, caller contract.Caller, asked client) (contract.Result, error) {
	defer r.call.attach(ctx, caller)()
	select {
	case e := <-r.ended:
		caller.WhenWritten(r.call.place.leave)
		return e.result, e.err
	case r.asked = <-r.asks:
		show := r.asked.show(asked)
		u.parked.put(u, r)
		return contract.Result{}, show
	case <-ctx.Done():
		r.cancel()
		r.call.place.leave()
		return contract.Result{}, ctx.Err()
	}
}

// putTo asks the call's client between two of its calls. It returns when follow has
// received the question, or with ctx's error.
func (r *round) putTo(ctx context.Context, a *ask) error {
	select {
	case r.asks <- a:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attach records that a request from the client is waiting for the call, until
// detach is called.
func (c *call) attach(ctx context.Context, caller contract.Caller) (detach func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caller, c.waiting = caller, ctx
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.waiting == ctx {
			c.waiting = nil
		}
	}
}

// who returns the caller.
func (c *call) who() contract.Caller {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caller
}

func (c *call) isResumed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resumed
}

// wait returns the context of the request that is waiting for the call, or nil if
// there is none.
func (c *call) wait() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting
}

// within returns ctx with the values of the request that is waiting for the call.
// The SDK uses them to find the request's stream.
func (c *call) within(ctx context.Context) context.Context {
	if waiting := c.wait(); waiting != nil {
		return valued{ctx, waiting}
	}
	return ctx
}

type valued struct {
	context.Context
	values context.Context
}

// Value implements [context.Context].
func (v valued) Value(key any) any {
	if value := v.values.Value(key); value != nil {
		return value
	}
	return v.Context.Value(key)
}

// parked holds the calls whose clients are being asked, by question ID.
type parked struct {
	mu    sync.Mutex
	calls map[string]*parkedCall
}

type parkedCall struct {
	*round
	until *time.Timer
}

// Limits for calls that wait for their clients to return.
const (
	maxParked  = 256
	parkedOver = 10 * time.Minute // in addition to the time that a person has to answer
)

func (p *parked) put(u *upstream, r *round) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.calls) >= maxParked {
		u.g.log.Warn("gave up on an upstream's call: too many calls are waiting for their clients", "upstream", u.Name, "most", maxParked)
		r.cancel()
		return
	}
	if p.calls == nil {
		p.calls = map[string]*parkedCall{}
	}
	id := r.asked.id
	p.calls[id] = &parkedCall{r, time.AfterFunc(u.g.options.Wait+parkedOver, func() {
		if gone := p.take(id); gone != nil {
			gone.cancel()
		}
	})}
}

// take removes and returns the call parked under an ID, or returns nil if there is
// none.
func (p *parked) take(id string) *round {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.calls[id]
	if one == nil {
		return nil
	}
	delete(p.calls, id)
	one.until.Stop()
	return one.round
}
