package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/web"
)

// InboxAddr is the inbox's default address, used if no setting names one and the inbox
// has no earlier address.
const InboxAddr = "127.0.0.1:20311"

// inboxStation is the inbox on loopback, which any one of a machine's processes that share
// a store may serve. serverStation is a server that serves pages in addition to
// MCP.
const (
	inboxStation  = "inbox"
	serverStation = "web"
)

// peerGlance is how often a process checks whether another process still serves the
// inbox. The check is a loopback connection, which takes about 0.1 ms.
const peerGlance = time.Second

// peerGrace is how long requests in flight may take when the process that
// serves the inbox ends.
const peerGrace = time.Second

// peer serves the inbox, or stands by to take over when the process that serves it is
// gone. It takes over at the same address with the same token, so an open page
// continues to work.
type peer struct {
	app  *App
	log  *slog.Logger
	addr string // from the settings; if empty, the previous address or InboxAddr
}

// KeepInbox serves the inbox or stands by for the process that serves it. It runs until
// stop is called.
func (a *App) KeepInbox(ctx context.Context) (stop func(), err error) {
	return a.keepInbox(ctx, func(context.Context) {})
}

// AttendedHub returns the question hub. If attended is set, it also serves the inbox as
// [App.KeepInbox] does, until stop is called.
func (a *App) AttendedHub(ctx context.Context, attended bool) (hub *elicit.Hub, stop func(), err error) {
	hub, err = a.Hub(ctx)
	if err != nil || !attended {
		return hub, func() {}, err
	}
	stop, err = a.KeepInbox(ctx)
	return hub, stop, err
}

// keepInbox is like [App.KeepInbox], but begins when first has returned.
func (a *App) keepInbox(ctx context.Context, first func(context.Context)) (stop func(), err error) {
	people, err := a.config.People.Get()
	if err != nil {
		return nil, err
	}
	if _, err := a.config.Notices.Get(); err != nil {
		return nil, err
	}
	p := &peer{app: a, log: a.log}
	if people.Inbox != InboxAuto {
		p.addr = people.Inbox
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if first(ctx); ctx.Err() == nil {
			p.run(ctx)
		}
	})
	return func() { cancel(); running.Wait() }, nil
}

// questionAsked returns when a question of this store is open, or when ctx ends. Until
// then, a server over stdio opens no port. It leaves the store alone for the delay
// inboxAfter.
func (a *App) questionAsked(ctx context.Context) {
	pause(ctx, inboxAfter)
	for ctx.Err() == nil {
		open, err := a.awaitQuestion(ctx)
		if open || errors.Is(err, elicit.ErrClosed) {
			return
		}
		if err != nil && !errors.Is(err, store.ErrGone) && ctx.Err() == nil {
			a.log.Warn("cannot see whether a question is open", "error", err)
		}
		pause(ctx, peerGlance)
	}
}

// noQuestionYet is logged by a server that opens no port until a question is open.
const noQuestionYet = "the inbox opens a port when a question is open"

// awaitQuestion waits until a question is open. The error is [store.ErrGone] if the feed
// no longer has what followed the list; then call it again.
func (a *App) awaitQuestion(ctx context.Context) (open bool, err error) {
	hub, err := a.Hub(ctx)
	if err != nil {
		return false, err
	}
	list, err := hub.List(ctx, elicit.Filter{Statuses: []elicit.Status{elicit.Open}, Limit: 1})
	if err != nil || len(list.Requests) > 0 {
		return err == nil, err
	}
	w, err := hub.Watch(ctx, list.Seq, "")
	if err != nil {
		return false, err
	}
	defer w.Close()
	a.log.Debug(noQuestionYet)
	for {
		changes, err := w.Next(ctx)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(changes, func(c elicit.Change) bool { return c.Action.Type == elicit.Requested }) {
			return true, nil
		}
	}
}

