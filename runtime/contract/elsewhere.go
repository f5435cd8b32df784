package contract

import (
	"context"
	"encoding/json"
)

// Elsewhere holds other servers' prompts and resources. Entries and answers are
// MCP's own JSON, so nothing is lost on the way from the other server to the
// client. The functions may be called concurrently. If an error is a
// *fault.Fault, it is shown to the client.
type Elsewhere struct {
	Prompts, Resources, Templates []Entry
	// Prompt renders the named prompt and returns a GetPromptResult.
	Prompt func(ctx context.Context, caller Caller, name string, args map[string]string) (json.RawMessage, error)
	// Read reads a resource and returns a ReadResourceResult. The resource is
	// listed, matches a template, or was linked in an answer. It returns nil if no
	// server has the resource.
	Read func(ctx context.Context, caller Caller, uri string) (json.RawMessage, error)
	// Complete suggests values and returns a CompleteResult. It returns nil if no
	// server has the prompt or template.
	Complete func(ctx context.Context, caller Caller, c Completing) (json.RawMessage, error)
	// Watch calls changed whenever the resource's server reports a change, until
	// stop is called. stop is nil if no server has the resource, or if its server
	// does not report changes.
	Watch func(ctx context.Context, caller Caller, uri string, changed func()) (stop func(), err error)
}

// Entry is one prompt, resource or template.
type Entry struct {
	// Key is a prompt's name, a resource's URI or a template, unique within its
	// list.
	Key string
	// Published is the entry in the form in which it is published. The name, URI
	// or template in it is Key.
	Published json.RawMessage
}

// Completing is an argument of a prompt, or a variable of a resource template,
// for which a client wants suggestions.
type Completing struct {
	// Exactly one of Prompt and Template is set. It is an Entry.Key.
	Prompt, Template string
	// Argument is the argument for which to suggest values, Value is the text
	// typed so far, and Others holds the values of the other arguments.
	Argument, Value string
	Others          map[string]string
}

// Lends lists the client features that servers may use during a call.
type Lends struct {
	// Sampling reports whether servers may use the client's model. SamplingTools
	// reports whether that model may call tools.
	Sampling, SamplingTools bool
	// Roots reports whether servers may list the client's working folders.
	Roots bool
}
