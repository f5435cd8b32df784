// Package clients knows the MCP clients we have measured: how long each waits
// for a call, and which half of a result its model gets to see.
//
// A client is known by the name it gives in initialize (clientInfo.name). What
// stands here was measured with the real program and a stub model that records
// what reaches it (make received); docs/clients.md has the table.
package clients

import "time"

// Client describes one MCP client. The zero value of a field means that
// nothing is known; [Of] fills in what is safe for a client we do not know.
type Client struct {
	// Name is clientInfo.name, as the client sends it.
	Name string
	// Version is the release that was measured. Empty: none was.
	Version string
	// Hold is how long a call to it may be held before it has to be answered,
	// with an ID to come back with if there is no answer yet.
	Hold time.Duration
	// Shows says which half of a result reaches the model.
	Shows Half
	// MaxBytes is the longest text that reaches the model whole: of a longer one
	// the client drops a part, without telling the server. Zero: not known.
	MaxBytes int
}

// Half names a half of a tool result: the content blocks, or the structured
// content beside them.
type Half int

const (
	// Either means that we do not know: each half has to say everything.
	Either Half = iota
	// Structured means that the model gets structuredContent and nothing else
	// when a result has it, and the content blocks when it has none.
	Structured
	// Content means that the model gets the content blocks and nothing else.
	Content
	// Both means that the model gets both, so that a text in both costs twice.
	Both
)

// known is the table, in the order of docs/clients.md.
var known = []Client{
	{Name: "claude-code", Version: "2.1.197", Hold: 30 * time.Minute, Shows: Structured, MaxBytes: 48_000},
	{Name: "codex-mcp-client", Version: "0.169.0", Hold: 240 * time.Second, Shows: Structured, MaxBytes: 32_000}, // it gives up at 300 s, and cuts at 10,000 tokens
	{Name: "gemini-cli-mcp-client", Version: "0.61.0", Hold: 240 * time.Second, Shows: Content, MaxBytes: 39_000},
	{Name: "opencode", Version: "1.18.33", Hold: 90 * time.Second, Shows: Content, MaxBytes: 50_000},
}

// unknownHold is below the 60 seconds after which the TypeScript SDK gives up
// by default, with or without progress.
const unknownHold = 50 * time.Second

// Of returns what is known of the client with that name. For any other it
// returns a Client that holds for every SDK we have measured.
func Of(name string) Client {
	for _, c := range known {
		if c.Name == name {
			return c
		}
	}
	return Client{Name: name, Hold: unknownHold}
}
