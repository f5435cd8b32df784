package mcpserver

//lint:file-ignore SA1019 2026-07-28 deprecates sampling and roots, and clients have them

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
)

// met passes the features that a client lends to [Options.Met] before the client
// gets a list. The list can then include entries that other servers offer only to
// such clients.
func (s *Server) met(ctx context.Context, method string, req mcp.Request) {
	r, ok := req.(interface {
		ClientCapabilities() *mcp.ClientCapabilities
	})
	if ok && s.opts.Met != nil && method != "initialize" && method != "server/discover" {
		s.opts.Met(ctx, lends(r.ClientCapabilities()))
	}
}

// lends converts a client's declared capabilities.
func lends(c *mcp.ClientCapabilities) contract.Lends {
	if c == nil {
		return contract.Lends{}
	}
	return contract.Lends{Sampling: c.Sampling != nil, SamplingTools: c.Sampling != nil && c.Sampling.Tools != nil, Roots: c.RootsV2 != nil}
}

// FirstLends returns the features that a stdio client lends, according to its first
// message. It returns the zero value if the message does not declare any.
func FirstLends(message []byte) contract.Lends {
	f, err := parseFrame(message)
	if err != nil {
		return contract.Lends{}
	}
	raw := f.member("capabilities")
	if raw == nil {
		meta, _ := contract.Fields(f.member("_meta"))
		for _, field := range meta {
			if field.Name == mcp.MetaKeyClientCapabilities {
				raw = field.Value
			}
		}
	}
	var said struct {
		Sampling *struct{ Tools map[string]any }
		Roots    map[string]any
	}
	if json.Unmarshal(raw, &said) != nil {
		return contract.Lends{}
	}
	return contract.Lends{Sampling: said.Sampling != nil, SamplingTools: said.Sampling != nil && said.Sampling.Tools != nil, Roots: said.Roots != nil}
}
