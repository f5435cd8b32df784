package contract

import (
	"context"
	"encoding/json"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Later lets a tool's calls outlive their requests: the caller gets a handle and
// requests the result with it. The call's state is in the store, so any process
// that uses the same store can follow it.
type Later struct {
	// Kind is the prefix of the calls' IDs, for example "elc_". It must be unique
	// within a catalog.
	Kind string
	// Only reports whether the tool can be called only this way. If so, its Call
	// fails.
	Only bool
	// Start begins a call and returns without waiting for its end. Its errors are
	// those of Call. If the returned Pending has no ID, the call has already ended
	// and only Result is set.
	Start func(ctx context.Context, caller Caller, args json.RawMessage) (Pending, error)
	// Calls tracks the calls that Start started.
	Calls PendingCalls
}

// PendingCalls follows pending calls by ID. The door checks who may follow a call,
// see [Caller.Owner]. An unknown ID is a fault with code [UnknownCall]. All methods
// may be called concurrently.
type PendingCalls interface {
	// Look returns the call's current state. caller.Client gives access to the
	// client, for example to record a question that the client can show.
	Look(ctx context.Context, caller Caller, id string) (Pending, error)
	// Answer passes the user's answers to the call's questions, in caller.Client,
	// on to the call. It returns a fault if an answer is not valid, and ignores
	// answers to questions that are not open.
	Answer(ctx context.Context, caller Caller, id string) error
	// Cancel requests that the call end. The call may still end differently.
	// Cancelling an ended call does nothing and returns no error.
	Cancel(ctx context.Context, caller Caller, id string) error
	// Watch starts watching a call for changes.
	Watch(ctx context.Context, id string) (Watcher, error)
}

// Watcher waits for changes. It is for one goroutine.
type Watcher interface {
	// Wait returns nil when the call may have changed since Watch or the last Wait.
	// Otherwise it returns ctx's error, or an error that says why it cannot watch.
	Wait(ctx context.Context) error
	Close()
}

// UnknownCall is the fault code for an ID without a call.
const UnknownCall = "unknown_call"

// NoCall returns the fault for an unknown ID.
func NoCall() *fault.Fault {
	return fault.New(UnknownCall, "there is no such task", "it may have been deleted; call the tool again")
}

// Pending is a call that has outlived its request.
type Pending struct {
	// ID identifies the call. It consists of letters, digits, "_" and "-".
	ID    string
	State PendingState
	// Message is one line that says what the call is waiting for, or why it was
	// lost.
	Message string
	// Created and Updated are the times when the call began and last changed.
	Created, Updated time.Time
	// TTL is how long the call is kept after Created. Zero means forever.
	TTL time.Duration
	// Poll is the suggested time between two calls to Look.
	Poll time.Duration
	// Result and Err are the values that Call would have returned. They are set
	// if State is Ended.
	Result Result
	Err    error
	// Envelope is copied from the tool. It decides the form of Err.
	Envelope bool
}

// PendingState is the state of a pending call.
type PendingState int

// States of a pending call. All but the first are final.
const (
	Working PendingState = iota
	// Ended means that there is a result, which may be a refusal.
	Ended
	// Cancelled means that the caller cancelled the call.
	Cancelled
	// Lost means that there will never be a result. Message says why.
	Lost
)

// Owner returns the identity that owns the caller's pending calls: only callers
// with the same owner may follow them. It consists of the client's name and the
// token or person that the client acts for.
func (c Caller) Owner() string { return c.Name + "\n" + c.Principal }
