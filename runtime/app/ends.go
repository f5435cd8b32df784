package app

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/surface/slack"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/web"
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
	token, _, err := a.token()
	if err != nil {
		return // startup has already reported the error
	}
	m, err := a.Work(ctx)
	if err != nil {
		return
	}
	var hooks []notify.Hook
	for _, h := range n.Hooks {
		hooks = append(hooks, h.Signed(web.Key(token, "webhook")))
	}
	if surfaces.Slack != nil {
		o := *surfaces.Slack
		hooks = append(hooks, notify.HookTo("slack", func(ctx context.Context, m notify.Message) error { return slack.Say(ctx, o, m.Text) }))
	}
	ends := make(chan notify.End)
	var sending sync.WaitGroup
	sending.Go(func() {
		notify.RunEnds(ctx, notify.Options{Hooks: hooks, Quiet: n.Quiet, First: a.Once, Log: a.log}, ends)
	})
	defer sending.Wait()
	for ctx.Err() == nil {
		if err := a.followEnds(ctx, m, n, ends); err != nil && ctx.Err() == nil {
			a.log.Warn("cannot follow the ends of attempts", "error", err)
		}
		pause(ctx, time.Second)
	}
}

// followEnds sends the ends of attempts until ctx ends or the feed cannot be read.
func (a *App) followEnds(ctx context.Context, m *tasks.Manager, n Notices, ends chan<- notify.End) error {
	w, err := m.Watch(ctx, -1, "")
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.Type != tasks.ProcessEnded || e.State == tasks.Killed || n.Ends == EndsFailed && e.State != tasks.Failed {
				continue
			}
			end, err := a.endOf(ctx, m, n, e)
			if err != nil || end == nil {
				continue // it continues, or was deleted
			}
			select {
			case ends <- *end:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// endOf describes the end of an attempt. It returns nil if the attempt continues with
// another process.
func (a *App) endOf(ctx context.Context, m *tasks.Manager, n Notices, e tasks.Event) (*notify.End, error) {
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
	lines := []string{how, strings.TrimPrefix(s.Usage.Words(), ", "), fmt.Sprintf("by %s, %s", s.Executor, c.Project.Name)}
	body := strings.TrimSpace(strings.Join(lines[:2], "\n")) + "\n" + lines[2]
	return &notify.End{ID: "ended-" + e.ProcessID, Title: word + ": " + c.Task.Title, Body: strings.TrimSpace(body), Asker: s.Executor, Place: c.Project.Name,
		URL: a.attemptURL(ctx, n, e.AttemptID), Failed: s.State == tasks.Failed}, nil
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
		base = serverAddress(up)
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
