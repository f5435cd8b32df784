package executor

import (
	"context"
	"encoding/json"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/usage"
)

// Spec describes one run of an agent.
type Spec struct {
	// ID is the caller's name for this run. [Forget] uses it to find the run's
	// settings. It consists of letters, digits and dashes, and may be empty.
	ID string
	// Dir is the absolute path of the working directory.
	Dir    string
	Prompt string
	// Images belong to Prompt, which names their files.
	Images []Image
	// Resume is the ID of the agent's own session to resume. Empty means a new
	// session.
	Resume string
	// Before is text to put before Prompt if a new session begins, because the
	// new session does not remember the older one.
	Before string
	// Variant is the name of one of the agent's variants. Empty means the
	// default variant.
	Variant string
	// Env is the complete environment of the process: see [Environment].
	Env []string
	// MCP is the address of deskhand's tools. The zero value means that there
	// are no tools.
	MCP MCP
	// Box converts the process's command line and environment to a command line
	// and environment that run the process in a sandbox. private is a settings
	// folder that the process must be able to read, or "". If Box is nil, there
	// is no sandbox.
	Box func(line, env []string, private string) (boxed, boxedEnv []string, err error)
	// Kill kills what Box starts outside the process group, for example a
	// container. It may be nil, and may be called several times.
	Kill func()
	// Log receives the agent's output.
	Log Log
	// Ask puts the agent's question to a person and waits for the answer. If
	// Ask is nil or returns an error, deskhand tells the agent that nobody is
	// available. If the context ends with the cause [ErrSettled], the question
	// no longer needs an answer.
	Ask func(context.Context, Question) (Answer, error)
	// Session receives the agent's own session ID as soon as it is known. It
	// may be nil.
	Session func(id string)
	// Usage receives what the agent has reported about this run so far, each time it
	// reports something. It may be nil.
	Usage func(usage.Report)
	// Used is what earlier runs of the session in Resume consumed. Some agents count
	// over the whole session.
	Used usage.Tokens
}

// MCP is an MCP server over HTTP.
type MCP struct{ URL, Token string }

// Log receives entries; *[logs.Writer] implements it.
type Log interface {
	Raw(s logs.Stream, p []byte)
	Append(e logs.Entry) (index int64)
	Replace(index int64, e logs.Entry)
}

// Question is a question from an agent.
type Question struct {
	// Trigger is a2a_input_required or a2a_auth_required. It is empty for the agent's
	// own question or a permission request.
	Trigger string `json:",omitempty"`
	// Permission reports whether the agent wants to do something that the options allow
	// or reject.
	Permission bool
	// Title is one line. Message adds details and may be empty. For a
	// permission request, Message is the agent's description of the action.
	Title, Message string
	// Proposal is the action that requires permission. It is nil if the
	// question does not request permission, or if only Message is known.
	Proposal *Proposal `json:",omitempty"`
	// Tool is the name of the tool that requires permission. It may be empty.
	Tool string
	// Options lists the choices; the person chooses one of them. If Options is
	// empty, the answer is text, or the object that Schema describes.
	Options []Option
	// Schema is the JSON schema of the requested object, which is flat. It may
	// be nil.
	Schema json.RawMessage
	// Fields holds questions in deskhand's JSON form, as sent over A2A. It may be nil.
	// If the questions cannot be asked, the answer is text.
	Fields json.RawMessage `json:",omitempty"`
	// URL is the address of a page that the person opens instead of answering
	// here. It may be empty.
	URL string
}

// Option is a possible answer.
type Option struct {
	ID, Label string
	// Kind is allow_once, allow_always, reject_once or reject_always for a permission,
	// and empty otherwise.
	Kind string
}

// Answer is a person's answer.
type Answer struct {
	// Outcome is accept, decline or cancel.
	Outcome string
	// Refused is the reason why the question cannot be asked at all, for
	// example because a form cannot be filled in. In that case, Outcome is
	// cancel. If the question was asked, Refused is empty.
	Refused string `json:",omitempty"`
	// Rule describes the person's rule that gave the answer. It is empty if a person gave it.
	Rule string `json:",omitempty"`
	// Option is the ID of the chosen option.
	Option string
	Text   string
	// Values holds the properties of Schema, or the answers to Fields by ID. It is
	// empty if Text holds the answer.
	Values map[string]any
	// Pending reports whether there was no answer in time. An answer may arrive
	// later, in another message.
	Pending bool
	// Used records that the asker has acted on the answer. Until then, the same
	// question of the same attempt gets the same answer. It is nil unless the asker
	// stores what follows from the answer.
	Used func(context.Context) `json:"-"`
}

// Result is the result of a run.
type Result struct {
	// AgentSession is the agent's own session ID, or empty if it has none.
	AgentSession string
	// Summary is the agent's last message.
	Summary string
	// Usage is what the agent reported about this run.
	Usage usage.Report
	// Exit is the process's exit code, or nil if a signal killed it.
	Exit *int
	// Failure describes what went wrong. It is empty if the run succeeded. If a
	// process failed without an error message, Failure contains the last lines
	// of the process's stderr.
	Failure string
	// Lost reports whether the agent no longer has the session to resume. The
	// agent has then done nothing, and can be started with a new session.
	Lost bool

	unsure bool // the exit status may explain more than Failure
}
