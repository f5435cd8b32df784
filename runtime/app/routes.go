package app

import (
	"fmt"
	"net/http"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/web"
)

// Routes maps every route that a deskhand server mounts to the callers that may use it:
// anyone who can reach it, a program with the agents' token, or a person. The front's own
// routes are in a separate table. Agents may ask and read; only people may answer, sign
// in and start attempts. The user can allow two exceptions: with --tools work, the tools
// at /mcp can start attempts; with the setting a2a.project, /a2a can run tasks.
var Routes = map[string]access.Level{
	"/mcp":     access.Agents,
	"/a2a":     access.Agents, // further messages, which answer a question, require a person: see agents.go
	"/a2a/v03": access.Agents,

	"GET /search": access.Agents, // the docs, as in search_docs

	"GET /manual":            access.Agents,
	"GET /manual/{topic...}": access.Agents,

	"GET /{$}":                   access.People,
	"GET /inbox/{id}":            access.People,
	"POST /inbox/{id}":           access.People,
	"GET /inbox/{id}/card":       access.People,
	"POST /inbox/{id}/draft":     access.People,
	"POST /inbox/{id}/presented": access.People,
	"GET /inbox/list":            access.People,
	"GET /inbox/events":          access.People,
	"GET /history":               access.People,
	"GET /history.jsonl":         access.People,
	"/ahp":                       access.People,

	"GET /counts": access.People,
	"GET /find":   access.People, // questions and tasks, by their titles

	"GET /push":      access.People,
	"POST /push":     access.People,
	"POST /push/off": access.People,

	"GET /work":                         access.People,
	"POST /work":                        access.People,
	"GET /work/files":                   access.People,
	"GET /work/projects":                access.People,
	"POST /work/projects":               access.People, // sets the scripts that run in attempts
	"GET /work/tasks/{id}":              access.People,
	"POST /work/tasks/{id}":             access.People,
	"GET /work/attempts/{id}":           access.People,
	"POST /work/attempts/{id}":          access.People,
	"GET /work/attempts/{id}/news":      access.People,
	"GET /work/attempts/{id}/file":      access.People,
	"GET /work/attempts/{id}/blob":      access.People,
	"POST /work/attempts/{id}/viewed":   access.People,
	"GET /work/attempts/{id}/comments":  access.People,
	"POST /work/attempts/{id}/comments": access.People,
	"/run/api/chat":                     access.People, // makes an agent continue
	"/run/api/elicitation-responses":    access.People,

	"GET /connect/{id}":     access.People,
	"POST /connect/{id}":    access.People,
	"GET /connect/callback": access.People,
	"GET /auth/connect":     access.People,

	"/answer/{code}":               access.Anyone, // the code is signed, and answers one question once
	"GET /connect/client.json":     access.Anyone,
	"/.well-known/agent-card.json": access.Anyone,
}

// front creates a server's front. It panics if a mounted route is not in Routes.
func front(o web.Options) (*web.Server, error) {
	for path := range o.Mounts {
		if _, ok := Routes[path]; !ok {
			panic(fmt.Sprintf("there is no rule for who may call %s", path))
		}
	}
	o.Access = Routes
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
