// Package corpus embeds deskhand's own manual.
package corpus

import "embed"

// Files holds the manual's pages and its manifest, with paths relative to this
// folder.
//
//go:embed .docs-mcp.json *.md concepts guides reference troubleshooting
var Files embed.FS
