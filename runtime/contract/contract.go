// Package contract defines tools independently of any protocol.
//
// A room's tool file makes Tools with Define; a door (mcpserver, a command)
// publishes and calls them. Define checks the arguments against the published
// schema before the tool's function runs, so the function sees only values that
// its schema allows.
package contract

import (
	"context"
	"encoding/json"

	"github.com/deskhand/deskhand/runtime/access"
)

// Tool is one operation an agent can call. It may be called concurrently.
type Tool struct {
	// Name is the name that agents call, [a-zA-Z0-9_-]{1,64}.
	Name string
	// Title is for people, for example in a list of tools. It may be empty.
	Title string
	// Description is for the model.
	Description string
	// Input and Output are JSON Schemas (draft 2020-12) of type object. Output
	// is nil if the tool publishes none.
	Input, Output json.RawMessage
	// ReadOnly reports whether a call changes nothing and never calls back to the
	// client while it runs. A door may then use a fast path.
	ReadOnly bool
	// Additive reports whether a call may add data but never removes any.
	Additive bool
	// Idempotent reports whether repeating a call has no further effect.
	// Read-only tools are always idempotent.
	Idempotent bool
	// Envelope reports whether failures are objects with code, message,
	// retryable, hint and details, as text and as structured content. Other tools
	// fail with a sentence.
	Envelope bool
	// Scope is required of callers with names. Without one, the tool is closed to them.
	Scope access.Scope
	// Unannounced reports that clients are not notified when the tool is added or
	// removed. They find it by listing the tools.
	Unannounced bool
	// Personal reports that the tool was listed with one person's credential. Callers with
	// names see those of [Catalog.ToolsOf] instead.
	Personal bool
	// Published is the tool in the form in which another server publishes it, an
	// MCP Tool in JSON. Members that the fields above do not cover, such as
	// annotations and icons, are published unchanged. It is nil for our own
	// tools.
	Published json.RawMessage
	// View is the URI of the view in which clients show calls of this tool, or ""
	// if there is none.
	View string
	// OnlyViews reports whether only views call this tool, never models. A client
	// that does not show views neither sees such a tool nor can call it.
	OnlyViews bool
	// Call runs the tool with args, a JSON object (nil, empty or null means {}). If
	// the error is a *fault.Fault, it is shown to the caller.
	Call func(ctx context.Context, caller Caller, args json.RawMessage) (Result, error)
	// Later lets a call outlive its request. If nil, only Call is available.
	Later *Later
}

// Caller identifies the caller. The zero value is an unknown caller.
type Caller struct {
	// Name and Version are what the client reports about itself.
	Name, Version string
	// Session distinguishes clients that are connected concurrently. It is empty if
	// the door cannot distinguish them.
	Session string
	// Views reports whether the client shows views next to calls; see
	// [Tool].View.
	Views bool
	// Principal is the token or person that the client acts for. It outlives
	// connections. Empty means the user of this machine.
	Principal string
	// Waits reports whether the client once waited longer than a minute for a
	// call that sent progress.
	Waits bool
	// Progress tells the client that its call is still running, so it keeps
	// waiting. It is nil if the client did not request progress.
	Progress func(context.Context, Progress)
	// Log passes another server's log message to the client, with an RFC 5424 level
	// such as "warning". It is nil if the door cannot do that.
	Log func(ctx context.Context, level, logger string, data any)
	// Written registers a function to call after the answer is written to the
	// client, or when it is certain that it never will be. Written is nil if the
	// door cannot tell.
	Written func(func())
	// Client gives access to the client itself, for example to show something to
	// its user. A tool asserts the interface that it needs. Client is nil if the
	// door offers no such access.
	Client any
}

// WhenWritten calls f when the client has the answer, or never will. It calls f
// immediately if the door cannot tell. f must not block.
func (c Caller) WhenWritten(f func()) {
	if c.Written == nil {
		f()
		return
	}
	c.Written(f)
}

// Progress is the progress of a call. Done increases with each report.
type Progress struct {
	Done, Total float64
	Message     string
}

// Result is a tool's answer: text blocks, and the same facts as a value that
// marshals to a JSON object (nil if there is no such value).
type Result struct {
	Text       []string
	Structured any
	// Content, if not nil, replaces Text with another server's answer: an array
	// of MCP content blocks, which may include images and links.
	Content json.RawMessage
	// Refused reports whether the tool failed and the text is the tool's own
	// error message.
	Refused bool
	// Meta is for programs and not part of the answer. Its keys have a prefix and a
	// slash, for example "deskhand/lexical". It may be nil.
	Meta map[string]any
	// Delivered, if not nil, is called once to report whether the client
	// received the result: it was written, and the client had not disconnected
	// or given up. It must not block.
	Delivered func(ok bool)
}

// ValidName reports whether name matches [a-zA-Z0-9_-]{1,64}, the narrowest
// rule among MCP clients.
func ValidName(name string) bool {
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return name != "" && len(name) <= 64
}
