package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK notifies all clients of each tool that it gets, so it does not get the
// unannounced ones. They are added to its lists on the way out, and calls of them
// reach the SDK under the name of a tool that it knows.

// announced reports whether the SDK has a tool with this name.
func (p *published) announced(name string) bool {
	t := p.tools[name]
	return t != nil && !t.Unannounced
}

// calledKey is the context key for the name of an unannounced tool that is being
// called. The SDK passes nothing else to a handler.
type calledKey struct{}

// known returns a call for which the SDK finds a handler.
func (p *published) known(ctx context.Context, req *mcp.CallToolRequest) (context.Context, *mcp.CallToolRequest) {
	name := req.Params.Name
	if t := p.tools[name]; t == nil || !t.Unannounced || p.standIn == "" {
		return ctx, req
	}
	return context.WithValue(ctx, calledKey{}, name), renamed(req, p.standIn)
}

// renamed returns a copy of req that calls another tool.
func renamed(req *mcp.CallToolRequest, name string) *mcp.CallToolRequest {
	copied, params := *req, *req.Params
	params.Name = name
	copied.Params = &params
	return &copied
}
