package searchpage

import (
	"net/http"
	"strings"

	"github.com/deskhand/deskhand/runtime/web/page"
)

// setup is text to paste into a client's configuration, so that the client's
// agent can search these docs.
type setup struct {
	Client, Where string
	Copy          copied
}

// setups returns the client configurations. They contain the address that the
// browser used for this server. They never contain the token, which the client
// takes from its environment.
func (p *Page) setups(r *http.Request) []setup {
	fill := strings.NewReplacer("NAME", p.options.Name, "URL", page.Address(r)+"/mcp")
	header := func(text string) string {
		if p.options.NoToken {
			return ""
		}
		return text
	}
	return []setup{
		{"Claude Code", "in a terminal", copied{Text: fill.Replace("claude mcp add --transport http NAME URL" + header(" \\\n  --header \"Authorization: Bearer $DESKHAND_TOKEN\""))}},
		{"Claude Code", ".mcp.json", copied{Text: fill.Replace("{\n  \"mcpServers\": {\n    \"NAME\": {\n      \"type\": \"http\",\n      \"url\": \"URL\"" +
			header(",\n      \"headers\": { \"Authorization\": \"Bearer ${DESKHAND_TOKEN}\" }") + "\n    }\n  }\n}")}},
		{"Cursor", ".cursor/mcp.json", copied{Text: fill.Replace("{\n  \"mcpServers\": {\n    \"NAME\": {\n      \"url\": \"URL\"" +
			header(",\n      \"headers\": { \"Authorization\": \"Bearer ${env:DESKHAND_TOKEN}\" }") + "\n    }\n  }\n}")}},
		{"VS Code", ".vscode/mcp.json", copied{Text: fill.Replace("{\n  \"servers\": {\n    \"NAME\": {\n      \"type\": \"http\",\n      \"url\": \"URL\"" +
			header(",\n      \"headers\": { \"Authorization\": \"Bearer ${env:DESKHAND_TOKEN}\" }") + "\n    }\n  }\n}")}},
	}
}
