package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/web"
)

// routes says who may call what a server of deskhand mounts: whoever can reach
// it, a program with the token of agents, or a person. Those of the front itself
// are in its own table. What an agent may do is what lets it ask and look;
// answering, signing in and starting are a person's. There are two exceptions,
// which the person makes: the tools of /mcp include those that start attempts
// with --tools work, and /a2a runs tasks if a2a.project is set.
var routes = map[string]access.Level{
	"/mcp":     access.Agents,
	"/a2a":     access.Agents, // further messages, which answer, are a person's: see agents.go
	"/a2a/v03": access.Agents,

	"GET /search": access.Agents, // docs, as search_docs has them

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

	"GET /work":                      access.People,
	"POST /work":                     access.People,
	"GET /work/tasks/{id}":           access.People,
	"POST /work/tasks/{id}":          access.People,
	"GET /work/attempts/{id}":        access.People,
	"POST /work/attempts/{id}":       access.People,
	"GET /work/attempts/{id}/news":   access.People,
	"/run/api/chat":                  access.People, // has an agent go on
	"/run/api/elicitation-responses": access.People,

	"GET /connect/{id}":     access.People,
	"POST /connect/{id}":    access.People,
	"GET /connect/callback": access.People,
	"GET /auth/connect":     access.People,

	"/answer/{code}":               access.Anyone, // the code is signed, and answers one question once
	"GET /connect/client.json":     access.Anyone,
	"/.well-known/agent-card.json": access.Anyone,
}

// front makes the front of a server. What it mounts is in the table: a route that
// nobody has thought about is a bug.
func front(o web.Options) (*web.Server, error) {
	for path := range o.Mounts {
		if _, ok := routes[path]; !ok {
			panic(fmt.Sprintf("nothing says who may call %s", path))
		}
	}
	o.Access = routes
	return web.New(o)
}

// mount adds handlers to those of a front.
func mount(o *web.Options, more map[string]http.Handler) {
	if o.Mounts == nil {
		o.Mounts = map[string]http.Handler{}
	}
	for path, h := range more {
		o.Mounts[path] = h
	}
}

// sessionHost is what a name of this machine looks like.
var sessionHost = regexp.MustCompile(`^(localhost|127\.0\.0\.1|[a-z0-9-]+(\.[a-z0-9-]+)*\.localhost)$`)

// comeIn is how people come in at every server of this installation.
func (a *app) comeIn(log *slog.Logger) (in web.People, err error) {
	if in.Key, err = a.personKey(log); err != nil {
		return in, err
	}
	if in.Host = a.settings.get("session.host"); in.Host != "" && !sessionHost.MatchString(in.Host) {
		return in, a.settings.wrong("session.host", "not a name of this machine", "use a name such as desk.localhost, or 127.0.0.1 for a browser that knows no such names")
	}
	in.Time, err = days(a.settings.get("session.time"))
	if err != nil || in.Time < time.Minute || in.Time > mostSession {
		return in, a.settings.wrong("session.time", "not a time between 1m and 400d", "write it as 12h or 30d")
	}
	return in, nil
}

// mostSession is how long browsers keep a cookie.
const mostSession = 400 * 24 * time.Hour

// personKey is the secret with which people come in, which no agent is given. In
// an attempt the environment is the agent's.
func (a *app) personKey(log *slog.Logger) (string, error) {
	if key := a.settings.get("person-key"); key != "" && ownAttempt() == "" {
		if key == a.settings.get("token") {
			return "", misuse("the person's key is the token of agents, who could then answer as a person", "set person-key or token to another text, or leave one out")
		}
		return key, a.checkSecret("person-key", key)
	}
	dir, err := a.settings.stateFolder()
	if err != nil {
		return "", err
	}
	return web.PersonKey(dir, log)
}

// checkSecret refuses a secret of the settings that can be guessed.
func (a *app) checkSecret(name, secret string) error {
	if f := fault.Of(web.CheckSecret(name, secret)); f != nil {
		return misuse(f.Message, f.Hint+"; it is from "+a.settings.origin(name))
	}
	return nil
}
