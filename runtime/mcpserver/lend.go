package mcpserver

//lint:file-ignore SA1019 2026-07-28 deprecates sampling and roots, and clients have them

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// lentKey is under which key a client is asked to do something for another server
// between two calls.
const lentKey = "lend"

// Lends says that the client of the call has declared that it answers what.
func (p *peer) Lends(what mcp.InputRequest) bool {
	l := lends(p.req.ClientCapabilities())
	switch r := what.(type) {
	case *mcp.ListRootsParams:
		return l.Roots
	case *mcp.CreateMessageParams:
		return l.Sampling
	case *mcp.CreateMessageWithToolsParams:
		return l.Sampling && (l.SamplingTools || len(r.Tools) == 0)
	}
	return false
}

// Lend has the client answer what while its call is held.
func (p *peer) Lend(ctx context.Context, what mcp.InputRequest) (mcp.InputResponse, error) {
	switch r := what.(type) {
	case *mcp.ListRootsParams:
		return p.req.Session.ListRoots(ctx, r)
	case *mcp.CreateMessageParams:
		return p.req.Session.CreateMessage(ctx, r)
	case *mcp.CreateMessageWithToolsParams:
		return p.req.Session.CreateMessageWithTools(ctx, r)
	}
	return nil, errors.New("a client cannot be asked for that")
}

// Borrow is the error that ends the call for the client to answer what, under an
// id that Shown then gives.
func (p *peer) Borrow(id string, what mcp.InputRequest) error {
	state, err := p.server.sign(p.binding(&elicit.Request{ID: id}))
	if err != nil {
		return err
	}
	return &inputRequired{mcp.InputRequestMap{lentKey: what}, state}
}

// Lent is what this call says to what Borrow asked for; nil: nothing.
func (p *peer) Lent() mcp.InputResponse { return p.req.Params.InputResponses[lentKey] }

// Conversation is the session of the call.
func (p *peer) Conversation() any { return p.req.Session }
