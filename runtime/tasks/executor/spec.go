package executor

import (
	"context"
	"encoding/json"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// Spec describes one run of an agent.
type Spec struct {
	// ID is the caller's name for this run, with which [Forget] finds its
	// settings: letters, digits and dashes. Empty: none.
	ID string
	// Dir is the absolute path of the working directory.
	Dir    string
	Prompt string
	// Resume is the agent's own session to resume. Empty: start a new one.
	Resume string
	// Before is put before Prompt if a new session begins, which does not know
	// the older one.
	Before string
	// Variant is one of the agent's variants. Empty: its default.
	Variant string
	// Env is the complete environment of the process: see [Environment].
	Env []string
	// MCP is the address of deskhand's tools. The zero value: there are none.
	MCP MCP
	// Box turns the process's command line and environment into those that run
	// it in a sandbox. private is a settings folder that it must be able to
	// read, or "". Nil: there is no sandbox.
	Box func(line, env []string, private string) (boxed, boxedEnv []string, err error)
	// Log receives the agent's output.
	Log Log
	// Ask puts a question of the agent to a person and waits. Nil, or an error:
	// the agent is told that no person is available. If the context ends with
	// the cause [ErrSettled], the question needs no answer any more.
	Ask func(context.Context, Question) (Answer, error)
	// Session receives the agent's own session ID as soon as it is known. It
	// may be nil.
	Session func(id string)
}

// MCP is an MCP server over HTTP.
type MCP struct{ URL, Token string }

// Log receives entries; *[logs.Writer] implements it.
type Log interface {
	Raw(s logs.Stream, p []byte)
	Append(e logs.Entry) (index int64)
	Replace(index int64, e logs.Entry)
}

// Question is what an agent asks a person.
type Question struct {
	// Trigger is a2a_input_required or a2a_auth_required. Empty: a question of
	// the agent's own, or a permission.
	Trigger string `json:",omitempty"`
	// Permission reports whether the agent wants to do something, which the
	// options allow or reject.
	Permission bool
	// Title is one line. Message says more and may be empty; for a permission,
	// it is what the agent says about the action.
	Title, Message string
	// Proposal is the action that needs permission. Nil: the question asks for
	// none, or only Message is known.
	Proposal *Proposal `json:",omitempty"`
	// Tool is the tool that needs permission. It may be empty.
	Tool string
	// Options to choose one from. Empty: the answer is text, or what Schema
	// says.
	Options []Option
	// Schema is the JSON schema of the flat object that is asked for. It may be
	// nil.
	Schema json.RawMessage
	// Fields are questions in deskhand's JSON form, as sent over A2A. It may be
	// nil. If they cannot be asked, the answer is text.
	Fields json.RawMessage `json:",omitempty"`
	// URL is a page to open instead of answering here. It may be empty.
	URL string
}

// Option is a possible answer.
type Option struct {
	ID, Label string
	// Kind is allow_once, allow_always, reject_once or reject_always for a
	// permission; empty otherwise.
	Kind string
}

// Answer is a person's answer.
type Answer struct {
	// Outcome is accept, decline or cancel.
	Outcome string
	// Refused says why the question cannot be put to a person at all, for
	// example because a form cannot be filled in. Empty: it was asked. Outcome
	// is cancel then.
	Refused string `json:",omitempty"`
	// Option is the ID of the chosen option.
	Option string
	Text   string
	// Values are the properties of Schema, or the answers to Fields by ID.
	// Empty: Text has the answer.
	Values map[string]any
	// Pending is set if nobody answered in time; an answer may come later, as
	// another message.
	Pending bool
}

// Result is the result of a run.
type Result struct {
	// AgentSession is the agent's own session ID. Empty: it has none.
	AgentSession string
	// Summary is the agent's last message.
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
