package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
)

// installation returns the installation for this process, with the settings applied.
// It does not open anything. log may be nil.
func (a *app) installation(log *slog.Logger) *installation.App {
	return installation.Open(a.settings.Config(settings.Run{Command: a.command, Version: buildVersion(), Log: log, Stderr: a.Stderr}))
}

// hub opens the store and creates a hub on it. The function stop closes both.
func (a *app) hub(ctx context.Context) (hub *elicit.Hub, stop func(), err error) {
	all := a.installation(nil)
	hub, err = all.Hub(ctx)
	return hub, all.Close, err
}

// engine opens the index for one command, and warns if the vectors are unusable.
func (a *app) engine() (*search.Engine, error) {
	o, err := a.settings.Searching(a.Stderr)
	if err != nil {
		return nil, err
	}
	engine, err := search.OpenWith(a.settings.Index(), o)
	if err != nil {
		return nil, err
	}
	if err := engine.Mute(); err != nil {
		a.Tell(mute(err))
	}
	return engine, nil
}

// mute returns the warning that an index is searched only by keyword.
func mute(err error) string {
	text := "keyword search only: " + err.Error()
	if f := fault.Of(err); f != nil && f.Hint != "" {
		text += "; " + f.Hint
	}
	return text
}

// here returns the working directory, or "" if it no longer exists.
func here() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}
