package executor

import (
	"context"
	"encoding/json"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// Spec is one run of an agent.
type Spec struct {
	// ID is the caller's name for this run, by which [Forget] finds what it left
	// behind: letters, digits and dashes. Empty: it has none.
	ID string
	// Dir is the folder it works in, absolute.
	Dir    string
	Prompt string
	// Resume is the agent's own session to go on with; empty: a new one.
	Resume string
	// Before is put before Prompt where a new session begins, which knows nothing
	// of an older one.
	Before string
	// Variant is one of the agent's; empty: its default.
	Variant string
	// Env is the whole environment of the process: see [Environment].
	Env []string
	// MCP is where the agent finds deskhand's tools. The zero value: nowhere.
	MCP MCP
	// Box turns the command line and the environment of the process into those
	// that run it in a sandbox. private is a folder of settings that it has to
	// read; empty: there is none. Nil: there is no sandbox.
	Box func(line, env []string, private string) (boxed, boxedEnv []string, err error)
	// Log gets what the agent says.
	Log Log
	// Ask puts a question of the agent to a person and waits. Nil: the agent
	// learns that nobody is there. An error is as good as nobody. If the context
	// ends with the cause [ErrSettled], nobody has to answer any more.
	Ask func(context.Context, Question) (Answer, error)
	// Session is told the agent's own session as soon as it is known. May be nil.
	Session func(id string)
}

// MCP is an MCP server over HTTP.
type MCP struct{ URL, Token string }

// Log is where entries go; *[logs.Writer] is one.
type Log interface {
	Raw(s logs.Stream, p []byte)
	Append(e logs.Entry) (index int64)
	Replace(index int64, e logs.Entry)
}

// Question is what an agent wants to know from a person.
type Question struct {
	// Trigger is a2a_input_required or a2a_auth_required; empty: a question of the
	// agent's own, or a permission.
	Trigger string `json:",omitempty"`
	// Permission says that the agent wants to do something, and that the options
	// allow or reject it.
	Permission bool
	// Title is one line; Message says more, and may be empty. Of a permission,
	// Message is what the agent says about it.
	Title, Message string
	// Proposal is what permission is asked for; nil: the question is none, or the
	// executor knows no more than Message.
	Proposal *Proposal `json:",omitempty"`
	// Tool is the tool that needs permission; may be empty.
	Tool string
	// Options to choose one of; none: the answer is text, or what Schema says.
	Options []Option
	// Schema is the JSON schema of a flat object that is asked for; may be nil.
	Schema json.RawMessage
	// Fields are questions as JSON, as deskhand writes them over A2A; may be nil.
	// If they cannot be asked, the answer is text.
	Fields json.RawMessage `json:",omitempty"`
	// URL is a page to open instead of answering here; may be empty.
	URL string
}

// Option is one possible answer.
type Option struct {
	ID, Label string
	// Kind is allow_once, allow_always, reject_once or reject_always for a
	// permission; empty otherwise.
	Kind string
}

// Answer is what a person said.
type Answer struct {
	// Outcome is accept, decline or cancel.
	Outcome string
	// Refused says why the question cannot be put to a person at all, such as a
	// form that nobody could fill in; empty: it was. Outcome is cancel then.
	Refused string `json:",omitempty"`
	// Option is the id of the one that was chosen.
	Option string
	Text   string
	// Values are the properties of Schema, or the answers to Fields by id. Nil or
	// empty: Text has it.
	Values map[string]any
	// Pending is set when nobody answered in time and an answer may come later,
	// as another message.
	Pending bool
}

// Result is what a run came to.
type Result struct {
	// AgentSession is the agent's own session; empty: it has none.
	AgentSession string
	// Summary is the last thing that the agent said.
	Summary string
	Usage   logs.Usage
	// Exit is the process's exit code; nil if a signal ended it.
	Exit *int
	// Failure says what went wrong; empty: the run ended well. It has the last
	// lines of stderr of a process that failed without a word.
	Failure string
	// Lost says that the agent does not have the session which it was to go on
	// with: it has done nothing, and can be started with a new one.
	Lost bool

	unsure bool // how the process ended may say more than Failure
}
