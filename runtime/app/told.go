package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/web/board"
)

// told returns who is told of an open question: those who may answer it. The owner has no
// name and is told of all. In a person's quiet hours, the message waits: see [App.awake].
func (a *App) told(ctx context.Context, r *elicit.Request) (func(person string) bool, error) {
	return a.toldIf(ctx, func(p people.Person) bool { return mayAnswer(p, r) })
}

// everybody returns the people who were added.
func (a *App) everybody(ctx context.Context) ([]people.Person, error) {
	register, err := a.Register(ctx)
	if err != nil {
		return nil, err
	}
	return register.List(ctx)
}

// toldIf selects the owner, and the people of whom tell is true.
func (a *App) toldIf(ctx context.Context, tell func(people.Person) bool) (func(person string) bool, error) {
	all, err := a.everybody(ctx)
	if err != nil {
		return nil, err
	}
	return func(person string) bool {
		return person == "" || slices.ContainsFunc(all, func(p people.Person) bool { return p.Name == person && tell(p) })
	}, nil
}

// toldOf returns whose browsers get a message: that of a question, of the end of an attempt,
// or of several after quiet hours.
func (a *App) toldOf(ctx context.Context, m notify.Message) (func(person string) bool, error) {
	hub, err := a.Hub(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case m.ID != "":
		r, err := hub.Get(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		return a.told(ctx, &r)
	case m.Event == notify.EndEvent:
		project, err := a.endedIn(ctx, m)
		if err != nil {
			return nil, err
		}
		return a.toldIf(ctx, func(p people.Person) bool {
			return p.Boundary.Everything() || project != "" && p.Boundary.Sees(project)
		})
	}
	list, err := hub.List(ctx, elicit.Filter{Statuses: []elicit.Status{elicit.Open}, Limit: 1000})
	if err != nil {
		return nil, err
	}
	return a.toldIf(ctx, func(p people.Person) bool {
		return slices.ContainsFunc(list.Requests, func(r elicit.Request) bool { return mayAnswer(p, &r) })
	})
}

// endedIn returns the ID of the project of a message about the end of an attempt, or "" if it
// is about several.
func (a *App) endedIn(ctx context.Context, m notify.Message) (project string, err error) {
	id, one := strings.CutPrefix(m.Path, board.AttemptPath(""))
	if !one {
		return "", nil
	}
	work, err := a.Work(ctx)
	if err != nil {
		return "", err
	}
	c, err := work.Context(ctx, id)
	if fault.Of(err) != nil {
		return "", outbox.ErrOver // it was deleted
	}
	return c.Project.ID, err
}

// awake returns nil if a person may be disturbed now, and otherwise an error that lets the
// message wait: in the person's quiet hours, and in those of the installation, unless the
// priority is urgent.
func (a *App) awake(p people.Person, priority elicit.Priority) error {
	n, err := a.config.Notices.Get()
	if err != nil {
		return err
	}
	now := time.Now()
	until := time.Time{}
	if left := n.Quiet.Left(now); left > 0 && priority != elicit.Urgent {
		until = now.Add(left)
	}
	quiet, err := routing.ParseQuiet(p.Quiet, p.Zone, p.QuietExcept)
	if err != nil {
		a.log.Warn("cannot read quiet hours", "person", p.Name, "error", err)
	}
	if end := quiet.Until(now, slices.Index(routing.Urgencies, string(priority))); end.After(until) {
		until = end
	}
	if until.IsZero() {
		return nil
	}
	return outbox.Later(until, fmt.Sprintf("quiet hours until %s", until.UTC().Format(time.RFC3339)))
}
