package app

import (
	"context"
	"crypto/rand"

	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/inbox"
	"github.com/deskhand/deskhand/runtime/web/views"
)

// clientViews returns this server's views. toolset is nil if the server asks no
// questions. The views hold requests until ctx ends.
func (a *App) clientViews(ctx context.Context, toolset *asktools.Toolset, prefix string) *views.Views {
	shell := newShell(web.People{Key: rand.Text()}) // browsers never submit this process's forms
	o := views.Options{Shell: shell, Prefix: prefix}
	if toolset != nil {
		o.Hub = a.Hub
		o.Key = func(ctx context.Context) ([]byte, error) {
			if _, err := a.Hub(ctx); err != nil {
				return nil, err
			}
			return a.stateKey()
		}
		form := inbox.New(inbox.Options{Hub: o.Hub, Shell: shell, View: true, Log: a.log})
		context.AfterFunc(ctx, form.Stop)
		o.Form, o.Channel, o.Find = form.InView(), inbox.ViewChannel, toolset.Find
	}
	return views.New(o)
}
