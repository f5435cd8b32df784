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
	// Hold is how long a call to it may be held, if it is told of progress, before
	// it has to be answered, with an ID to come back with if there is no answer
	// yet. Without progress it is [Unknown] for all.
	Hold time.Duration
	// alone says by the _meta of a call whether the client may run without a
	// person and decline forms by itself. Nil: it never declines by itself.
	alone func(meta map[string]any) bool
	// Closes says that the client closes dialogs by itself if it runs without a
	// person, so that a cancel need not be one's word.
	Closes bool
	// Shows says which half of a result reaches the model.
	Shows Half
	// Renames are tools that the client hides from its model because of their
	// names, and the names to list them under. A call by either name works.
	Renames map[string]string
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

// known is the table, in the order of docs/clients.md. Each was held for 31
// minutes with progress every 15 seconds, over stdio and HTTP:
//
//	claude-code            stayed; without progress it ends a call after 300 s over HTTP and stayed over stdio
//	codex-mcp-client       ended it at 300 s, whatever it was told
//	gemini-cli-mcp-client  ended it at 600 s, whatever it was told
//	opencode               stayed; without progress it ends a call after 60 s
var known = []Client{
	{Name: "claude-code", Version: "2.1.197", Hold: 30 * time.Minute, Closes: true, Shows: Structured, MaxBytes: 48_000},
	{Name: "codex-mcp-client", Version: "0.169.0", Hold: 240 * time.Second, Shows: Structured, MaxBytes: 32_000, alone: codexAlone},
	{Name: "gemini-cli-mcp-client", Version: "0.61.0", Hold: 540 * time.Second, Shows: Content, MaxBytes: 39_000,
		// Without a terminal it excludes its own tool ask_user, and with it every
		// tool whose name on its server is the same.
		Renames: map[string]string{"ask_user": "ask_person"}},
	{Name: "opencode", Version: "1.18.33", Hold: 30 * time.Minute, Shows: Content, MaxBytes: 50_000},
}

// Unknown is how long a call is held for a client that we do not know, or that
// is told of no progress. It is below the 60 seconds after which the TypeScript
// SDK gives up by default, with or without progress.
const Unknown = 50 * time.Second

// Of returns what is known of the client with that name. For any other it
// returns a Client that holds for every SDK we have measured.
func Of(name string) Client {
	for _, c := range known {
		if c.Name == name {
			return c
		}
	}
	return Client{Name: name, Hold: Unknown}
}

// Alone reports whether a decline of the client may be its own, in the name of a
// person whom it did not ask. meta is the _meta of the call in which it was asked.
func (c Client) Alone(meta map[string]any) bool { return c.alone != nil && c.alone(meta) }

// codexAlone: codex exec declares dialogs as the interactive program does, under
// the same name, and declines each at once. Since 0.169.0 a call says what
// started its turn; of one that does not say, nobody can tell.
func codexAlone(meta map[string]any) bool {
	turn, _ := meta["x-codex-turn-metadata"].(map[string]any)
	trigger, _ := turn["turn_trigger"].(string)
	return trigger == "exec" || trigger == ""
}
