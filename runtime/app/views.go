package app

import (
	"context"
	"crypto/rand"
	"net/http"

	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/inbox"
	webpage "github.com/deskhand/deskhand/runtime/web/page"
	"github.com/deskhand/deskhand/runtime/web/views"
)

// clientViews returns this server's views. toolset is nil if the server asks no
// questions. The views hold requests until ctx ends.
func (a *App) clientViews(ctx context.Context, toolset *asktools.Toolset, prefix string) *views.Views {
	o := views.Options{Prefix: prefix}
	o.Pages = func() (*webpage.Shell, http.Handler) {
		shell := newShell(web.People{Key: rand.Text()}) // browsers never submit this process's forms
		if toolset == nil {
			return shell, nil
		}
		form := inbox.New(inbox.Options{Hub: o.Hub, Shell: shell, View: true, Log: a.log})
		context.AfterFunc(ctx, form.Stop)
		return shell, form.InView()
	}
	if toolset != nil {
		o.Hub, o.Channel, o.Find = a.Hub, inbox.ViewChannel, toolset.Find
		o.Key = func(ctx context.Context) ([]byte, error) {
			if _, err := a.Hub(ctx); err != nil {
				return nil, err
			}
			return a.stateKey()
		}
	}
	return views.New(o)
}
