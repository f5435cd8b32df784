package elicit

import "context"

// Client lets a tool show a request to the person at the client that calls it.
// A tool asserts it from a contract.Caller's Client. The type is here so that
// doors and tools share the same methods.
type Client interface {
	// CanShow reports whether the client has declared the capabilities to show
	// r.
	CanShow(r *Request) bool
	// Rounds reports whether the client shows requests between two calls, not
	// during one. To show a request, end the call with the error that Show
	// returns.
	Rounds() bool
	// Show returns the error that ends the call and makes the client show r and
	// call again. If why is not empty, it explains what was wrong with the
	// previous answers.
	Show(r *Request, why string) error
	// Shown returns the ID of the request that the client was to show before this
	// call, or "" if this is the first call. It fails with a fault if the request
	// belongs to another call.
	Shown() (id string, err error)
	// Actions returns the actions of the client's person on r, or nothing if the
	// client has not reported anything.
	Actions(r *Request) []Action
	// Unasked reports whether the client's answer to r may come from the client
	// instead of a person, or must not end r while a person can be reached in
	// another way.
	Unasked(ctx context.Context, h *Hub, r *Request) (bool, error)
	// PageDone tells the client that the page it opened for a request is done.
	PageDone(ctx context.Context, id string)
	// Offer shows r during the call.
	Surface
}
