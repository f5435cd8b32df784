package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK notifies all clients of each tool that is registered, so unannounced
// tools are not registered. They are added to the SDK's lists afterwards, and
// calls to them reach the SDK under the name of a registered tool.

// announced reports whether the SDK has a tool with this name.
func (p *published) announced(name string) bool {
	t := p.tools[name]
	return t != nil && !t.Unannounced
}

// calledKey is the context key for the name of an unannounced or a person's tool, or a person's
// prompt, that is being called. The SDK passes only the context to a handler.
type calledKey struct{}

// known returns the call in a form for which the SDK finds a handler.
func (p *published) known(ctx context.Context, req *mcp.CallToolRequest) (context.Context, *mcp.CallToolRequest) {
	name := req.Params.Name
	if t := p.toolFor(ctx, name); t == nil || p.announced(name) || p.standIn == "" {
		return ctx, req
	}
	return context.WithValue(ctx, calledKey{}, name), renamed(req, p.standIn)
}

// knownPrompt does the same for a prompt.
func (p *published) knownPrompt(ctx context.Context, req *mcp.GetPromptRequest) (context.Context, *mcp.GetPromptRequest) {
	name := req.Params.Name
	if p.elsewhere.Elsewhere == nil || p.prompts[name] != nil || p.elsewhere.prompts[name] != nil {
		return ctx, req
	}
	return context.WithValue(ctx, calledKey{}, name), calling(req, anyPrompt)
}

// calling returns a copy of req that gets another prompt.
func calling(req *mcp.GetPromptRequest, name string) *mcp.GetPromptRequest {
	copied, params := *req, *req.Params
	params.Name = name
	copied.Params = &params
	return &copied
}

// renamed returns a copy of req that calls another tool.
func renamed(req *mcp.CallToolRequest, name string) *mcp.CallToolRequest {
	copied, params := *req, *req.Params
	params.Name = name
	copied.Params = &params
	return &copied
}
