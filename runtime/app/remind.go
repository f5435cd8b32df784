package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface/notify"
)

// remindEvery is how often a server looks for notifications of other processes whose event
// it has missed.
const remindEvery = time.Minute

// remind puts the notifications that routings want into the outbox until ctx ends. Each is a
// row that one process claims and deletes. If that process is killed in between, another does
// it again when the claim is over, with the same messages.
func (p *peoplePages) remind(ctx context.Context, address string) {
	hub, err := p.app.Hub(ctx)
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		err := p.remindLoop(ctx, hub, address)
		if errors.Is(err, store.ErrClosed) || errors.Is(err, elicit.ErrClosed) {
			return
		}
		if err != nil && ctx.Err() == nil {
			p.app.log.Warn("cannot send reminders", "error", err)
			pause(ctx, time.Second)
		}
	}
}

func (p *peoplePages) remindLoop(ctx context.Context, hub *elicit.Hub, address string) error {
	list, err := hub.List(ctx, elicit.Filter{Limit: 1}) // for its position in the feed
	if err != nil {
		return err
	}
	w, err := hub.Watch(ctx, list.Seq, "")
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		next, err := p.remindDue(ctx, hub, address)
		if err != nil {
			return err
		}
		if next <= 0 || next > remindEvery {
			next = remindEvery
		}
		if err := awaitRouted(ctx, w, next); err != nil {
			return err
		}
	}
}

// awaitRouted returns when a routing has changed or the time is over.
func awaitRouted(ctx context.Context, w *elicit.Watcher, most time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		changes, err := w.Next(wait)
		if wait.Err() != nil && ctx.Err() == nil {
			return nil
		}
		if err != nil {
			return err
		}
		if slices.ContainsFunc(changes, func(c elicit.Change) bool {
			return c.Action.Type == elicit.Routed || c.Action.Request != nil && c.Action.Request.Routing != nil
		}) {
			return nil
		}
	}
}

// remindDue stores all notifications that are due, and returns how long to wait at most.
func (p *peoplePages) remindDue(ctx context.Context, hub *elicit.Hub, address string) (time.Duration, error) {
	o, err := p.notices(ctx, address)
	if err != nil {
		return 0, err
	}
	for {
		n, ok, next, err := hub.NextNotice(ctx)
		if err != nil || !ok {
			return next, err
		}
		if left := o.Quiet.Left(time.Now()); n.Person == "" && left > 0 && n.Request.Priority != elicit.Urgent {
			if err := hub.Postpone(ctx, n, left); err != nil {
				return 0, err
			}
			continue
		}
		if err := p.remindOne(ctx, n, o, n.Lead(time.Now())); err != nil {
			return 0, err // another try follows when the claim is over
		}
		if err := hub.Sent(context.WithoutCancel(ctx), n); err != nil {
			return 0, err
		}
	}
}

// remindOne stores the messages of a notification in the outbox.
func (p *peoplePages) remindOne(ctx context.Context, n elicit.Notice, o notify.Options, why string) error {
	r := &n.Request
	a := notify.Announcement{Person: n.Person, Once: n.Key(), Lead: why}
	if a.Once == "" {
		a.Lead = "" // it is the announcement of the question, or the same as that
	}
	// The hook of all browsers is for new questions: here, each person has an own notification.
	o.Hooks = slices.DeleteFunc(slices.Clone(o.Hooks), func(h notify.Hook) bool { return h.Name() == pushWay })
	one := pushed{Title: r.Heading(), Body: why, Path: "/inbox/" + r.ID, Tag: r.ID}
	all := []notify.Announcement{a}
	if n.Person == "" && o.Personal != nil && p.app.mailsOwner(r) { // the owner's mail is a way that all share
		all = append(all, notify.Announcement{Person: elicit.Local, Once: a.Once, Lead: a.Lead})
	}
	return errors.Join(
		p.app.pushTo(ctx, a.OnceFor(r), r.ID, one, r.Priority, func() (func(person string) bool, error) {
			return func(person string) bool { return person == n.Person }, nil
		}),
		notify.Announce(ctx, o, r, all...))
}

// calendars fetches the calendars of rotas until ctx ends.
func (a *App) calendars(ctx context.Context) {
	for ctx.Err() == nil {
		r, err := a.Register(ctx)
		if err != nil {
			return
		}
		next, err := r.Refresh(ctx)
		if errors.Is(err, store.ErrClosed) {
			return
		}
		if err != nil && ctx.Err() == nil {
			a.log.Warn("cannot fetch calendars", "error", err)
			next = people.FetchEvery
		}
		pause(ctx, min(max(next, time.Second), time.Minute)) // a rota may be added at any time
	}
}
