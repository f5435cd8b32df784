package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/netguard"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/tasks"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/board"
	"github.com/deskhand/deskhand/runtime/webpush"
)

// pushFor is how long a push service keeps a message for a browser that is away.
const pushFor = 24 * time.Hour

// pushed is a push message, as the service worker reads it.
type pushed struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	Path  string `json:"path"` // on this server
	Tag   string `json:"tag"`  // a later message with the same tag replaces it
}

// subscriptions returns the browsers that want push messages.
func (a *App) subscriptions(ctx context.Context) (webpush.Subscriptions, error) {
	db, err := a.Store(ctx)
	return webpush.Subscriptions{DB: db}, err
}

// sender returns the sender of push messages. Its key is derived from the person's key.
// The addresses come from browsers, so the sender connects to no address on this
// machine's network.
func (p *peoplePages) sender() (*webpush.Sender, error) {
	s, err := webpush.New(web.Key(p.in.Key, "push"))
	if err != nil {
		return nil, err
	}
	s.Contact = "https://github.com/deskhand/deskhand"
	s.Client = &http.Client{Transport: netguard.Guard{}.Transport(), Timeout: 15 * time.Second}
	return s, nil
}

// push sends push messages about new questions and ended attempts until ctx ends.
func (p *peoplePages) push(ctx context.Context) {
	sender, err := p.sender()
	if err != nil {
		return // creating the pages has already reported the error
	}
	p.pushWith(ctx, sender)
}

func (p *peoplePages) pushWith(ctx context.Context, sender *webpush.Sender) {
	hub, err := p.app.Hub(ctx)
	if err != nil {
		return
	}
	n, err := p.app.config.Notices.Get()
	if err != nil {
		return // startup has already reported the error
	}
	hook := notify.HookTo("push", func(ctx context.Context, m notify.Message) error {
		one := pushed{Title: m.Title, Body: m.Body, Path: "/", Tag: "deskhand"}
		if m.ID != "" {
			one.Path, one.Tag = "/inbox/"+m.ID, m.ID
		}
		return p.deliver(ctx, sender, one, m.Priority)
	})
	done := make(chan struct{})
	defer func() { <-done }()
	go func() {
		defer close(done)
		if p.withWork {
			p.pushEnds(ctx, sender, n.Quiet)
		}
	}()
	notify.Run(ctx, notify.Options{Hub: hub, Hooks: []notify.Hook{hook}, Quiet: n.Quiet, Log: p.app.log,
		First: func(ctx context.Context, id string, until time.Time) (bool, error) {
			return p.app.Once(ctx, "push/"+id, until)
		},
		Page:    func(string) string { return "" },
		Choices: func(*elicit.Request) []notify.Choice { return nil }})
}

// deliver sends a message to all browsers, and forgets those that have unsubscribed.
func (p *peoplePages) deliver(ctx context.Context, sender *webpush.Sender, m pushed, priority elicit.Priority) error {
	all, err := p.app.subscriptions(ctx)
	if err != nil {
		return err
	}
	browsers, err := all.All(ctx)
	if err != nil || len(browsers) == 0 {
		return err
	}
	m.Title, m.Body = textutil.Shorten(m.Title, 200), textutil.Shorten(m.Body, 500)
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	urgency := webpush.Urgency("high")
	if priority == elicit.Low {
		urgency = "normal"
	}
	var failed error
	for _, one := range browsers {
		err := sender.Send(ctx, one, data, urgency, pushFor)
		if errors.Is(err, webpush.ErrGone) {
			err = all.Drop(ctx, one.Endpoint)
		}
		if err != nil {
			failed = fmt.Errorf("%w: %w", notify.ErrAway, err)
		}
	}
	return failed
}

// pushEnds sends a message for each attempt that ends outside of quiet hours, until
// ctx ends or the store is closed.
func (p *peoplePages) pushEnds(ctx context.Context, sender *webpush.Sender, quiet notify.Quiet) {
	m, err := p.app.Work(ctx)
	if err != nil {
		return
	}
	for {
		err := p.followEnds(ctx, m, sender, quiet)
		if ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
			return
		}
		p.app.log.Warn("cannot follow the ends of attempts", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

func (p *peoplePages) followEnds(ctx context.Context, m *tasks.Manager, sender *webpush.Sender, quiet notify.Quiet) error {
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
			if e.Type != tasks.ProcessEnded || quiet.Now() {
				continue
			}
			if err := p.pushEnd(ctx, m, sender, e); err != nil && ctx.Err() == nil {
				p.app.log.Warn("cannot push the end of an attempt", "attempt_id", e.AttemptID, "error", err)
			}
		}
	}
}

// If an event ended its attempt, pushEnd sends a message. Only one of all processes
// sends it. A person who stopped an attempt is not told.
func (p *peoplePages) pushEnd(ctx context.Context, m *tasks.Manager, sender *webpush.Sender, e tasks.Event) error {
	s, err := m.Status(ctx, e.AttemptID)
	if err != nil || !s.State.Ended() || s.Failure == string(tasks.Killed) {
		return err
	}
	t, err := m.Task(ctx, s.TaskID)
	if err != nil {
		return err
	}
	first, err := p.app.Once(ctx, "push/end/"+e.ProcessID, time.Now().Add(pushFor))
	if err != nil || !first {
		return err
	}
	word := "The attempt has ended: "
	if s.State == tasks.Failed {
		word = "The attempt has failed: "
	}
	return p.deliver(ctx, sender, pushed{Title: word + textutil.Plain(t.Title), Body: s.Executor, Path: board.AttemptPath(e.AttemptID), Tag: e.AttemptID}, elicit.Normal)
}
