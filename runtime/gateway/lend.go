package gateway

//lint:file-ignore SA1019 2026-07-28 deprecates sampling and roots, and servers have them

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
)

// A client may lend an upstream its model (sampling) and its folders (roots), in
// a call of its own and at no other time. Upstreams are told of it once a client
// has come that does, since some offer other tools then.

// lender is what a door can have a client do for an upstream.
type lender interface {
	// Lends says that the client has declared that it does this.
	Lends(what mcp.InputRequest) bool
	// Lend has the client do it while the call is held.
	Lend(ctx context.Context, what mcp.InputRequest) (mcp.InputResponse, error)
	// Borrow is the error that ends the call for the client to do it, and Lent
	// what the client's next call says of it; nil: nothing.
	Borrow(id string, what mcp.InputRequest) error
	Lent() mcp.InputResponse
	// Conversation is the same for all calls of one client, if the door can tell.
	Conversation() any
}

// maxLent bounds how often one call may use what its client lends.
const maxLent = 50

// lend has the client of a call do what the upstream asks for.
func (u *upstream) lend(ctx context.Context, what mcp.InputRequest) (mcp.InputResponse, error) {
	refuse := func(format string, args ...any) error {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
	}
	name := "roots/list"
	if _, ok := what.(*mcp.ListRootsParams); !ok {
		name = "sampling/createMessage"
	}
	c, why := u.borrower(ctx)
	if c == nil {
		return nil, refuse("%s cannot be passed on: %s", name, why)
	}
	caller := c.who()
	from, ok := caller.Client.(lender)
	if !ok || !from.Lends(what) {
		return nil, refuse("the client of this call, %s, does not support %s", brief(caller.Name, 60), name)
	}
	c.mu.Lock()
	c.lent++
	lent := c.lent
	c.mu.Unlock()
	if lent > maxLent {
		return nil, refuse("%s was asked for more than %d times in one call", name, maxLent)
	}
	if c.round == nil {
		return from.Lend(c.within(ctx), what)
	}
	got := make(chan mcp.InputResponse, 1)
	id := "lend_" + rand.Text()
	a := &ask{id: id,
		show: func(to client) error { return to.(lender).Borrow(id, what) },
		take: func(_ context.Context, from client) (again, err error) {
			response := from.(lender).Lent()
			if response == nil {
				return from.(lender).Borrow(id, what), nil
			}
			got <- response
			return nil, nil
		}}
	if err := c.round.putTo(ctx, a); err != nil {
		return nil, err
	}
	over := time.NewTimer(u.g.options.Wait)
	defer over.Stop()
	select {
	case response := <-got:
		return response, nil
	case <-over.C:
		return nil, refuse("the client did not come back with %s within %v", name, u.g.options.Wait)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// borrower is the call that an upstream's request belongs to: the one that says
// so, or the newest in flight if all are of one client. Nil: it cannot be told.
func (u *upstream) borrower(ctx context.Context) (c *call, why string) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c, ""
	}
	all := u.inFlight()
	if len(all) == 0 {
		return nil, "no call is in flight that it could be for"
	}
	conversation := func(c *call) any {
		if from, ok := c.who().Client.(lender); ok {
			return from.Conversation()
		}
		return c
	}
	for _, one := range all {
		if c == nil || one.number > c.number {
			c = one
		}
		if conversation(one) != conversation(all[0]) {
			return nil, fmt.Sprintf("%d calls of several clients are in flight, and it does not say which it is for", len(all))
		}
	}
	return c, ""
}

// lendingMiddleware answers what the SDK would answer for all calls alike.
func (u *upstream) lendingMiddleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "roots/list" {
			return next(ctx, method, req)
		}
		response, err := u.lend(ctx, &mcp.ListRootsParams{})
		if err != nil {
			return nil, err
		}
		roots, ok := response.(*mcp.ListRootsResult)
		if !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client's reply is not a list of roots"}
		}
		if roots.Roots == nil {
			roots.Roots = []*mcp.Root{}
		}
		return roots, nil
	}
}

