package main

import (
	"log/slog"
	"path/filepath"
	"regexp"
	"time"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/web"
)

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
	if err != nil || in.Time < time.Minute || in.Time > installation.MostSession {
		return in, a.settings.wrong("session.time", "not a time between 1m and 400d", "write it as 12h or 30d")
	}
	return in, nil
}

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

// token is the bearer token to ask agents for, and where a person finds it.
func (a *app) token(log *slog.Logger) (token, where string, err error) {
	// In an attempt the variable is the key to deskhand's tools there, which no
	// person has who signs in at a server of the agent's own.
	if token := a.settings.get("token"); token != "" && !(ownAttempt() != "" && token == env("DESKHAND_TOKEN")) {
		return token, "", a.checkSecret("token", token)
	}
	dir, err := a.settings.stateFolder()
	if err != nil {
		return "", "", err
	}
	token, err = web.Token(dir, log)
	return token, " (token in " + filepath.Join(dir, "token") + ")", err
}
