package app

import (
	"path/filepath"

	"github.com/deskhand/deskhand/runtime/web"
)

// token returns the bearer token required from agents, and a note on where it is
// stored. The note is empty if the token comes from the settings. If there is no
// token, one is generated.
func (a *App) token() (token, where string, err error) {
	if token, err = a.config.Token.Get(); err != nil || token != "" {
		return token, "", err
	}
	dir, err := a.config.StateDir.Get()
	if err != nil {
		return "", "", err
	}
	token, err = web.Token(dir, a.log)
	return token, " (token in " + filepath.Join(dir, "token") + ")", err
}

// Visitors returns how people sign in at this installation's servers. If the person has
// no key yet, one is generated.
func (a *App) Visitors() (web.People, error) {
	in, err := a.config.Visitors.Get()
	if err != nil || in.Key != "" {
		return in, err
	}
	dir, err := a.config.StateDir.Get()
	if err != nil {
		return in, err
	}
	in.Key, err = web.PersonKey(dir, a.log)
	return in, err
}
