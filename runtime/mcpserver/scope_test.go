package mcpserver

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/contract"
)

// Lists that were read with the owner's credential are for the owner's agents; the entries of
// other upstreams are for everyone who may ask.
func TestListsOfAnotherPersonAreHiddenFromCallersWithNames(t *testing.T) {
	var changed func()
	for _, personal := range []bool{true, false} {
		c := abroad(&changed)
		for _, list := range [][]contract.Entry{c.Elsewhere.Prompts, c.Elsewhere.Resources, c.Elsewhere.Templates} {
			list[0].Personal = personal
		}
		s := newServer(t, Options{}, c)
		for who, caller := range map[string]access.Caller{"the agents' token": {Level: access.Agents}, "ada": {Name: "ada", Scopes: access.Scopes}} {
			ctx := access.With(context.Background(), caller)
			n := len(s.openPrompts(ctx, []*mcp.Prompt{{Name: "up_greet"}})) + len(s.openResources(ctx, []*mcp.Resource{{URI: "demo://a"}})) +
				len(s.openTemplates(ctx, []*mcp.ResourceTemplate{{URITemplate: "demo://item/{id}"}}))
			if want := map[bool]int{true: 0, false: 3}[personal && caller.Name != ""]; n != want {
				t.Errorf("personal %v: %s sees %d of 3 entries, want %d", personal, who, n, want)
			}
		}
	}
}
