package settings

import (
	"io"
	"log/slog"

	"github.com/deskhand/deskhand/runtime/app"
)

// Run is what a process is beside its settings.
type Run struct {
	Command string // that runs, as "deskhand ask answer"
	Version string // of the program
	// Log gets what people who run it should know. Nil: nothing is logged.
	Log *slog.Logger
	// Stderr gets what is logged of the index.
	Stderr io.Writer
}

// Config is what the settings say for one process, checked: the only place that
// makes an [app.Config] of them.
func (s *Settings) Config(run Run) app.Config {
	c := app.Config{
		Command: run.Command, Attempt: OwnAttempt(), Name: s.serverName(), Version: run.Version, Log: run.Log,
		Place: app.PartOf(s.place()), StateDir: app.PartOf(s.StateDir()), Members: app.PartOf(s.members()),
		Tasks: app.PartOf(s.TasksOptions()), People: app.PartOf(s.People()), Docs: app.PartOf(s.docs(run.Stderr)), Views: app.PartOf(s.hasViews()),
		Upstreams: app.PartOf(s.upstreams()), Agents: app.PartOf(s.others()), Notices: app.PartOf(s.notices()),
		Surfaces: app.PartOf(s.surfaces(run.Log)), Spans: app.PartOf(s.spans(run)),
		Token: app.PartOf(s.token()), Visitors: app.PartOf(s.visitors()),
		Hosts: s.list("allow-host"), Origins: s.list("allow-origin"), PublicURL: s.get("public-url"),
	}
	Surroundings(&c.In)
	return c
}
