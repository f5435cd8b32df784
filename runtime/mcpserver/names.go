package mcpserver

import (
	"context"
	"encoding/json"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/clients"
)

// Some clients hide a tool from their model because of its name. In everything
// that such a client reads, the tool has another name. Package clients holds the
// names. Every client may call the tool by either name.

// renaming replaces tool names for each client. It wraps all other middleware.
func (s *Server) renaming(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if p, ok := req.GetParams().(*mcp.CallToolParamsRaw); ok {
			p.Name = s.called(p.Name)
		}
		result, err := next(ctx, method, req)
		if err != nil {
			return result, err
		}
		switch r := result.(type) {
		case *mcp.InitializeResult:
			r.Instructions = s.namesFor(req).in(r.Instructions)
		case *mcp.DiscoverResult:
			r.Instructions = s.namesFor(req).in(r.Instructions)
		case *mcp.ListToolsResult:
			r.Tools = s.namesFor(req).tools(r.Tools)
		}
		return result, nil
	}
}

// names maps tool names to the names that one client sees instead. If nil, nothing
// is renamed.
type names map[string]string

// namesFor returns the names for the caller of req. It skips a name that another
// tool already has.
func (s *Server) namesFor(req mcp.Request) (n names) {
	r, ok := req.(interface{ ClientInfo() *mcp.Implementation })
	if !ok {
		return nil
	}
	tools := s.current.Load().tools
	for tool, listed := range clients.Of(callerOf(r.ClientInfo()).Name).Renames {
		if tools[tool] != nil && tools[listed] == nil {
			if n == nil {
				n = names{}
			}
			n[tool] = listed
		}
	}
	return n
}

// in replaces tool names in text where they are whole words.
func (n names) in(text string) string {
	for tool, listed := range n {
		text = regexp.MustCompile(`\b`+regexp.QuoteMeta(tool)+`\b`).ReplaceAllLiteralString(text, listed)
	}
	return text
}

// tools returns the tools with their new names. It does not change the given tools.
func (n names) tools(all []*mcp.Tool) []*mcp.Tool {
	if n == nil {
		return all
	}
	other := make([]*mcp.Tool, len(all))
	for i, t := range all {
		copied := *t
		copied.Name, copied.Description = n.in(t.Name), n.in(t.Description)
		if schema, ok := t.InputSchema.(json.RawMessage); ok {
			copied.InputSchema = json.RawMessage(n.in(string(schema)))
		}
		other[i] = &copied
	}
	return other
}

// called returns our name for a tool that a client calls by another name.
func (s *Server) called(name string) string {
	tools := s.current.Load().tools
	if ours := clients.Called(name); tools[name] == nil && tools[ours] != nil {
		return ours
	}
	return name
}
