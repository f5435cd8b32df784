// Package access says who calls: a stranger, a program that has the token of
// agents, or a person. The front finds it out; whoever has to know reads it from
// the context of the request, as between the two stand libraries that pass on
// nothing else.
package access

import "context"

// Level is what a caller has shown to be, and what a route wants.
type Level int

// A level may do what those before it may.
const (
	Anyone Level = iota // nobody knows who it is
	Agents              // it has the token of agents
	People              // it has the person's key, or signed in with it
)

// String is the level as tables and logs have it.
func (l Level) String() string { return [...]string{"anyone", "agents", "people"}[l] }

// How a caller has shown who it is.
const (
	ByLink   = "link"        // a browser that signed in by a link that works once
	ByKey    = "key"         // a browser in which somebody has typed the person's key
	ByBearer = "bearer"      // a program that sent the person's key
	ByAnswer = "answer-link" // a stranger with a link that gives one answer once
	ByToken  = "token"       // a program that sent the token of agents
)

// Caller is who sent a request. The zero value is a stranger.
type Caller struct {
	Level Level
	// How is empty for a stranger, and at a server that asks agents for no token.
	How     string
	Address string // host and port at the other end of the connection
	Session string // id of the browser's session; empty: it is no browser
}

type key struct{}

// With is ctx with who sent the request.
func With(ctx context.Context, c Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// Of returns who sent the request that ctx belongs to; a stranger if nobody has
// found it out.
func Of(ctx context.Context) Caller {
	c, _ := ctx.Value(key{}).(Caller)
	return c
}

// Known reports whether a request is behind ctx at all: what this process does
// for itself has none.
func Known(ctx context.Context) bool {
	_, ok := ctx.Value(key{}).(Caller)
	return ok
}
