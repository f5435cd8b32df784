package main

import (
	"context"
	"crypto/rand"
	"log/slog"

	"github.com/deskhand/deskhand/runtime/elicit"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/inbox"
	"github.com/deskhand/deskhand/runtime/web/views"
)

// What the setting views may be.
const (
	viewsOn  = "on"
	viewsOff = "off"
)

// hasViews reports whether clients that show views get them. The agent of an
// attempt never does: its client is a program, which would answer its own
// questions.
func (a *app) hasViews() (bool, error) {
	on, err := a.settings.either("views", viewsOn, viewsOff)
	return on && env("DESKHAND_ATTEMPT_ID") == "", err
}

// clientViews returns the views of this server. desk is nil if the server asks no
// questions. The views hold requests until ctx ends.
func (a *app) clientViews(ctx context.Context, room *peopleRoom, desk *asktools.Desk, prefix string, log *slog.Logger) *views.Views {
	shell := newShell(web.People{Key: rand.Text()}) // no browser brings back a form of this process's
	o := views.Options{Shell: shell, Prefix: prefix}
	if desk != nil {
		o.Hub = func(ctx context.Context) (*elicit.Hub, error) {
			hub, _, err := room.open(ctx)
			return hub, err
		}
		o.Key = func(ctx context.Context) ([]byte, error) {
			if _, _, err := room.open(ctx); err != nil {
				return nil, err
			}
			return room.stateKey()
		}
		form := inbox.New(inbox.Options{Hub: o.Hub, Shell: shell, View: true, Log: log})
		context.AfterFunc(ctx, form.Stop)
		o.Form, o.Channel, o.Find = form.InView(), inbox.ViewChannel, desk.Find
	}
	return views.New(o)
}
