package app

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/surface/slack"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/web/board"
)

// Values of [Notices.Ends]: which ends of attempts people are told of.
const (
	EndsAll    = "all"
	EndsFailed = "failed"
	EndsOff    = "off"
)

// notifyEnds tells people of attempts that end, by the ways of new questions, until ctx
// ends. Attempts that a person stopped are left out.
func (a *App) notifyEnds(ctx context.Context) {
	n, err := a.config.Notices.Get()
	if err != nil || n.Ends == EndsOff {
		return
	}
	surfaces, err := a.config.Surfaces.Get()
	if err != nil || len(n.Hooks) == 0 && surfaces.Slack == nil {
		return
	}
	_, hooks, err := a.hooks()
	if err != nil {
		return // startup has already reported the error
	}
	if surfaces.Slack != nil {
		hooks = append(hooks, a.slackHook(*surfaces.Slack))
	}
	sending := make(chan struct{})
	go func() { defer close(sending); a.sendNotices(ctx) }()
	a.tellEnds(ctx, n, hooks)
	<-sending
}

// tellEnds sends the ends that n wants to hooks until ctx ends or the store is closed.
// Of all processes, only one tells each end to the hooks of the same way.
func (a *App) tellEnds(ctx context.Context, n Notices, hooks []notify.Hook) {
	m, err := a.Work(ctx)
	if err != nil || n.Ends == EndsOff {
		return
	}
	box, err := a.Outbox(ctx)
	if err != nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	ends := make(chan notify.End)
	var sending sync.WaitGroup
	sending.Go(func() {
		notify.RunEnds(ctx, notify.Options{Box: box, Hooks: hooks, Quiet: n.Quiet, Log: a.log}, ends)
	})
	defer sending.Wait()
	defer stop()
	for ctx.Err() == nil {
		err := a.followEnds(ctx, m, n, ends)
		if errors.Is(err, store.ErrClosed) {
			return
		}
		if err != nil && ctx.Err() == nil {
			a.log.Warn("cannot follow the ends of attempts", "error", err)
		}
		pause(ctx, time.Second)
	}
}

// slackHook says messages in Slack's channel, for people to read only. It drops those of
// projects that a person in slack.people does not know of.
func (a *App) slackHook(o slack.Options) notify.Hook {
	return notify.HookTo("slack", func(ctx context.Context, m notify.Message) error {
		project, err := a.endedIn(ctx, m)
		if err != nil {
			return err
		}
		for _, p := range o.People {
			if p.Principal == elicit.Local {
				continue
			}
			if b, err := a.named(ctx, p.Principal); err != nil || !b.Sees(project) {
				return errors.Join(outbox.ErrOver, err)
			}
		}
		return slack.Say(ctx, o, m.Text)
	})
}

// followEnds sends the ends of attempts to a channel until ctx ends or the store is closed,
// also those that happened while the store could not be read.
func (a *App) followEnds(ctx context.Context, m *tasks.Manager, n Notices, ends chan<- notify.End) error {
	w, err := m.Watch(ctx, -1, "")
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		events, err := w.Next(ctx)
		if err := w.Resume(ctx, err); err != nil {
			return err
		}
		for _, e := range events {
			end, err := a.endOf(ctx, m, n, e)
			if err != nil || end == nil {
				continue // not an end, or the attempt was deleted
			}
			select {
			case ends <- *end:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// endOf describes the end of an attempt. It returns nil if the event is not such an end,
// if n does not want it, or if the attempt continues with another process.
func (a *App) endOf(ctx context.Context, m *tasks.Manager, n Notices, e tasks.Event) (*notify.End, error) {
	if e.Type != tasks.ProcessEnded || e.State == tasks.Killed || n.Ends == EndsFailed && e.State != tasks.Failed {
		return nil, nil
	}
	s, err := m.Status(ctx, e.AttemptID)
	if err != nil || !s.Ended() || s.ProcessID != e.ProcessID {
		return nil, err
	}
	c, err := m.Context(ctx, e.AttemptID)
	if err != nil {
		return nil, err
	}
	word, how := "Completed", ""
	if s.State == tasks.Failed {
		word, how = "Failed", s.Failure
	}
	by := c.Project.Name
	if s.Executor != "" { // otherwise the attempt ended before its agent started
		by = "by " + s.Executor + ", " + by
	}
	body := strings.TrimSpace(how+"\n"+strings.TrimPrefix(s.Usage.Words(), ", ")) + "\n" + by
	return &notify.End{ID: "ended-" + e.ProcessID, Title: word + ": " + c.Task.Title, Body: strings.TrimSpace(body), Asker: s.Executor, Place: c.Project.Name, ProjectID: c.Project.ID,
		URL: a.attemptURL(ctx, n, e.AttemptID), Path: board.AttemptPath(e.AttemptID), Failed: s.State == tasks.Failed}, nil
}

// attemptURL returns the address of an attempt's page, or "" if no server has it.
func (a *App) attemptURL(ctx context.Context, n Notices, id string) string {
	base := n.Base
	if base == "" {
		hub, err := a.Hub(ctx)
		if err != nil {
			return ""
		}
		up, err := hub.Reach(ctx)
		if err != nil {
			return ""
		}
		base = cmp.Or(publicAddress(up), serverAddress(up))
		if in, err := a.Visitors(); err == nil && base != "" {
			base = in.Home(base)
		}
	}
	if base == "" {
		return ""
	}
	return base + board.AttemptPath(id)
}

// serverAddress returns the address of a server among the stations, or "".
func serverAddress(up []elicit.Station) string {
	for _, s := range up {
		if s.Kind == serverStation && s.Address != "" {
			return s.Address
		}
	}
	return ""
}
