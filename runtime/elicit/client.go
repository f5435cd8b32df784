package elicit

import "context"

// Client is what a door can do with the client that calls a tool: have it show
// a request to its person. A tool asserts it of a contract.Caller's Client; it
// stands here so that the compiler holds doors and tools to the same methods.
type Client interface {
	// CanShow reports whether the client has declared what it takes to show r.
	CanShow(r *Request) bool
	// Rounds reports whether the client shows a request between two calls, and
	// not while a call is held: it is shown by ending the call with Show's error.
	Rounds() bool
	// Show ends a call so that the client shows r and calls again. why, if not
	// empty, says what was wrong with the answers before.
	Show(r *Request, why string) error
	// Shown returns the request that the client was to show before this call;
	// empty: this is a first call. The error is a fault: it is not of this call.
	Shown() (id string, err error)
	// Actions returns what the client's person has done with r. None: the client
	// has not said.
	Actions(r *Request) []Action
	// Unasked reports whether the client's answer to r is not a person's, or must
	// not end it while there is another way to one.
	Unasked(ctx context.Context, h *Hub, r *Request) (bool, error)
	// PageDone tells the client that a page it has opened for a request is done.
	PageDone(ctx context.Context, id string)
	// Offer shows r while the call is held.
	Surface
}
