package settings

import (
	"cmp"
	"io"
	"log/slog"

	"github.com/deskhand/deskhand/runtime/app"
)

// Run describes the process that a configuration is for. It contains nothing from
// the settings.
type Run struct {
	Command string // the running command, for example "deskhand ask answer"
	Version string // the program's version
	// Log receives messages for the operator. If nil, they are discarded.
	Log *slog.Logger
	// Stderr receives the index's log.
	Stderr io.Writer
}

// Config returns the checked configuration for one process. No other function
// creates an [app.Config] from settings.
func (s *Settings) Config(run Run) app.Config {
	c := app.Config{
		Command: run.Command, Attempt: OwnAttempt(), Name: s.serverName(), Version: run.Version, Log: run.Log,
		Place: app.PartOf(s.place()), StateDir: app.PartOf(s.StateDir()), Members: app.PartOf(s.members()),
		Tasks: app.PartOf(s.TasksOptions()), People: app.PartOf(s.People()), Docs: app.PartOf(s.docs(run.Stderr)), Views: app.PartOf(s.hasViews()),
		Upstreams: app.PartOf(s.upstreams()), Agents: app.PartOf(s.others()), Notices: app.PartOf(s.notices()), Syslog: app.PartOf(s.syslog()),
		Surfaces: app.PartOf(s.surfaces(run.Log)), Spans: app.PartOf(s.spans(run)),
		SignIn: app.PartOf(s.signIn()), Proxy: app.PartOf(s.proxy()),
		Token: app.PartOf(s.token()), Visitors: app.PartOf(s.visitors()),
		Hosts: s.list("allow-host"), Origins: s.list("allow-origin"), PublicURL: cmp.Or(s.get("public-url"), s.get("base-url")), BaseURL: s.get("base-url"),
	}
	if OwnAttempt() == "" { // in an attempt, the agent controls the environment
		c.Person = s.get("person")
	}
	Surroundings(&c.In)
	return c
}
