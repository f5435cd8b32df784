package mcpserver

import (
	"context"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/people"
)

// A caller with a name sees and uses only what its scopes open. Over stdio, and for the
// secrets of the installation, everything is open: the front has decided already.

// from returns ctx with the caller that the front has identified. The SDK passes on the
// context of a session, which may have begun with another token.
func (s *Server) from(ctx context.Context, req mcp.Request) context.Context {
	if under := s.calls.contextOf(keyOf(req.GetExtra())); under != nil && access.Known(under) {
		return access.With(ctx, access.Of(under))
	}
	return ctx
}

func (c *calls) contextOf(key string) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u := c.byKey[key]; u != nil {
		return u.ctx
	}
	return nil
}

// open reports whether the caller of ctx may use what requires the scope. Without a
// scope, it is closed to callers with names.
func open(ctx context.Context, scope access.Scope) bool {
	c := access.Of(ctx)
	return c.Name == "" || slices.Contains(c.Scopes, scope)
}

// foreignScope is the scope of other servers' prompts and resources.
const foreignScope = access.Ask

// closed returns the fault for a tool that is not open to the caller, or nil.
func closed(ctx context.Context, tool *contract.Tool) *fault.Fault {
	if open(ctx, tool.Scope) {
		return nil
	}
	c := access.Of(ctx)
	return fault.New("insufficient_scope", fmt.Sprintf("%s needs the scope %s, and this token of %s has %s", tool.Name, tool.Scope, c.Name, people.Words(c.Scopes)),
		"use another tool, or tell the person that the token lacks this scope")
}

// openTools returns the tools that are open to the caller.
func (s *Server) openTools(ctx context.Context, all []*mcp.Tool) []*mcp.Tool {
	known := s.current.Load().tools
	return slices.DeleteFunc(slices.Clone(all), func(t *mcp.Tool) bool { return known[t.Name] != nil && !open(ctx, known[t.Name].Scope) })
}

// instructions returns the function that returns the instructions for a caller.
func instructions(c *contract.Catalog) func(context.Context) string {
	all, some := c.Instructions, c.InstructionsFor
	return func(ctx context.Context) string {
		if caller := access.Of(ctx); caller.Name != "" && some != nil {
			return some(caller.Scopes)
		}
		return all
	}
}

// openPrompts, openResources and openTemplates do the same for other lists. Entries that
// are not our own are other servers'.
func (s *Server) openPrompts(ctx context.Context, all []*mcp.Prompt) []*mcp.Prompt {
	return slices.DeleteFunc(slices.Clone(all), func(p *mcp.Prompt) bool { return !open(ctx, s.promptScope(p.Name)) })
}

func (s *Server) openResources(ctx context.Context, all []*mcp.Resource) []*mcp.Resource {
	return slices.DeleteFunc(slices.Clone(all), func(r *mcp.Resource) bool { return !open(ctx, s.resourceScope(r.URI)) })
}

func (s *Server) openTemplates(ctx context.Context, all []*mcp.ResourceTemplate) []*mcp.ResourceTemplate {
	if !open(ctx, foreignScope) {
		return []*mcp.ResourceTemplate{} // our own resources have no templates
	}
	return all
}

func (s *Server) promptScope(name string) access.Scope {
	if own := s.current.Load().prompts[name]; own != nil {
		return own.Scope
	}
	return foreignScope
}

func (s *Server) resourceScope(uri string) access.Scope {
	if own := s.current.Load().resources[uri]; own != nil {
		return own.Scope
	}
	return foreignScope
}

// mayAnswer reports whether the client of a request may answer questions in its own
// dialogs: an answer of a caller with a name needs the scope for it.
func (s *Server) mayAnswer(req mcp.Request) bool {
	return open(s.from(context.Background(), req), access.Answer)
}

// nameOf returns the name of a request's caller, or "".
func (s *Server) nameOf(req mcp.Request) string {
	return access.Of(s.from(context.Background(), req)).Name
}
