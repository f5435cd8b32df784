package app

import (
	"fmt"
	"net/http"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/web"
)

// Routes maps every route that a deskhand server mounts to what it requires of a caller.
// It has a level for the secrets of the installation: anyone who can reach it, a program
// with the agents' token, or a person. And it has a scope for people with names and their
// tokens. The front's own routes are in [web.Own], and the tools behind /mcp in Tools.
//
// With the agents' token, programs may ask and read; only people may answer, sign in and
// start attempts. The user can allow two exceptions: with --tools work, the tools of /mcp
// start attempts, and if a2a.project is set, /a2a runs tasks.
var Routes = map[string]access.Rule{
	"/mcp":     {Level: access.Agents},                    // each tool has its own scope
	"/a2a":     {Level: access.Agents, Scope: access.Ask}, // answers and tasks require more: see agents.go
	"/a2a/v03": {Level: access.Agents, Scope: access.Ask},

	"GET /search": {Level: access.Agents, Scope: access.Docs}, // as in search_docs

	"GET /manual":            {Level: access.Agents}, // deskhand's own
	"GET /manual/{topic...}": {Level: access.Agents},

	"GET /{$}":                   answers,
	"GET /inbox/{id}":            answers,
	"POST /inbox/{id}":           answers,
	"GET /inbox/{id}/card":       answers,
	"POST /inbox/{id}/draft":     answers,
	"POST /inbox/{id}/presented": answers,
	"GET /inbox/list":            answers,
	"GET /inbox/together":        answers,
	"POST /inbox/together":       answers,
	"GET /inbox/events":          answers,
	"GET /history":               answers,
	"GET /history.jsonl":         answers,
	"GET /rules":                 answers,
	"POST /rules":                answers, // only one's own, and only from a browser
	"/ahp":                       answers,

	"GET /counts": answers,
	"GET /find":   seesWork, // questions and tasks, by their titles

	"GET /push":      answers,
	"POST /push":     ownersOnly, // a named person's subscription would outlive that person's rights
	"POST /push/off": ownersOnly,

	"GET /work/files":                   seesWork,
	"POST /work/images":                 startsWork,
	"GET /work/images/{name}":           seesWork,
	"GET /work/projects":                seesWork,
	"POST /work/projects":               ownersOnly, // sets the scripts that run in attempts, outside a sandbox
	"GET /work":                         seesWork,
	"POST /work":                        startsWork,
	"GET /work/tasks/{id}":              seesWork,
	"POST /work/tasks/{id}":             startsWork,
	"GET /work/attempts/{id}":           seesWork,
	"POST /work/attempts/{id}":          startsWork,
	"GET /work/attempts/{id}/news":      seesWork,
	"GET /work/attempts/{id}/file":      seesWork,
	"GET /work/attempts/{id}/blob":      seesWork,
	"POST /work/attempts/{id}/viewed":   seesWork,
	"GET /work/attempts/{id}/comments":  seesWork,
	"POST /work/attempts/{id}/comments": startsWork,
	"/run/api/chat":                     startsWork, // makes an agent continue
	"/run/api/elicitation-responses":    answers,

	"GET /connect/{id}":     connects,
	"POST /connect/{id}":    connects,
	"GET /connect/callback": connects,
	"GET /auth/connect":     connects,

	"/answer/{code}":               {}, // the code is signed, and answers one question once
	"/mail/{code}":                 {}, // the code is of one mail to one person, and answers one question once
	"GET /connect/client.json":     {},
	"/.well-known/agent-card.json": {},
}

var (
	answers    = access.Rule{Level: access.People, Scope: access.Answer}
	seesWork   = access.Rule{Level: access.People, Scope: access.WorkRead}
	startsWork = access.Rule{Level: access.People, Scope: access.WorkStart}
	ownersOnly = access.Rule{Level: access.People, Scope: access.Owner}
	// connects is for a sign-in to an upstream, which answers an agent's request for one.
	connects = answers
)

// Held are the routes whose requests hold a connection: streams, and calls that wait. There are
// only so many at a time; see [web.Places]. The calls of /mcp take their places themselves,
// because answers come on that route too.
var Held = map[string]bool{
	"/a2a": true, "/a2a/v03": true, "/ahp": true, "GET /inbox/events": true, "/run/api/chat": true,
}

// front creates a server's front. It panics if a mounted route is not in Routes.
func front(o web.Options) (*web.Server, error) {
	for path := range o.Mounts {
		if _, ok := Routes[path]; !ok {
			panic(fmt.Sprintf("there is no rule for who may call %s", path))
		}
	}
	o.Access, o.Held = Routes, Held
	return web.New(o)
}

// mount adds handlers to the front's mounts.
func mount(o *web.Options, more map[string]http.Handler) {
	if o.Mounts == nil {
		o.Mounts = map[string]http.Handler{}
	}
	for path, h := range more {
		o.Mounts[path] = h
	}
}
