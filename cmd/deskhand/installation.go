package main

import (
	"log/slog"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/surface"
	"github.com/deskhand/deskhand/runtime/telemetry"
	"github.com/deskhand/deskhand/runtime/web"
)

// installation is what the settings say, for one process. It opens nothing. log
// may be nil.
func (a *app) installation(log *slog.Logger) *installation.App {
	quiet := log
	if quiet == nil {
		quiet = slog.New(slog.DiscardHandler)
	}
	c := installation.Config{
		Command: a.command, Attempt: ownAttempt(), Name: a.serverName(), Version: buildVersion(), Log: log,
		Place: a.settings.place, StateDir: a.settings.stateFolder, Members: a.members,
		Spans: func() (*telemetry.Options, error) { return a.spans(log) },
		Tasks: a.tasksOptions, People: a.people, Docs: a.docs, Views: a.hasViews,
		Upstreams: a.upstreams, Agents: a.others,
		Surfaces: func() (surface.Options, error) { return a.surfaces(log) },
		Notices:  a.notices,
		Token:    func() (token, where string, err error) { return a.token(quiet) },
		Visitors: func() (web.People, error) { return a.comeIn(quiet) },
		Hosts:    a.settings.list("allow-host"), Origins: a.settings.list("allow-origin"), PublicURL: a.settings.get("public-url"),
	}
	c.In = elicit.Context{}
	surroundings(&c.In)
	return installation.Open(c)
}

// docs says which index is served, and how.
func (a *app) docs() (d installation.Docs, err error) {
	d.Dir = a.settings.get("index")
	if d.Tools, err = a.docsOptions(); err != nil {
		return d, err
	}
	if d.Record, err = a.settings.either("search.log", "on", "off"); err != nil {
		return d, err
	}
	d.Searching, err = a.searching()
	return d, err
}
