package app

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/a2a"
	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/web"
)

// agents serves agent-to-agent requests. It is nil if they are not enabled.
type agents struct {
	server *a2a.Server
	close  func()
}

// openAgents opens the store at startup, unlike a toolset, because agents fetch the
// card before they ask.
func (a *App) openAgents(ctx context.Context, noToken bool) (*agents, error) {
	c, err := a.config.Agents.Get()
	if err != nil || c == nil {
		return nil, err
	}
	p, err := a.config.People.Get()
	if err != nil {
		return nil, err
	}
	hub, db, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	var wait time.Duration
	if p.WaitSet {
		wait = p.Wait
	}
	o := a2a.Options{Name: a.config.Name, Version: a.config.Version, NoToken: noToken, Wait: wait, Skill: c.Skill, PushTo: c.PushTo, Log: a.log,
		MayAnswer: func(ctx context.Context) bool { return access.Of(ctx).May(answers) }}
	if c.Project != "" {
		o.Runner = &agentsRun{a, c.Project, c.Executor}
	}
	server := a2a.New(db, hub, o)
	sending, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { server.Run(sending) })
	return &agents{server, func() { cancel(); running.Wait() }}, nil
}

// mount adds the A2A routes and the agent card to the front's mounts. Anyone
// can read the card.
func (g *agents) mount(o *web.Options) {
	if g == nil {
		return
	}
	mount(o, g.server.Mounts())
	mount(o, map[string]http.Handler{a2a.CardPath: g.server.Card()})
	atShutdown(o, g.server.Close)
}

func (g *agents) end() {
	if g != nil {
		g.close()
	}
}