// run alternates between standing by and serving the inbox until ctx ends.
func (p *peer) run(ctx context.Context) {
	for ctx.Err() == nil {
		addr, err := p.vacant(ctx)
		if err == nil && addr != "" {
			err = p.serve(ctx, addr)
		}
		if err != nil && ctx.Err() == nil {
			if errors.Is(err, elicit.ErrClosed) {
				return
			}
			p.log.Warn("cannot serve the inbox", "error", err)
		}
		pause(ctx, peerGlance)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// vacant returns the address at which to serve the inbox now, or "" if another
// process serves it.
func (p *peer) vacant(ctx context.Context) (addr string, err error) {
	hub, err := p.app.Hub(ctx)
	if err != nil {
		return "", err
	}
	up, err := hub.Reach(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range up {
		at := HostOf(s.Address)
		switch {
		case s.Elsewhere && (at == "" || s.Kind == inboxStation):
		case s.Kind == serverStation && p.addr == "" && Listening(ctx, at):
			return "", nil // a server already has the pages
		case s.Kind == inboxStation && (at == "" || Listening(ctx, at)):
			return "", nil
		case s.Kind == inboxStation:
			return p.wanted(at), nil // its process was killed, but its lease has not expired yet
		}
	}
	other, held, detach, err := hub.Attach(ctx, elicit.Station{Kind: inboxStation, Alone: true})
	if err != nil || !held {
		return "", err
	}
	detach() // serve attaches again once it listens
	return p.wanted(HostOf(other.Address)), nil
}

// wanted returns the address from the settings, or else the previous
// address or InboxAddr.
func (p *peer) wanted(before string) string {
	switch {
	case p.addr != "":
		return p.addr
	case before != "":
		return before
	}
	return InboxAddr
}

// HostOf returns the host and port of a station's address, or "" if it has none.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// Listening reports whether a process accepts connections at addr.
func Listening(ctx context.Context, addr string) bool {
	d := net.Dialer{Timeout: peerGlance}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// serve serves the inbox until ctx ends. If another process uses the address and no
// setting names it, serve picks a free port.
func (p *peer) serve(ctx context.Context, addr string) error {
	err := p.serveAt(ctx, addr)
	if f := fault.Of(err); f != nil && f.Code == "port_in_use" && p.addr == "" {
		if kept, e := p.vacant(ctx); e != nil || kept == "" {
			return e // another peer was faster
		}
		return p.serveAt(ctx, "127.0.0.1:0")
	}
	return err
}

func (p *peer) serveAt(ctx context.Context, addr string) error {
	token, _, err := p.app.token()
	if err != nil {
		return err
	}
	in, err := p.app.Visitors()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var announcing sync.WaitGroup
	defer announcing.Wait()
	defer cancel()
	pages := p.app.peoplePages(in, false)
	o := web.Options{
		Addr: addr, Token: token, People: in, Build: p.app.build(), Logger: p.log, Grace: peerGrace, Directory: directory{p.app},
		AllowedHosts: p.app.hosts(), AllowedOrigins: p.app.config.Origins,
		OnListen: func(at net.Addr) {
			address := "http://" + ShownAddr(addr, at)
			announcing.Go(func() { p.announce(ctx, address) })
			announcing.Go(func() { pages.notify(ctx, address) })
			announcing.Go(func() { pages.push(ctx) })
			announcing.Go(func() { pages.remind(ctx, address) })
			announcing.Go(func() { p.app.calendars(ctx) })
		},
	}
	pages.enter(&o)
	server, err := front(o)
	if err != nil {
		return err
	}
	return server.Serve(ctx)
}

// announce publishes the address until ctx ends. It may first have to wait for the lease
// of a killed process to expire.
func (p *peer) announce(ctx context.Context, address string) {
	for ctx.Err() == nil {
		hub, err := p.app.Hub(ctx)
		if err != nil {
			return
		}
		_, held, detach, err := hub.Attach(ctx, elicit.Station{Kind: inboxStation, Address: address, Public: p.app.config.PublicURL, Alone: true, Mail: p.app.sendsMail()})
		if err == nil && held {
			p.log.Info("inbox kept", "address", address)
			<-ctx.Done()
			detach()
			return
		}
		pause(ctx, peerGlance)
	}
}

// InboxAddress returns the inbox's current address for a browser, or "" if it has none.
func InboxAddress(up []elicit.Station) string {
	for _, kind := range []string{serverStation, inboxStation} {
		i := slices.IndexFunc(up, func(s elicit.Station) bool { return s.Kind == kind && s.Address != "" })
		if i >= 0 {
			return up[i].Address
		}
	}
	return ""
}

// AwaitInbox waits until the inbox is reachable, but no longer than the given
// duration. It returns the address, or "" if there is none.
func AwaitInbox(ctx context.Context, hub *elicit.Hub, most time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		up, err := hub.Reach(ctx)
		address := InboxAddress(up)
		if err != nil || address != "" && Listening(ctx, HostOf(address)) || ctx.Err() != nil {
			return address
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// InboxLink waits a moment for the inbox and returns the address of one of its pages, or
// "" if no process serves the inbox. If seen is true, only a person sees the link, and it
// contains a one-time sign-in code. If only servers of other machines have the pages, it
// is their public address, without a code, because they may have another key.
func (a *App) InboxLink(ctx context.Context, hub *elicit.Hub, path string, seen bool) string {
	address := AwaitInbox(ctx, hub, inboxComes)
	if address == "" {
		up, err := hub.Reach(ctx)
		if address = publicAddress(up); err != nil || address == "" {
			return ""
		}
		return address + path
	}
	if !seen {
		return address + path
	}
	in, err := a.Visitors()
	if err != nil {
		return address + path
	}
	return in.LoginLink(address, path)
}

// inboxOpens is the time in which this process has to serve the inbox, if no other does.
const inboxOpens = 5 * time.Second

// OfferInbox passes show a single-use link to the inbox. If no process serves the inbox,
// this process calls serves and then serves it until ctx ends.
func (a *App) OfferInbox(ctx context.Context, show func(link string) error, serves func()) error {
	hub, err := a.Hub(ctx)
	if err != nil {
		return err
	}
	in, err := a.Visitors()
	if err != nil {
		return err
	}
	up, err := hub.Reach(ctx)
	if err != nil {
		return err
	}
	if address := InboxAddress(up); address != "" && Listening(ctx, HostOf(address)) {
		return show(in.LoginLink(address, "/"))
	}
	leave, err := a.KeepInbox(ctx)
	if err != nil {
		return err
	}
	defer leave()
	address := AwaitInbox(ctx, hub, inboxOpens)
	if address == "" {
		return fault.New("no_inbox", "cannot serve the inbox", "run \"deskhand serve --http\", or stop the program that uses the address in the setting inbox")
	}
	if err := show(in.LoginLink(address, "/")); err != nil {
		return err
	}
	serves()
	<-ctx.Done()
	return nil
}
