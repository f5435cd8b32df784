package contract

import (
	"context"
	"encoding/json"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Later lets the calls of a tool outlive their requests: a caller that comes
// back for the result gets a handle instead of waiting. What a handle stands
// for is in the store, so any process over the same store can follow it.
type Later struct {
	// Kind is the prefix of the calls' IDs, for example "elc_". The tools of one
	// catalog that share Calls share it; others differ.
	Kind string
	// Only says that the tool cannot be called in any other way: Call fails.
	Only bool
	// Start begins a call and returns without waiting for its end. It fails as
	// Call does. If the Pending it returns has no ID, the call has ended already
	// and only Result counts.
	Start func(ctx context.Context, caller Caller, args json.RawMessage) (Pending, error)
	// Calls follows what Start began.
	Calls PendingCalls
}

// PendingCalls follows pending calls by their ID. Who may follow which call is for
// the door to check: see [Caller.Owner]. An ID without a call is a fault of code
// [UnknownCall]. All methods may be called concurrently.
type PendingCalls interface {
	// Look returns where the call stands. caller.Client is what the door can
	// do with the client, such as taking note of a question it can show.
	Look(ctx context.Context, caller Caller, id string) (Pending, error)
	// Answer passes on what the client's person said to the questions of the
	// call; caller.Client has it. It fails with a fault if an answer is not
	// valid, and ignores answers to questions that are not open.
	Answer(ctx context.Context, caller Caller, id string) error
	// Cancel asks for the end of the call. It may end in another way. A call
	// that has ended stays as it is, which is no error.
	Cancel(ctx context.Context, caller Caller, id string) error
	// Watch starts to watch a call for changes.
	Watch(ctx context.Context, id string) (Watcher, error)
}

// Watcher waits for changes. It is for one goroutine.
type Watcher interface {
	// Wait returns nil when the call may have changed since Watch or the last
	// Wait, otherwise ctx's error or what keeps it from watching.
	Wait(ctx context.Context) error
	Close()
}

// UnknownCall is the code of a fault: there is no call with that ID.
const UnknownCall = "unknown_call"

// NoCall makes that fault.
func NoCall() *fault.Fault {
	return fault.New(UnknownCall, "there is no such task", "it may have been deleted; call the tool again")
}

// Pending is a call that has outlived its request.
type Pending struct {
	// ID identifies the call: letters, digits, "_" and "-".
	ID    string
	State PendingState
	// Message says in one line what the call waits for, or why it was lost.
	Message string
	// Created and Updated are when the call began, and when it last changed.
	Created, Updated time.Time
	// TTL is how long after Created the call is kept. Zero: forever.
	TTL time.Duration
	// Poll is how long to wait before looking again.
	Poll time.Duration
	// Result and Err are what Call would have returned. They are set in state
	// Ended.
	Result Result
	Err    error
	// Envelope is that of the tool, for wording Err.
	Envelope bool
}

// PendingState is where a pending call stands.
type PendingState int

// States of a pending call. Only the first can change.
const (
	Working PendingState = iota
	// Ended means that there is a result, which may be a refusal.
	Ended
	// Cancelled means that the caller took the call back.
	Cancelled
	// Lost means that there will never be a result. Message says why.
	Lost
)

// Owner names whom a pending call belongs to: only a caller with the same owner
// may follow it. It is the client's name and the token or person it acts for.
func (c Caller) Owner() string { return c.Name + "\n" + c.Principal }
