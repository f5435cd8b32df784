package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"

	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/board"
	"github.com/deskhand/deskhand/runtime/web/searchpage"
)

// serveHTTP serves until ctx ends, then lets the calls in flight finish.
// asked says that questions are served; work is nil if no tasks are.
func (a *app) serveHTTP(ctx context.Context, f *serveFlags, lib *library, room *peopleRoom, asked bool, work *workRoom, addr string) error {
	o := web.Options{
		Addr: addr, NoToken: f.noToken,
		AllowedHosts: a.hosts(), AllowedOrigins: a.settings.list("allow-origin"),
		Mounts: map[string]http.Handler{"/mcp": lib.server.Handler()},
		Build:  a.build(),
		Logger: lib.log,
		Ledger: room,
		OnShutdown: func() {
			if err := lib.server.Close(context.WithoutCancel(ctx)); err != nil {
				lib.log.Warn("sessions did not end", "error", err)
			}
		},
	}
	agents, err := a.openAgents(ctx, f.noToken, lib.log)
	if err != nil {
		return err
	}
	defer agents.close()
	where := ""
	if !f.noToken {
		if o.Token, where, err = a.token(lib.log); err != nil {
			return err
		}
	}
	if o.People, err = a.comeIn(lib.log); err != nil {
		return err
	}
	people, err := a.people()
	if err != nil {
		return err
	}
	if _, err := a.notices(""); err != nil {
		return err
	}
	var door *peoplePages
	if asked && people.inbox != inboxOff {
		door = a.peoplePages(room, o.People, lib.log, work != nil)
		door.enter(&o)
	}
	ctx, stop := context.WithCancel(ctx)
	var announcing sync.WaitGroup
	defer announcing.Wait()
	defer stop()
	if work != nil {
		a.boardPage(&o, work, door)
	}
	if lib.engine != nil {
		a.searchPage(&o, lib)
	}
	if lib.door != nil {
		lib.door.enter(&o)
	}
	agents.mount(&o)
	if asked || work != nil {
		defer a.mountChat(&o, work, lib.log)()
	}
	o.OnListen = func(at net.Addr) {
		shown := shownAddr(addr, at)
		if lib.door != nil {
			lib.door.at("http://" + shown)
		}
		a.tell(fmt.Sprintf("serving MCP at http://%s/mcp%s", shown, where))
		if door != nil && people.hasInbox() {
			announcing.Go(func() { door.announce(ctx, "http://"+shown, lib.log) })
			announcing.Go(func() { door.notify(ctx, a, "http://"+shown, lib.log) })
		}
		a.tellPage("http://"+shown, o.People, door != nil, work != nil, lib.engine != nil)
	}
	if asked || work != nil {
		o.Ready = room.ready
	}
	if at, err := url.Parse(a.settings.get("public-url")); err == nil && at.Scheme == "https" && o.Shell != nil {
		o.Shell.TLSHost = at.Hostname()
	}
	server, err := front(o)
	if err != nil {
		return err
	}
	return server.Serve(ctx)
}

// tellPage says where the first page for people is, if there is one. At a
// terminal the address lets a browser in once, which is for the eyes of the
// person alone.
func (a *app) tellPage(base string, in web.People, hasInbox, hasBoard, hasDocs bool) {
	name, path := "inbox", "/"
	switch {
	case hasInbox:
	case hasBoard:
		name, path = "board", board.Path
	case hasDocs:
		name, path = "search page", searchpage.Path
	default:
		return
	}
	link := base + path
	if onTerminal(a.stderr) {
		link = in.LoginLink(base, path)
	}
	a.tell(name + " at " + link)
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
