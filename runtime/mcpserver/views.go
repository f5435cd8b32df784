package mcpserver

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The extension MCP Apps (SEP-1865, version 2026-01-26): a tool names a resource
// ui://..., an HTML page that the client shows next to the call. A client that does
// not declare the extension sees the same tools and resources as without it.
const (
	viewExtension = "io.modelcontextprotocol/ui"
	viewType      = "text/html;profile=mcp-app"
)

// showsViews reports whether the client of req declares the extension and our
// pages' type.
func showsViews(req mcp.Request) bool {
	from, ok := req.(interface {
		ClientCapabilities() *mcp.ClientCapabilities
	})
	if !ok {
		return false
	}
	can := from.ClientCapabilities()
	if can == nil {
		return false
	}
	declared, _ := can.Extensions[viewExtension].(map[string]any)
	types, _ := declared["mimeTypes"].([]any)
	return slices.Contains(types, any(viewType))
}

// toolsFor returns the tools that the client of req may see: with their views, or
// without the tools that only views call.
func (s *Server) toolsFor(req mcp.Request, all []*mcp.Tool) []*mcp.Tool {
	known, views := s.current.Load().tools, showsViews(req)
	shown := make([]*mcp.Tool, 0, len(all))
	for _, t := range all {
		tool := known[t.Name]
		switch {
		case tool == nil || tool.View == "" && !tool.OnlyViews:
			shown = append(shown, t)
		case views:
			with := *t
			with.Meta = mcp.Meta{"ui": viewOf(tool.View, tool.OnlyViews)}
			shown = append(shown, &with)
		case !tool.OnlyViews:
			shown = append(shown, t)
		}
	}
	return shown
}

// viewOf returns the member ui of a tool's _meta.
func viewOf(uri string, only bool) map[string]any {
	ui := map[string]any{}
	if uri != "" {
		ui["resourceUri"] = uri
	}
	if only {
		ui["visibility"] = []string{"app"}
	}
	return ui
}

// resourcesFor returns the resources that the client of req may see.
func (s *Server) resourcesFor(req mcp.Request, all []*mcp.Resource) []*mcp.Resource {
	if showsViews(req) {
		return all
	}
	known := s.current.Load().resources
	return slices.DeleteFunc(slices.Clone(all), func(r *mcp.Resource) bool {
		own := known[r.URI]
		return own != nil && own.View
	})
}

// viewMeta tells the host to deny the page all network access. It also says that
// the page draws its own border.
func viewMeta() mcp.Meta {
	none := []string{}
	return mcp.Meta{"ui": map[string]any{
		"csp":           map[string]any{"connectDomains": none, "resourceDomains": none, "frameDomains": none, "baseUriDomains": none},
		"prefersBorder": false,
	}}
}
