package contract

import (
	"context"

	"github.com/deskhand/deskhand/runtime/access"
)

// Catalog is everything a door publishes at one moment. A door replaces its
// Catalog as a whole; a Catalog must not change after it is passed to a door.
type Catalog struct {
	Tools     []Tool
	Prompts   []Prompt
	Resources []Resource
	// Elsewhere holds everything that other servers publish besides tools; nil if
	// there is nothing.
	Elsewhere *Elsewhere
	// ElsewhereOf returns what a person with a name sees instead of Elsewhere, and the same
	// value until something changes. It may wait the first time. If it is nil, all see the
	// same.
	ElsewhereOf func(ctx context.Context, person string) *Elsewhere
	// ToolsOf returns the tools that were listed with the credential of a person with a
	// name. It may wait for them the first time. It is nil if there are none.
	ToolsOf func(ctx context.Context, person string) []Tool
	// Instructions tells the model how to use the tools together. It may be empty.
	Instructions string
	// InstructionsFor returns the instructions for a caller who has only these scopes. If it
	// is nil, Instructions is for everyone.
	InstructionsFor func(scopes []access.Scope) string
}

// Prompt is a template that a person picks in a client. Render may be called
// concurrently.
type Prompt struct {
	// Name is unique within a Catalog. It may contain slashes.
	Name string
	// Title and Description are for people. They may be empty.
	Title, Description string
	Arguments          []PromptArgument
	// Scope is required of callers with names, as in [Tool].
	Scope access.Scope
	// Render fills in the template. A door refuses calls that lack a required
	// argument. Optional arguments may be missing from args.
	Render func(args map[string]string) ([]PromptMessage, error)
}

// PromptArgument is one argument of a Prompt.
type PromptArgument struct {
	Name, Title, Description string
	Required                 bool
}

// PromptMessage is one message of a rendered prompt.
type PromptMessage struct {
	// Role is "user" or "assistant".
	Role string
	Text string
}

// Resource is one document that a client can list and read. Read may be called
// concurrently.
type Resource struct {
	// URI is absolute and unique within a Catalog.
	URI string
	// Name is the short name; Title and Description are for people.
	Name, Title, Description string
	// MIMEType is the type of the content that Read returns, for example
	// text/markdown. Empty means unspecified.
	MIMEType string
	// View reports whether Read returns the HTML of a view: a complete page that
	// loads nothing from the network. Only clients that show views see such a
	// resource, and the door sets its MIME type.
	View bool
	// Scope is required of callers with names, as in [Tool].
	Scope access.Scope
	Read  func(ctx context.Context) (string, error)
}
