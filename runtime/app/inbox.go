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
	"github.com/deskhand/deskhand/runtime/web"
)

// InboxAddr is where the inbox is if no setting says so and nothing else is
// there.
const InboxAddr = "127.0.0.1:20311"

// Stations of the inbox: the one that any process on a store may keep, on
// loopback, and those of servers that have pages beside MCP.
const (
	inboxStation  = "inbox"
	serverStation = "web"
)

// peerGlance is how often a process looks whether the inbox is still kept by
// another: it is a connection on loopback, some 0.1 ms.
const peerGlance = time.Second

// peerGrace is how long answers in flight may take when a process that keeps
// the inbox ends.
const peerGrace = time.Second

// peer keeps the inbox, or stands by to take over when the process that keeps
// it is gone: at the same address and with the same token, so that a page in a
// browser goes on as if nothing had happened.
type peer struct {
	app  *App
	log  *slog.Logger
	addr string // fixed by a setting; empty: that of before, or InboxAddr
}

// KeepInbox starts to serve the inbox, or to stand by for the process that
// serves it, once the delay after has passed. It runs until stop is called.
func (a *App) KeepInbox(ctx context.Context, after time.Duration) (stop func(), err error) {
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
		pause(ctx, after)
		p.run(ctx)
	})
	return func() { cancel(); running.Wait() }, nil
}

// run stands by and keeps the inbox in turn.
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

// vacant is where the inbox has to be kept now; empty: somebody does.
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
		case s.Kind == serverStation && p.addr == "" && Listening(ctx, at):
			return "", nil // a server's pages will do
		case s.Kind == inboxStation && (at == "" || Listening(ctx, at)):
			return "", nil
		case s.Kind == inboxStation:
			return p.wanted(at), nil // its process was killed, its lease has not lapsed
		}
	}
	other, held, detach, err := hub.Attach(ctx, elicit.Station{Kind: inboxStation, Alone: true})
	if err != nil || !held {
		return "", err
	}
	detach() // serve takes it when it listens
	return p.wanted(HostOf(other.Address)), nil
}

// wanted is the address of the settings, or else that of before.
func (p *peer) wanted(before string) string {
	switch {
	case p.addr != "":
		return p.addr
	case before != "":
		return before
	}
	return InboxAddr
}

// HostOf returns the host and port of a station's address; empty if it has
// none.
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

// serve keeps the inbox until ctx ends. An address that somebody else has is
// replaced by a free one, if it is not fixed by a setting.
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
		Addr: addr, Token: token, People: in, Build: p.app.build(), Logger: p.log, Grace: peerGrace,
		AllowedHosts: p.app.hosts(), AllowedOrigins: p.app.config.Origins,
		OnListen: func(at net.Addr) {
			address := "http://" + ShownAddr(addr, at)
			announcing.Go(func() { p.announce(ctx, address) })
			announcing.Go(func() { pages.notify(ctx, address) })
		},
	}
	pages.enter(&o)
	server, err := front(o)
	if err != nil {
		return err
	}
	return server.Serve(ctx)
}

// announce makes the address known until ctx ends. The lease of a process that
// was killed may have to lapse first.
func (p *peer) announce(ctx context.Context, address string) {
	for ctx.Err() == nil {
		hub, err := p.app.Hub(ctx)
		if err != nil {
			return
		}
		_, held, detach, err := hub.Attach(ctx, elicit.Station{Kind: inboxStation, Address: address, Alone: true})
		if err == nil && held {
			p.log.Info("inbox kept", "address", address)
			<-ctx.Done()
			detach()
			return
		}
		pause(ctx, peerGlance)
	}
}

// InboxAddress returns the inbox's current address in a browser; empty if it
// has none.
func InboxAddress(up []elicit.Station) string {
	for _, kind := range []string{serverStation, inboxStation} {
		i := slices.IndexFunc(up, func(s elicit.Station) bool { return s.Kind == kind && s.Address != "" })
		if i >= 0 {
			return up[i].Address
		}
	}
	return ""
}

// AwaitInbox waits briefly for the inbox to become reachable and returns its
// address; empty if it does not.
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
