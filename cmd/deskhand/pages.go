package main

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/board"
	"github.com/deskhand/deskhand/runtime/web/channel"
	"github.com/deskhand/deskhand/runtime/web/inbox"
	webpage "github.com/deskhand/deskhand/runtime/web/page"
)

// peoplePages are what a browser finds at this process: the inbox over a room of
// questions, whoever serves it.
type peoplePages struct {
	shell *webpage.Shell
	inbox *inbox.Inbox
	// channel is the same questions as shared state, for programs.
	channel *channel.Server
	room    *peopleRoom
	in      web.People
}

// peoplePages makes them. withBoard: there are the pages of the work too.
func (a *app) peoplePages(room *peopleRoom, in web.People, log *slog.Logger, withBoard bool) *peoplePages {
	p := &peoplePages{room: room, in: in, shell: newShell(in)}
	hub := func(ctx context.Context) (*elicit.Hub, error) {
		hub, _, err := room.open(ctx)
		return hub, err
	}
	options := inbox.Options{Shell: p.shell, Log: log, Key: web.Key(in.Key, "answers"), Hub: hub}
	if withBoard {
		options.Attempt = board.AttemptPath
	}
	p.inbox = inbox.New(options)
	p.channel = channel.New(channel.Options{Hub: hub, Name: a.serverName(), Version: buildVersion(), Log: log})
	return p
}

// newShell is what pages stand in.
func newShell(in web.People) *webpage.Shell {
	s := webpage.New(web.Key(in.Key, "forms"))
	s.Explain = func(err error) (message, hint string) {
		if f := expected(err); f != nil {
			return f.Message, f.Hint
		}
		return "", ""
	}
	return s
}

// enter puts the pages behind a front.
func (p *peoplePages) enter(o *web.Options) {
	o.Shell, o.Ledger = p.shell, p.room
	mount(o, p.inbox.Mounts())
	mount(o, p.inbox.Public())
	mount(o, map[string]http.Handler{"/ahp": p.channel})
	atShutdown(o, func() {
		p.inbox.Stop()
		p.channel.Close()
	})
}

// atShutdown ends what would last, before what ends already.
func atShutdown(o *web.Options, end func()) {
	others := o.OnShutdown
	o.OnShutdown = func() {
		end()
		if others != nil {
			others()
		}
	}
}

// build is what a server says of this program.
func (a *app) build() map[string]string {
	return map[string]string{"name": a.serverName(), "version": buildVersion(), "go": runtime.Version()}
}

// announce tells the other processes of the store where these pages are, until
// ctx ends.
func (p *peoplePages) announce(ctx context.Context, address string, log *slog.Logger) {
	hub, _, err := p.room.open(ctx)
	if err != nil {
		log.Warn("inbox not announced", "error", err)
		return
	}
	_, _, detach, err := hub.Attach(ctx, elicit.Station{Kind: serverStation, Address: address})
	if err != nil {
		log.Warn("inbox not announced", "error", err)
		return
	}
	<-ctx.Done()
	detach()
}
