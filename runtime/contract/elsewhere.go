package contract

import (
	"context"
	"encoding/json"
)

// Elsewhere holds other servers' prompts and resources. Entries and answers are
// MCP's own JSON, so nothing is lost between the other server and the client.
// The functions may be called concurrently. If an error is a *fault.Fault, it
// is shown to the client.
type Elsewhere struct {
	Prompts, Resources, Templates []Entry
	// Prompt renders the named prompt and returns a GetPromptResult.
	Prompt func(ctx context.Context, caller Caller, name string, args map[string]string) (json.RawMessage, error)
	// Read reads a resource that is listed, fits a template or was linked in an
	// answer, and returns a ReadResourceResult; nil if no server has it.
	Read func(ctx context.Context, caller Caller, uri string) (json.RawMessage, error)
	// Complete suggests values and returns a CompleteResult; nil if no server
	// has what c refers to.
	Complete func(ctx context.Context, caller Caller, c Completing) (json.RawMessage, error)
	// Watch calls changed whenever the resource's server reports a change,
	// until stop is called. stop is nil if no server both has the resource and
	// reports its changes.
	Watch func(ctx context.Context, caller Caller, uri string, changed func()) (stop func(), err error)
}

// Entry is one prompt, resource or template.
type Entry struct {
	// Key is the name of a prompt, the URI of a resource or the template of one,
	// unique within its list.
	Key string
	// Published is the entry as published. Its name, URI or template is Key.
	Published json.RawMessage
}

// Completing is an argument of a prompt, or a variable of a resource template,
// for which a client wants suggestions.
type Completing struct {
	// Exactly one of Prompt and Template is set, to an Entry.Key.
	Prompt, Template string
	// Argument is the name to suggest values for, Value the text typed so far,
	// and Others the values of the other arguments.
	Argument, Value string
	Others          map[string]string
}

// Lends lists the client features that servers may use during a call.
type Lends struct {
	// Sampling is use of its model; SamplingTools: the model may call tools.
	Sampling, SamplingTools bool
	// Roots is access to the list of its working folders.
	Roots bool
}
