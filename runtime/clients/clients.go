// Package clients holds what is known about the MCP clients that deskhand has
// been tested with: how long each client waits for a call, and which half of a
// result its model receives.
//
// A client is identified by the name that it sends in initialize
// (clientInfo.name). The values were measured with the real programs and a stub
// model that records what it receives (make received). docs/clients.md has the
// table.
package clients

import "time"

// Client describes one MCP client. The zero value of a field means that the
// property is unknown. [Of] sets values that are safe for an unknown client.
type Client struct {
	// Name is clientInfo.name, as the client sends it.
	Name string
	// Version is the release that was measured, or empty if no release was
	// measured.
	Version string
	// Hold is the maximum time for which a call by this client is held while the
	// client receives progress. After that, the call must be answered. If there
	// is no result yet, the answer contains an ID with which the agent can ask
	// again. Without progress, the limit is [Unknown] for all clients.
	Hold time.Duration
	// alone reports, from the _meta of a call, whether the client may be
	// running without a person and decline forms on its own. If nil, the client
	// never declines on its own.
	alone func(meta map[string]any) bool
	// Closes reports whether the client closes dialogs on its own if it runs
	// without a person. A cancel is then not necessarily a person's decision.
	Closes bool
	// Shows is the half of a result that the model receives.
	Shows Half
	// Renames is for tools that the client hides from its model because of their
	// names. It maps their names to the names under which they are listed. Calls
	// with either name work.
	Renames map[string]string
	// MaxBytes is the maximum size, in bytes, of text that the model receives
	// whole. The client drops part of any longer text without telling the server.
	// Zero means unknown.
	MaxBytes int
}

// Half is a half of a tool result: the content blocks, or the structured
// content.
type Half int

const (
	// Either means that it is unknown which half the model receives, so each
	// half must be complete.
	Either Half = iota
	// Structured means that the model receives only structuredContent if a
	// result has it, and otherwise the content blocks.
	Structured
	// Content means that the model receives only the content blocks.
	Content
	// Both means that the model receives both halves, so text in both halves uses
	// twice the tokens.
	Both
)

// known lists the measured clients, in the order of docs/clients.md. For each
// client, a call was held for 31 minutes with progress every 15 seconds, over
// stdio and HTTP:
//
//	claude-code            kept waiting; without progress it ended the call after 300 s over HTTP, and kept waiting over stdio
//	codex-mcp-client       ended the call after 300 s, with or without progress
//	gemini-cli-mcp-client  ended the call after 600 s, with or without progress
//	opencode               kept waiting; without progress it ended the call after 60 s
var known = []Client{
	{Name: "claude-code", Version: "2.1.197", Hold: 30 * time.Minute, Closes: true, Shows: Structured, MaxBytes: 48_000},
	{Name: "codex-mcp-client", Version: "0.169.0", Hold: 240 * time.Second, Shows: Structured, MaxBytes: 32_000, alone: codexAlone},
	{Name: "gemini-cli-mcp-client", Version: "0.61.0", Hold: 540 * time.Second, Shows: Content, MaxBytes: 39_000,
		// Without a terminal, the client excludes its own tool ask_user, and with
		// it every server's tool with the same name.
		Renames: map[string]string{"ask_user": "ask_person"}},
	{Name: "opencode", Version: "1.18.33", Hold: 30 * time.Minute, Shows: Content, MaxBytes: 50_000},
}

// Unknown is the maximum time for which a call is held for an unknown client, or
// for a client that receives no progress. It is below the 60 seconds after which
// the TypeScript SDK gives up by default, with or without progress.
const Unknown = 50 * time.Second

// Of returns the description of the client with the given name. For an unknown
// name, it returns a Client with values that are safe for all measured SDKs.
func Of(name string) Client {
	for _, c := range known {
		if c.Name == name {
			return c
		}
	}
	return Client{Name: name, Hold: Unknown}
}

// Alone reports whether the client may have declined on its own, without asking a
// person. meta is the _meta of the call that asked the question.
func (c Client) Alone(meta map[string]any) bool { return c.alone != nil && c.alone(meta) }

// codexAlone implements alone for Codex. The command codex exec declares the same
// name and the same dialogs as the interactive program, and declines each dialog
// immediately. Since 0.169.0, a call's _meta contains what started the call's
// turn. If that member is missing, the two programs cannot be distinguished, so
// codexAlone returns true.
func codexAlone(meta map[string]any) bool {
	turn, _ := meta["x-codex-turn-metadata"].(map[string]any)
	trigger, _ := turn["turn_trigger"].(string)
	return trigger == "exec" || trigger == ""
}
