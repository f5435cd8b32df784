// Package contract says what a tool is, without any protocol.
//
// A room's tool file makes Tools with Define; a door (mcpserver, a command)
// publishes and calls them. Define checks the arguments against the published
// schema before the tool's function runs, so a function sees only values that
// its schema allows.
package contract

import (
	"context"
	"encoding/json"
)

// Tool is one operation an agent can call. It may be called concurrently.
type Tool struct {
	// Name is what the agent calls, [a-zA-Z0-9_-]{1,64}.
	Name string
	// Title is for people, as in a list of tools. Empty: none.
	Title string
	// Description is for the model.
	Description string
	// Input and Output are JSON Schemas (draft 2020-12) of type object.
	// Output is nil where the tool publishes none.
	Input, Output json.RawMessage
	// ReadOnly says that a call changes nothing and never talks back to the
	// caller while it runs, so a door may take its shortest way.
	ReadOnly bool
	// Additive says that a call may add something, and takes nothing away.
	Additive bool
	// Idempotent says that the same call a second time changes nothing more, as
	// a read-only one anyway.
	Idempotent bool
	// Envelope says that a failure is for programs to read too: an object with
	// code, message, retryable, hint and details, as text and as the structured
	// answer, where other tools fail with a sentence.
	Envelope bool
	// Unannounced says that clients are not told when the tool comes or goes:
	// whoever lists the tools finds it.
	Unannounced bool
	// Published is the tool as another server publishes it, a Tool of MCP in
	// JSON: what the fields above do not say of it, such as annotations and
	// icons, is shown as it is there. Nil: there is nothing else to show.
	Published json.RawMessage
	// View is the URI of the view in which a client that shows views shows a call
	// of this tool. Empty: none.
	View string
	// OnlyViews says that views call this tool, and models do not: a client that
	// shows no views never hears of it and cannot call it.
	OnlyViews bool
	// Call runs the tool with args, a JSON object (nil, empty or null: {}).
	// An error that is a *fault.Fault is for the caller to read.
	Call func(ctx context.Context, caller Caller, args json.RawMessage) (Result, error)
	// Later lets a call outlive its request. Nil: Call is the only way.
	Later *Later
}

// Caller says who calls. The zero value is an unknown caller.
type Caller struct {
	// Name and Version are what the client says of itself.
	Name, Version string
	// Session tells apart clients that are connected at the same time. Empty:
	// the door cannot.
	Session string
	// Views says that the client shows views beside calls; see [Tool].View.
	Views bool
	// Principal is the token or person that the client acts for, and outlives
	// its connections. Empty: whoever uses the machine.
	Principal string
	// Waits says that the client has stayed with a call for more than a minute
	// while it was told of progress.
	Waits bool
	// Progress tells the client that its call goes on, so that it waits longer.
	// Nil: the client did not ask to be told.
	Progress func(context.Context, Progress)
	// Log tells the client, on a level of RFC 5424 such as "warning", what
	// another server said for it to log. Nil: the door cannot.
	Log func(ctx context.Context, level, logger string, data any)
	// Written has a function called once the answer to the call was written to the
	// client, or is not going to be. Nil: the door does not tell.
	Written func(func())
	// Client is what the door can do with the client itself, such as showing
	// something to its person; a tool asserts the interface that it needs. Nil:
	// nothing.
	Client any
}

// WhenWritten has f called when the client has the answer, or will not have it: at
// once if the door does not tell. f must not block.
func (c Caller) WhenWritten(f func()) {
	if c.Written == nil {
		f()
		return
	}
	c.Written(f)
}

// Progress is how far a call has come. Done grows from one to the next.
type Progress struct {
	Done, Total float64
	Message     string
}

// Result is a tool's answer: text blocks, and beside them the same facts as a
// value that marshals to a JSON object (nil: none).
type Result struct {
	Text       []string
	Structured any
	// Content, if not nil, is in place of Text what another server answered: an
	// array of content blocks of MCP, which may be images and links.
	Content json.RawMessage
	// Refused says that this is the tool's own word for why it failed.
	Refused bool
	// Meta is for programs beside the model, and no part of the answer; its keys
	// have a prefix and a slash, as "deskhand/lexical". Nil: none.
	Meta map[string]any
	// Delivered, if not nil, is called once with whether the client has the
	// result: it was written, and the client was neither gone nor had given up. It
	// must not block.
	Delivered func(ok bool)
}

// ValidName reports whether name fits [a-zA-Z0-9_-]{1,64}, the narrowest rule
// among the clients that call tools.
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
