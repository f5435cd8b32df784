package gateway

//lint:file-ignore SA1019 2026-07-28 deprecates sampling and roots, but servers still use them

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// A client may lend an upstream its model (sampling) and its folders (roots), but
// only during one of its own calls. Upstreams are told once such a client has
// connected, because some then offer other tools.

// lender makes a client do something for an upstream.
type lender interface {
	// Lends reports whether the client has declared that it supports this kind of
	// request.
	Lends(what mcp.InputRequest) bool
	// Lend makes the client fulfil the request while the call is held.
	Lend(ctx context.Context, what mcp.InputRequest) (mcp.InputResponse, error)
	// Borrow returns the error that ends the call so that the client can fulfil
	// the request. Lent returns the result from the client's next call, or nil if
	// that call has none.
	Borrow(id string, what mcp.InputRequest) error
	Lent() mcp.InputResponse
	// Conversation returns a value that is the same for all calls from one client,
	// if the transport can tell.
	Conversation() any
}

// maxLent is how many times one call may use the features that its client lends.
const maxLent = 50

// lend makes a call's client fulfil the upstream's request.
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
	defer u.holdFor(c)()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.life != nil {
		defer context.AfterFunc(c.life, cancel)()
	}
	caller := c.who()
	from, ok := caller.Client.(lender)
	if !ok || !from.Lends(what) {
		return nil, refuse("this call's client, %s, does not support %s", textutil.Shorten(caller.Name, 60), name)
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

// borrower returns the call that an upstream's request belongs to: the call that
// the request names, or the newest in flight if all are from one client.
// Otherwise, the call is nil, and the result why gives the reason.
func (u *upstream) borrower(ctx context.Context) (c *call, why string) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c, ""
	}
	all := u.inFlight()
	if len(all) == 0 {
		return nil, "there is no running call that it could belong to"
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
			return nil, fmt.Sprintf("%d calls from several clients are running, and it does not say to which call it belongs", len(all))
		}
	}
	return c, ""
}

// lendingMiddleware answers roots/list for each call. The SDK would give the same
// answer for all calls.
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

// sample handles sampling/createMessage.
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
