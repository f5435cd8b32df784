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

// A client of 2026-07-28 cannot be asked while its call is held: the call ends
// with what it is asked for, and the client makes the same call again with the
// reply. The upstream must not notice, so its call goes on in between, parked
// under the id of what was asked.

// round is a call of an upstream whose client is asked between calls of its own.
type round struct {
	call   *call
	cancel func()
	ended  chan ended // the upstream's answer; it waits here for its client
	asks   chan *ask  // what the client is to be asked next
	asked  *ask       // what it is asked now, while parked
}

type ended struct {
	result contract.Result
	err    error
}

// ask is something that a client is asked for between two calls.
type ask struct {
	id string
	// show is the error that ends the client's call, for it to be asked.
	show func(client) error
	// take takes what the client's next call says. A non-nil again is the error
	// that has the client asked once more.
	take func(ctx context.Context, from client) (again, err error)
}

// handle makes a call for its client, or goes on with the one that the client was
// asked in.
func (u *upstream) handle(ctx context.Context, c *call) (contract.Result, error) {
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
			"it is unknown whether the call took effect: check, then call again without requestState")
	default:
		r = u.start(ctx, c)
	}
	return u.follow(ctx, r, c.who(), asked)
}

// connects says that an id is of a request to connect, which no call waits for.
func (u *upstream) connects(ctx context.Context, id string) bool {
	hub, err := u.g.openHub(ctx)
	if err != nil {
		return false
	}
	r, err := hub.Get(ctx, id)
	return err == nil && r.Trigger == elicit.CredentialRequired
}

// start makes the call, which does not end with its client's.
func (u *upstream) start(ctx context.Context, c *call) *round {
	c.attach(ctx, c.who()) // before the upstream tells of its progress; follow detaches
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

// follow waits for a call as long as its client does, or until the client is to
// be asked.
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

// putTo has the client of the call asked, between two of its calls. It returns
// when the client is, or with ctx's error.
func (r *round) putTo(ctx context.Context, a *ask) error {
	select {
	case r.asks <- a:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attach notes that a request of the client waits for the call, until detach.
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

// who is whose call it is.
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

// wait is the context of the request that waits for the call; nil: none does.
func (c *call) wait() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting
}

// within is ctx with the values of the request that waits for the call, by which
// the SDK finds the stream of that request.
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

// parked are the calls whose clients are being asked, by what they are asked.
type parked struct {
	mu    sync.Mutex
	calls map[string]*parkedCall
}

type parkedCall struct {
	*round
	until *time.Timer
}

// Bounds of calls that wait for their clients to come back.
const (
	maxParked  = 256
	parkedOver = 10 * time.Minute // beyond what a person may take to answer
)

func (p *parked) put(u *upstream, r *round) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.calls) >= maxParked {
		u.g.log.Warn("gave up an upstream's call: too many are waiting for their clients", "upstream", u.Name, "most", maxParked)
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

// take is the call that was parked under an id, which is so no more; nil: none.
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
