package access

import "slices"

// Scope is one right of a named caller. A scope includes no other.
type Scope string

const (
	Ask       Scope = "ask"        // ask people, and call the tools of upstreams
	Answer    Scope = "answer"     // see questions and their history, and answer them
	Docs      Scope = "docs"       // search and read the docs
	WorkRead  Scope = "work:read"  // see tasks, attempts, logs and changes
	WorkStart Scope = "work:start" // create tasks, start, continue and stop attempts
	WorkLand  Scope = "work:land"  // land or discard an attempt's work
	Admin     Scope = "admin"      // read metrics
)

// Owner is the scope of routes for the owner of the installation. It is not in Scopes, so
// no caller with a name has it.
const Owner Scope = "owner"

// Scopes lists all scopes in the order in which they are shown.
var Scopes = []Scope{Ask, Answer, Docs, WorkRead, WorkStart, WorkLand, Admin}

// Rule is what a route or a tool requires of its caller. The secrets of the
// installation have levels; people and tokens with names have scopes.
type Rule struct {
	// Level is required of a caller without a name.
	Level Level
	// Scope is required of a caller with a name. If empty, any of them may call.
	Scope Scope
}

// May reports whether c satisfies r.
func (c Caller) May(r Rule) bool {
	if c.Name == "" || r.Level == Anyone {
		return c.Level >= r.Level
	}
	return r.Scope == "" || slices.Contains(c.Scopes, r.Scope)
}
