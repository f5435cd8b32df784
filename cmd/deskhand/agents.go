package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface/a2a"
	"github.com/deskhand/deskhand/runtime/web"
)

// What the setting a2a.enabled may be.
const (
	agentsOn  = "true"
	agentsOff = "false"
)

// agentsWanted reads the setting that lets other agents ask.
func (a *app) agentsWanted() (bool, error) {
	switch a.settings.get("a2a.enabled") {
	case agentsOn:
		return true, nil
	case agentsOff:
		return false, nil
	}
	return false, a.settings.wrong("a2a.enabled", "not true or false", "")
}

// agents is the door for other agents; nil: it is not wanted.
type agents struct {
	server *a2a.Server
	stop   func()
}

// openAgents opens the store at the start, unlike a desk of tools: agents look
// for the card before they ask.
func (a *app) openAgents(ctx context.Context, noToken bool, log *slog.Logger) (*agents, error) {
	if wanted, err := a.agentsWanted(); err != nil || !wanted {
		return nil, err
	}
	p, err := a.people()
	if err != nil {
		return nil, err
	}
	room := &workRoom{app: a, log: log}
	run, err := a.agentsRun(room)
	if err != nil {
		return nil, err
	}
	place, err := a.settings.place()
	if err != nil {
		return nil, err
	}
	options, tell, err := a.hubOptions(log)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, place, elicit.Room(), a2a.Room())
	if err != nil {
		tell()
		return nil, err
	}
	hub := elicit.New(db, options)
	var wait time.Duration
	if a.settings.given("elicitation.timeout") {
		wait = p.wait
	}
	o := a2a.Options{Name: a.serverName(), Version: buildVersion(), NoToken: noToken, Wait: wait, Skill: a.settings.get("a2a.default-skill"), PushTo: a.settings.list("a2a.push-to"), Log: log,
		MayAnswer: func(ctx context.Context) bool { return access.Of(ctx).Level >= access.People }}
	if run != nil {
		o.Runner = run
	}
	server := a2a.New(db, hub, o)
	sending, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { server.Run(sending) })
	return &agents{server, func() {
		cancel()
		running.Wait()
		room.close()
		hub.Close()
		if err := db.Close(); err != nil {
			log.Warn("store not closed", "error", err)
		}
		tell()
	}}, nil
}

// mount adds the door to those of the front. The card is for everybody.
func (g *agents) mount(o *web.Options) {
	if g == nil {
		return
	}
	mount(o, g.server.Mounts())
	mount(o, map[string]http.Handler{a2a.CardPath: g.server.Card()})
	atShutdown(o, g.server.Close)
}

func (g *agents) close() {
	if g != nil {
		g.stop()
	}
}
