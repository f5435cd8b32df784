package app

import (
	"path/filepath"

	"github.com/deskhand/deskhand/runtime/web"
)

// token is the bearer token to ask agents for, and where a person finds it; where
// is empty if it is from the settings. One of the installation's own is made if
// there is none.
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

// Visitors returns how people come in at every server of this installation. The
// key of the person is made if there is none.
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
