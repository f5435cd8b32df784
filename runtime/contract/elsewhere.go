package contract

import (
	"context"
	"encoding/json"
)

// Elsewhere holds the prompts and resources of other servers. Entries and
// answers are MCP's own JSON, so that nothing is lost between that server and
// the client. The functions may be called concurrently; an error that is a
// *fault.Fault is for the client to read.
type Elsewhere struct {
	Prompts, Resources, Templates []Entry
	// Prompt fills in the prompt of that name. Its answer is a GetPromptResult.
	Prompt func(ctx context.Context, caller Caller, name string, args map[string]string) (json.RawMessage, error)
	// Read reads the resource with that URI, whether it is listed, fits a
	// template or was linked in an answer. Its answer is a ReadResourceResult;
	// nil means that none of these servers has the resource.
	Read func(ctx context.Context, caller Caller, uri string) (json.RawMessage, error)
	// Complete suggests values. Its answer is a CompleteResult; nil means that
	// none of these servers has what c refers to.
	Complete func(ctx context.Context, caller Caller, c Completing) (json.RawMessage, error)
	// Watch calls changed whenever the server that has the resource says that it
	// changed, until stop is called. A nil stop means that none of these servers
	// has the resource and tells of its changes.
	Watch func(ctx context.Context, caller Caller, uri string, changed func()) (stop func(), err error)
}

// Entry is one prompt, resource or template.
type Entry struct {
	// Key is the name of a prompt, the URI of a resource or the template of one,
	// unique within its list.
	Key string
	// Published is the entry as it is shown, with Key in its place.
	Published json.RawMessage
}

// Completing is an argument of a prompt, or a variable of a resource template,
// for which a client wants suggestions.
type Completing struct {
	// One of Prompt and Template is set, as Entry.Key has it.
	Prompt, Template string
	// Argument is what to suggest values for, Value what was typed so far, and
	// Others are the values of other arguments.
	Argument, Value string
	Others          map[string]string
}

// Lends says what a client lets servers use of it during its calls.
type Lends struct {
	// Sampling is its model; SamplingTools says that the model may call tools.
	Sampling, SamplingTools bool
	// Roots are the folders that it works in.
	Roots bool
}
