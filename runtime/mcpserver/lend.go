package mcpserver

//lint:file-ignore SA1019 2026-07-28 deprecates sampling and roots, and clients have them

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// lentKey is the key under which a client is asked between two calls to do
// something for another server.
const lentKey = "lend"

// Lends reports whether the call's client has declared that it can handle
// requests of this kind.
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

// Lend sends a request to the client during the client's call and returns the
// client's response.
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

// Borrow returns the error that ends the call so that the client handles the
// request. In the client's next call, Shown returns id.
func (p *peer) Borrow(id string, what mcp.InputRequest) error {
	state, err := p.server.sign(p.binding(&elicit.Request{ID: id}))
	if err != nil {
		return err
	}
	return &inputRequired{mcp.InputRequestMap{lentKey: what}, state}
}

// Lent returns this call's response to the request passed to Borrow, or nil if
// there is none.
func (p *peer) Lent() mcp.InputResponse { return p.req.Params.InputResponses[lentKey] }

// Conversation returns the call's session.
func (p *peer) Conversation() any { return p.req.Session }
