// Package identity says under which names deskhand is published. Whoever publishes it owns these
// names. Files that cannot read identity.json repeat them; a test compares those files with it.
package identity

import (
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed identity.json
var data []byte

// Names are the names of a release.
type Names struct {
	Repository  string `json:"repository"` // also the Go module, without https://
	Maintainer  string `json:"maintainer"`
	Email       string `json:"email"` // ends in .invalid until someone sets it
	Image       string `json:"image"` // in a container registry, without a tag
	NPM         string `json:"npm"`
	NPMScope    string `json:"npm_scope"`
	MCPServer   string `json:"mcp_server"`   // in the MCP registry
	HomebrewTap string `json:"homebrew_tap"` // repositories of the same owner
	ScoopBucket string `json:"scoop_bucket"`
	WingetFork  string `json:"winget_fork"`
	Description string `json:"description"` // one line, without a full stop
	Licence     string `json:"licence"`     // as SPDX
}

// Ours are the names in identity.json.
var Ours = func() (n Names) {
	if err := json.Unmarshal(data, &n); err != nil {
		panic(err) // the file is part of the program
	}
	return n
}()

// URL returns the repository's address.
func (n Names) URL() string { return "https://" + n.Repository }

// Owner returns the owner of the repository.
func (n Names) Owner() string { return strings.Split(n.Repository, "/")[1] }

// Contact returns the maintainer with the address, as packages have it.
func (n Names) Contact() string { return n.Maintainer + " <" + n.Email + ">" }

// Published reports whether someone has set an address that can be reached.
func (n Names) Published() bool { return !strings.HasSuffix(n.Email, ".invalid") }
