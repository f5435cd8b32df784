package mcpserver

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/contract"
)

// An upstream may offer different tools to different people. The SDK has one list for all
// clients, so the tools of a caller with a name are added to its lists afterwards, like
// unannounced ones, and are looked up for each call. They are kept nowhere.

// toolFor returns the tool that the caller of ctx means by a name, or nil. A tool that only the
// owner's list has may be called too: its call uses the caller's own credential, or asks the
// caller's person to connect.
func (p *published) toolFor(ctx context.Context, name string) *contract.Tool {
	t, person := p.tools[name], access.Of(ctx).Name
	if person == "" || p.toolsOf == nil || t != nil && !t.Personal {
		return t
	}
	for _, own := range p.toolsOf(ctx, person) {
		if own.Name == name && contract.Publishable(&own) == nil {
			return &own
		}
	}
	return t
}

// personal returns the list that the caller of ctx sees, given the list that all share. last
// reports whether it is the last page.
func (p *published) personal(ctx context.Context, all []*mcp.Tool, last bool) []*mcp.Tool {
	person := access.Of(ctx).Name
	if person == "" || p.toolsOf == nil {
		return all
	}
	all = slices.DeleteFunc(slices.Clone(all), func(t *mcp.Tool) bool { return p.tools[t.Name] != nil && p.tools[t.Name].Personal })
	if !last {
		return all
	}
	taken := map[string]bool{}
	for _, own := range p.toolsOf(ctx, person) {
		shared := p.tools[own.Name]
		if taken[own.Name] || shared != nil && !shared.Personal || !open(ctx, own.Scope) || contract.Publishable(&own) != nil {
			continue
		}
		taken[own.Name] = true
		all = append(all, p.sdkTool(&own))
	}
	return all
}

// PersonalChanged tells clients that the tools of a person may have changed. The SDK cannot
// tell only some clients; it tells all when a tool is registered.
func (s *Server) PersonalChanged() {
	s.lists.Lock()
	defer s.lists.Unlock()
	now := s.current.Load()
	if t := now.tools[now.standIn]; t != nil {
		s.sdk.AddTool(now.sdkTool(t), s.callTool)
	}
}
