package mcpserver

import (
	"context"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/contract"
)

// The lists of the installation are for the agents' token; a caller with a name sees the
// person's, if it may ask.
func TestListsOfAnotherPersonAreHiddenFromCallersWithNames(t *testing.T) {
	var changed func()
	c := abroad(&changed)
	c.Prompts[0].Scope = access.Docs
	own := &contract.Elsewhere{Prompts: []contract.Entry{{Key: "up_ada", Published: []byte(`{"name":"up_ada"}`)}, c.Elsewhere.Prompts[0]}}
	c.ElsewhereOf = func(_ context.Context, person string) *contract.Elsewhere {
		return map[string]*contract.Elsewhere{"ada": own}[person]
	}
	s := newServer(t, Options{}, c)
	for who, c := range map[string]struct {
		caller access.Caller
		want   []string
	}{
		"the agents' token":             {access.Caller{Level: access.Agents}, []string{"guides/ask", "up_greet", "demo://a", "demo://item/{id}"}},
		"ada":                           {access.Caller{Name: "ada", Scopes: access.Scopes}, []string{"guides/ask", "up_ada", "up_greet"}},
		"ada without the scope":         {access.Caller{Name: "ada", Scopes: []access.Scope{access.Docs}}, []string{"guides/ask"}},
		"bob, whose gateway has closed": {access.Caller{Name: "bob", Scopes: access.Scopes}, []string{"guides/ask"}},
	} {
		ctx, now := access.With(t.Context(), c.caller), s.current.Load()
		var got []string
		for _, p := range s.openPrompts(ctx, now.personalPrompts(ctx, &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{{Name: "guides/ask"}, {Name: "up_greet"}}})) {
			got = append(got, p.Name)
		}
		for _, r := range s.openResources(ctx, now.personalResources(ctx, &mcp.ListResourcesResult{Resources: []*mcp.Resource{{URI: "demo://a"}}})) {
			got = append(got, r.URI)
		}
		for _, r := range s.openTemplates(ctx, now.personalTemplates(ctx, &mcp.ListResourceTemplatesResult{ResourceTemplates: []*mcp.ResourceTemplate{{URITemplate: "demo://item/{id}"}}})) {
			got = append(got, r.URITemplate)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s sees %q, want %q", who, got, c.want)
		}
	}
}
