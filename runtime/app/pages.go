package app

import (
	"context"
	"net/http"
	"runtime"

	"github.com/deskhand/deskhand/runtime/ahp"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/board"
	"github.com/deskhand/deskhand/runtime/web/inbox"
	webpage "github.com/deskhand/deskhand/runtime/web/page"
)

// peoplePages serves the questions: to people as the inbox, and to programs over AHP.
type peoplePages struct {
	app   *App
	shell *webpage.Shell
	inbox *inbox.Inbox
	// ahp serves the same questions as shared state, for programs.
	ahp *ahp.Server
	in  web.People
	// withWork reports whether the server also has the pages about tasks.
	withWork bool
}

// peoplePages creates the pages. If withBoard is set, questions link to their
// attempt on the board.
func (a *App) peoplePages(in web.People, withBoard bool) *peoplePages {
	p := &peoplePages{app: a, in: in, shell: newShell(in), withWork: withBoard}
	options := inbox.Options{Shell: p.shell, Log: a.log, Key: web.Key(in.Key, "answers"), Hub: a.Hub, Mails: a.mails(), ProjectName: a.ProjectName}
	if sender, err := p.sender(); err != nil {
		a.log.Warn("cannot send push messages", "error", err)
	} else {
		options.PushKey, options.Push = sender.PublicKey(), a.subscriptions
	}
	if withBoard {
		options.Attempt = board.AttemptPath
	}
	p.inbox = inbox.New(options)
	p.ahp = ahp.New(ahp.Options{Hub: a.Hub, Name: a.config.Name, Version: a.config.Version, Log: a.log})
	return p
}

// newShell returns the shell that the pages share.
func newShell(in web.People) *webpage.Shell {
	s := webpage.New(web.Key(in.Key, "forms"))
	s.Explain = func(err error) (message, hint string) {
		if f := Expected(err); f != nil {
			return f.Message, f.Hint
		}
		return "", ""
	}
	return s
}

// enter mounts the pages on a front.
func (p *peoplePages) enter(o *web.Options) {
	o.Shell, o.Ledger = p.shell, p.app
	mount(o, p.inbox.Mounts())
	withNews(o, "/", p.inbox.Count, p.inbox.Find)
	mount(o, p.inbox.Public())
	mount(o, map[string]http.Handler{"/ahp": p.ahp})
	atShutdown(o, func() {
		p.inbox.Stop()
		p.ahp.Close()
	})
}

// withNews adds a count to the navigation link at path, and a source to the menu of
// Ctrl+K.
func withNews(o *web.Options, path string, count func(context.Context) (int, error), find func(context.Context, string, int) ([]webpage.Found, error)) {
	if o.Shell.Counts == nil {
		o.Shell.Counts = map[string]func(context.Context) (int, error){}
		mount(o, o.Shell.News())
	}
	o.Shell.Counts[path], o.Shell.Find = count, append(o.Shell.Find, find)
}

// atShutdown makes the front's shutdown call the function end, before the
// functions that were added earlier.
func atShutdown(o *web.Options, end func()) {
	others := o.OnShutdown
	o.OnShutdown = func() {
		end()
		if others != nil {
			others()
		}
	}
}

// build returns the build information that a server reports.
func (a *App) build() map[string]string {
	return map[string]string{"name": a.config.Name, "version": a.config.Version, "go": runtime.Version()}
}

// announce publishes the pages' address to the store's other processes until ctx ends.
func (p *peoplePages) announce(ctx context.Context, address string) {
	hub, err := p.app.Hub(ctx)
	if err != nil {
		p.app.log.Warn("cannot announce the inbox", "error", err)
		return
	}
	_, _, detach, err := hub.Attach(ctx, elicit.Station{Kind: serverStation, Address: address, Public: p.app.config.PublicURL, Mail: p.app.sendsMail()})
	if err != nil {
		p.app.log.Warn("cannot announce the inbox", "error", err)
		return
	}
	<-ctx.Done()
	detach()
}
