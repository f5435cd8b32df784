package app

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/surface/mail"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/inbox"
)

// Outbox returns the messages that are to be sent to people.
func (a *App) Outbox(ctx context.Context) (*outbox.Box, error) {
	db, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	return outbox.In(db), nil
}

// hooks returns the configured hooks, and a hook for Slack for messages about attempts.
func (a *App) hooks() (n Notices, all []notify.Hook, err error) {
	token, _, err := a.token()
	if err != nil {
		return n, nil, err
	}
	if n, err = a.config.Notices.Get(); err != nil {
		return n, nil, err
	}
	for _, h := range n.Hooks { // programs that check the signature have the token
		all = append(all, h.Signed(web.Key(token, "webhook")))
	}
	return n, all, nil
}

// notify stores notices of new questions until ctx ends, and sends them. address is the base
// URL of the pages.
func (p *peoplePages) notify(ctx context.Context, address string) {
	o, err := p.notices(ctx, address)
	if err != nil {
		p.app.log.Warn("cannot notify people of questions", "error", err)
		return
	}
	sending := make(chan struct{})
	defer func() { <-sending }()
	go func() { defer close(sending); p.app.sendNotices(ctx) }()
	notify.Run(ctx, o)
}

// notices returns the options of notices of questions.
func (p *peoplePages) notices(ctx context.Context, address string) (o notify.Options, err error) {
	n, hooks, err := p.app.hooks()
	if err != nil {
		return o, err
	}
	hub, err := p.app.Hub(ctx)
	if err != nil {
		return o, err
	}
	box, err := p.app.Outbox(ctx)
	if err != nil {
		return o, err
	}
	if n.Base != "" {
		address = n.Base
	}
	o = notify.Options{Hub: hub, Box: box, Hooks: append(hooks, p.app.pushHook(p.in.Key)), Quiet: n.Quiet, FollowUp: n.FollowUp, Follow: []string{mail.Way}, Log: p.app.log,
		Page: func(id string) string {
			home := p.in.Home(address)
			if id == "" {
				return home + "/"
			}
			return home + "/inbox/" + id
		},
		Choices: func(r *elicit.Request) (all []notify.Choice) {
			for _, c := range inbox.AnswerLinks(web.Key(p.in.Key, "answers"), r) {
				all = append(all, notify.Choice{Label: c.Label, URL: address + c.Path})
			}
			return all
		}}
	if n.Mail != nil {
		o.People, o.Personal = p.app.mailedFor, func(_ context.Context, r *elicit.Request, a notify.Announcement) ([]outbox.New, error) {
			return mailOf(r, a, mailBody{Page: o.Page(r.ID), Links: address + "/mail/"})
		}
	}
	return o, nil
}

// sendNotices sends the messages of the outbox by all ways that this process has, until ctx
// ends. Several of an installation's processes may do so, each of them once: a server of work
// and questions calls this for both, and the second call waits to take over.
func (a *App) sendNotices(ctx context.Context) {
	select {
	case a.sending <- struct{}{}:
		defer func() { <-a.sending }()
	case <-ctx.Done():
		return
	}
	ways, err := a.ways(ctx)
	if err != nil {
		return // startup has already reported the error
	}
	hub, err := a.Hub(ctx)
	if err != nil {
		return
	}
	box, err := a.Outbox(ctx)
	if err != nil {
		return
	}
	_, hooks, _ := a.hooks() // ways has reported the error
	n, _ := a.config.Notices.Get()
	box.Run(ctx, outbox.Options{Ways: ways, Log: a.log, Sent: func(ctx context.Context, m outbox.Message) {
		// The question may have ended while the message about it was sent.
		r, err := hub.Get(ctx, m.Request)
		if err != nil || r.Status != elicit.Completed || m.Reason == outbox.Ended {
			return
		}
		o := notify.Options{Box: box, Hooks: hooks, FollowUp: n.FollowUp, Follow: []string{mail.Way}}
		if err := notify.Over(ctx, o, r.ID, &r); err != nil && ctx.Err() == nil {
			a.log.Warn("cannot store a notification", "elicitationId", r.ID, "error", err)
		}
	}})
}

// ways returns the senders of all ways of this installation. A new way is one line here.
func (a *App) ways(ctx context.Context) ([]outbox.Way, error) {
	n, hooks, err := a.hooks()
	if err != nil {
		return nil, err
	}
	hub, err := a.Hub(ctx)
	if err != nil {
		return nil, err
	}
	in, err := a.Visitors()
	if err != nil {
		return nil, err
	}
	surfaces, err := a.config.Surfaces.Get()
	if err != nil {
		return nil, err
	}
	all := notify.Ways(hub, append(hooks, a.pushHook(in.Key)))
	all = append(all, a.browsers(in.Key))
	if surfaces.Slack != nil {
		all = append(all, notify.Ways(hub, []notify.Hook{a.slackHook(*surfaces.Slack)})...)
	}
	if n.Mail != nil {
		all = append(all, outbox.Way{Name: mail.Way, Send: a.sendMail})
	}
	return all, nil
}

// Delivery is the state of the ways to people.
type Delivery struct {
	Waiting, Dead int    // messages
	Server        string // the mail server; empty if there is none
	Trouble       error  // why the mail server cannot be used
}

// Delivery connects to the mail server, if there is one, and counts messages.
func (a *App) Delivery(ctx context.Context) (d Delivery, err error) {
	n, err := a.config.Notices.Get()
	if err != nil {
		return d, err
	}
	box, err := a.Outbox(ctx)
	if err != nil {
		return d, err
	}
	counts, err := box.Counts(ctx)
	for _, states := range counts {
		d.Waiting, d.Dead = d.Waiting+states[outbox.Waiting], d.Dead+states[outbox.Dead]
	}
	if n.Mail != nil {
		d.Server, d.Trouble = n.Mail.Server.Host, n.Mail.Check(ctx)
	}
	return d, err
}

// outboxTime is how long /metrics and doctor wait for the outbox.
const outboxTime = 5 * time.Second

// outboxSamples returns the number of messages of the outbox, for /metrics.
func (a *App) outboxSamples() (list []web.Sample) {
	ctx, cancel := context.WithTimeout(context.Background(), outboxTime)
	defer cancel()
	box, err := a.Outbox(ctx)
	if err != nil {
		return nil
	}
	counts, err := box.Counts(ctx)
	if err != nil {
		a.log.Warn("cannot read the outbox for /metrics", "error", err)
	}
	for way, states := range counts {
		for _, state := range []outbox.State{outbox.Waiting, outbox.Dead, outbox.Sent, outbox.Dropped} {
			list = append(list, web.Sample{Name: "deskhand_outbox_messages", Help: "Messages to people, by way and state: waiting, dead, or sent and dropped in the last week.",
				Labels: map[string]string{"way": way, "state": string(state)}, Value: float64(states[state]), Gauge: true})
		}
	}
	return list
}