// sample answers sampling/createMessage.
func (u *upstream) sample(ctx context.Context, req *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error) {
	response, err := u.lend(ctx, req.Params)
	if err != nil {
		return nil, err
	}
	switch r := response.(type) {
	case *mcp.CreateMessageWithToolsResult:
		return r, nil
	case *mcp.CreateMessageResult:
		return &mcp.CreateMessageWithToolsResult{Meta: r.Meta, Content: []mcp.Content{r.Content}, Model: r.Model, Role: r.Role, StopReason: r.StopReason}, nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client's reply is not a message"}
}

// declare is what an upstream is told of the clients.
func (u *upstream) declare(o *mcp.ClientOptions, l contract.Lends) {
	if l.Sampling {
		o.Capabilities.Sampling = &mcp.SamplingCapabilities{}
		if l.SamplingTools {
			o.Capabilities.Sampling.Tools = &mcp.SamplingToolsCapabilities{}
		}
		o.CreateMessageWithToolsHandler = u.sample
	}
	if l.Roots {
		o.Capabilities.RootsV2 = &mcp.RootCapabilities{}
	}
}

// lending is what clients have been found to lend.
type lending struct {
	mu    sync.Mutex
	all   contract.Lends
	until time.Time // clients wait for upstreams to know of it; zero: they do not
}

// add notes what a client lends, and whether none has lent as much before: then
// clients wait for patience.
func (l *lending) add(more contract.Lends, patience time.Duration) (all contract.Lends, isNew bool, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.all
	l.all = contract.Lends{Sampling: before.Sampling || more.Sampling, SamplingTools: before.SamplingTools || more.SamplingTools, Roots: before.Roots || more.Roots}
	if isNew = l.all != before; isNew && patience > 0 {
		l.until = time.Now().Add(patience)
	}
	return l.all, isNew, l.until
}

func (l *lending) get() contract.Lends {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// Expect says what the first client lends, before Start.
func (g *Gateway) Expect(l contract.Lends) { g.lends.add(l, 0) }

// Met tells upstreams what a client lends, unless one that lends as much has come
// before. It returns when they have shown what they offer to such a client, or
// when patience is over since the first such client came.
func (g *Gateway) Met(ctx context.Context, l contract.Lends, patience time.Duration) {
	all, isNew, until := g.lends.add(l, patience)
	if l == (contract.Lends{}) || !time.Now().Before(until) {
		return
	}
	for _, u := range g.upstreams {
		if isNew {
			u.wake() // and it connects anew
		}
	}
	over := time.NewTimer(time.Until(until))
	defer over.Stop()
	for _, u := range g.upstreams {
		for {
			looked, with := u.lastLook()
			if with == all {
				break
			}
			select {
			case <-looked:
				continue
			case <-over.C:
			case <-ctx.Done():
			}
			return
		}
	}
}

// lastLook is what was lent when the upstream was last looked at, and closed when
// it is looked at again.
func (u *upstream) lastLook() (again <-chan struct{}, with contract.Lends) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.looked, u.lookedWith
}

// lookedAt notes that the upstream was looked at, however that ended.
func (u *upstream) lookedAt(with contract.Lends) {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.looked)
	u.looked, u.lookedWith = make(chan struct{}), with
}

// hold keeps a connection from being retired until release; ok is false if it is
// already.
func (u *upstream) hold(s *session) (release func(), ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s.retired {
		return nil, false
	}
	s.using++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if s.using--; s.using == 0 && s.retired {
			close(s.idle)
		}
	}, true
}

// retire replaces a connection over which less was lent: it is closed once the
// calls on it have ended.
func (u *upstream) retire(s *session) {
	u.mu.Lock()
	if u.live == s {
		u.live = nil
	}
	s.retired = true
	if s.using == 0 {
		close(s.idle)
	}
	u.mu.Unlock()
	u.g.running.Go(func() {
		select {
		case <-s.idle:
		case <-u.g.ctx.Done():
		}
		_ = s.Close() // nobody needs to know how it ends
	})
}
