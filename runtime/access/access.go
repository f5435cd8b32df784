// Package access carries the identity of a request's caller: anyone, a program
// with the agents' token, or a person. The HTTP server determines the identity
// and stores it in the request's context, because the libraries in between pass
// on nothing else.
package access

import "context"

// Level is the access level that a caller has proved, or that a route requires.
type Level int

// Each level includes the ones before it.
const (
	Anyone Level = iota // unidentified caller
	Agents              // program with the agents' token
	People              // person with the key, or signed in with it
)

// String returns the level's name in tables and logs.
func (l Level) String() string { return [...]string{"anyone", "agents", "people"}[l] }

// Values of [Caller.How]: how a caller proved its identity.
const (
	ByLink   = "link"        // browser that signed in with a single-use link
	ByKey    = "key"         // browser whose user typed the person's key
	ByBearer = "bearer"      // program that sent the person's key
	ByAnswer = "answer-link" // stranger with a link that is valid for one answer
	ByMail   = "mail-link"   // person with a link from a mail, which is valid for one answer
	ByToken  = "token"       // program that sent the agents' token
	ByInvite = "invite"      // browser of a person who was invited
	ByNamed  = "named-token" // program that sent a token created for a person
	ByOIDC   = "oidc"        // browser of a person whom an identity provider identified
	ByProxy  = "proxy"       // browser of a person whom a trusted proxy identified
)

// Caller identifies the sender of a request. The zero value is a stranger.
type Caller struct {
	Level Level
	// How is empty for a stranger, and also if the server requires no agents'
	// token.
	How     string
	Address string // host and port of the other end of the connection
	Session string // browser session ID; empty if the caller is not a browser

	// Name is the person that the caller is or acts for. It is empty for callers
	// with a secret of the installation, whose Level says what they may do. A caller
	// with a name has level Agents and may do what Scopes lists.
	Name   string
	Scopes []Scope
	Roles  []string // the person's
	Token  string   // ID of the named token that was sent; empty if there was none
	// Boundary is which projects the caller knows of.
	Boundary
}

type key struct{}

// With returns a copy of ctx that carries c.
func With(ctx context.Context, c Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// Of returns the caller of the request that ctx belongs to. If ctx belongs to no
// request, Of returns the zero Caller, a stranger.
func Of(ctx context.Context) Caller {
	c, _ := ctx.Value(key{}).(Caller)
	return c
}

// Known reports whether ctx belongs to a request and not to the process's own
// work.
func Known(ctx context.Context) bool {
	_, ok := ctx.Value(key{}).(Caller)
	return ok
}
