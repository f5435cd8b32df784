package mcpserver

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/contract"
)

// An upstream may offer different things to different people. The SDK has one list for all
// clients, so what a caller with a name sees is put into its lists afterwards, like unannounced
// tools, and is looked up for each call. Nothing of it is registered with the SDK.

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

// elsewhereFor returns other servers' entries as the caller of ctx sees them.
func (p *published) elsewhereFor(ctx context.Context) *elsewhere {
	person := access.Of(ctx).Name
	if person == "" || p.elsewhereOf == nil {
		return p.elsewhere
	}
	own := p.elsewhereOf(ctx, person)
	if last, ok := p.theirs.Load(person); ok && last.(*elsewhere).Elsewhere == own {
		return last.(*elsewhere)
	}
	e := publishElsewhere(p, own, p.log)
	p.theirs.Store(person, e)
	return e
}

// personalPrompts, personalResources and personalTemplates return a page of a list as the
// caller of ctx sees it.
func (p *published) personalPrompts(ctx context.Context, r *mcp.ListPromptsResult) []*mcp.Prompt {
	return personalEntries(ctx, p, r.Prompts, r.NextCursor == "", func(one *mcp.Prompt) bool { return p.prompts[one.Name] != nil },
		func(e *elsewhere) map[string]json.RawMessage { return e.prompts })
}

func (p *published) personalResources(ctx context.Context, r *mcp.ListResourcesResult) []*mcp.Resource {
	return personalEntries(ctx, p, r.Resources, r.NextCursor == "", func(one *mcp.Resource) bool { return p.resources[one.URI] != nil },
		func(e *elsewhere) map[string]json.RawMessage { return e.resources })
}

func (p *published) personalTemplates(ctx context.Context, r *mcp.ListResourceTemplatesResult) []*mcp.ResourceTemplate {
	return personalEntries(ctx, p, r.ResourceTemplates, r.NextCursor == "", func(*mcp.ResourceTemplate) bool { return false },
		func(e *elsewhere) map[string]json.RawMessage { return e.templates })
}

// personalEntries replaces other servers' entries by those that the caller of ctx sees. own
// reports whether an entry is one of this server's, and last whether all is the last page.
func personalEntries[T any](ctx context.Context, p *published, all []*T, last bool, own func(*T) bool, list func(*elsewhere) map[string]json.RawMessage) []*T {
	e := p.elsewhereFor(ctx)
	if e == p.elsewhere {
		return all
	}
	all = slices.DeleteFunc(slices.Clone(all), func(one *T) bool { return !own(one) })
	if shown := list(e); last {
		for _, key := range slices.Sorted(maps.Keys(shown)) { // the SDK's order
			all = append(all, decoded[T](shown[key]))
		}
	}
	return all
}

// PersonalChanged tells clients that what a person sees may have changed. The SDK cannot
// tell only some clients; it tells all when an entry is registered.
func (s *Server) PersonalChanged() {
	s.lists.Lock()
	defer s.lists.Unlock()
	now := s.current.Load()
	if t := now.tools[now.standIn]; t != nil {
		s.sdk.AddTool(now.sdkTool(t), s.callTool)
	}
	if now.elsewhere.Elsewhere != nil {
		s.announceAny()
	}
}
