package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK tells all clients of each tool that it is given, so it is not given
// those that are not announced. They are put into its lists on the way out, and
// a call of one goes in under the name of a tool that it knows.

// announced says that the SDK has a tool of this name.
func (p *published) announced(name string) bool {
	t := p.tools[name]
	return t != nil && !t.Unannounced
}

// calledKey has, in the context of a call of a tool that is not announced, its
// name: the SDK hands a handler nothing else from outside.
type calledKey struct{}

// known is a call as the SDK finds its handler.
func (p *published) known(ctx context.Context, req *mcp.CallToolRequest) (context.Context, *mcp.CallToolRequest) {
	name := req.Params.Name
	if t := p.tools[name]; t == nil || !t.Unannounced || p.standIn == "" {
		return ctx, req
	}
	return context.WithValue(ctx, calledKey{}, name), renamed(req, p.standIn)
}

// renamed is a call of another tool.
func renamed(req *mcp.CallToolRequest, name string) *mcp.CallToolRequest {
	copied, params := *req, *req.Params
	params.Name = name
	copied.Params = &params
	return &copied
}
