package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	callroom "github.com/deskhand/deskhand/runtime/calls"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/gateway"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/web"
)

// upstreamPatience is how long serve waits, at its start, for upstreams that it
// has never seen; their tools are listed when they answer later.
const upstreamPatience = 5 * time.Second

// upstreamDoor is the upstreams of this process and the pages on which a person connects
// to them: on the server that this process is, or else on one of its own that
// is started when somebody is first asked.
type upstreamDoor struct {
	*gateway.Gateway
	app  *app
	room *peopleRoom
	log  *slog.Logger
	// calls keeps those of its tools that outlive their requests.
	calls *callroom.Keeper

	mu    sync.Mutex
	base  string // of the pages; empty: nobody serves them yet
	own   bool   // this process serves nothing else over HTTP
	stop  func()
	ended sync.WaitGroup
}

// door makes the gateway, and connects to nobody. Nil: no upstream is
// configured. Its requests belong to in; own says that the process serves no
// pages over HTTP. changed is called when its tools have.
func (a *app) door(room *peopleRoom, in elicit.Context, own bool, changed func(), log *slog.Logger) (*upstreamDoor, error) {
	all, err := a.settings.upstreams()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	people, err := a.people()
	if err != nil {
		return nil, err
	}
	dir, err := a.settings.stateFolder()
	if err != nil {
		return nil, err
	}
	if err := a.checkConnect(); err != nil {
		return nil, err
	}
	disclosure, err := a.disclosure()
	if err != nil {
		return nil, err
	}
	prefix, err := a.toolPrefix()
	if err != nil {
		return nil, err
	}
	d := &upstreamDoor{app: a, room: room, log: log, own: own, stop: func() {}}
	open := func(ctx context.Context) (*elicit.Hub, *store.DB, error) {
		hub, _, err := room.open(ctx)
		return hub, room.db, err
	}
	d.calls = callroom.New(callroom.Options{Open: open, Log: log})
	o := gateway.Options{
		Upstreams: all, StateDir: dir, Context: in, Version: buildVersion(), Log: log, Changed: changed, Base: d.address, Open: open,
		Disclosure: disclosure, Index: newToolFinder, Prefix: prefix,
	}
	if a.settings.get("gateway.people") == peopleMany {
		o.Many = "gateway.people is many, by " + a.settings.origin("gateway.people")
	}
	if a.settings.given("elicitation.timeout") {
		o.Wait = people.wait
	}
	d.Gateway, err = gateway.New(o)
	return d, err
}

// disclosure is how a model learns of the tools of upstreams.
func (a *app) disclosure() (gateway.Disclosure, error) {
	switch d := gateway.Disclosure(a.settings.get("gateway.disclosure")); d {
	case gateway.DiscloseAll, gateway.DiscloseSearch, gateway.DiscloseAuto:
		return d, nil
	}
	return "", a.settings.wrong("gateway.disclosure", "not all, search or auto", "use auto to show up to 40 tools and search more")
}

// met has the upstreams know what a client lends, before it gets a list.
func (d *upstreamDoor) met(ctx context.Context, l contract.Lends) {
	d.Met(ctx, l, upstreamPatience)
}

// checkConnect refuses addresses that nobody could be led to.
func (a *app) checkConnect() error {
	if addr := a.settings.get("connect.address"); addr != "" {
		if web.CheckAddr(addr) != nil {
			return a.settings.wrong("connect.address", "not HOST:PORT", "write it as 127.0.0.1:20312")
		}
	}
	if at := a.settings.get("connect.url"); at != "" {
		if u, err := url.Parse(at); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return a.settings.wrong("connect.url", "not an address", "write it as https://desk.example.com")
		}
	}
	return nil
}

// Tools are those of the gateway. Their calls can outlive their requests.
func (d *upstreamDoor) Tools() []contract.Tool {
	tools := d.Gateway.Tools()
	for i := range tools {
		tools[i] = d.calls.Later(tools[i])
	}
	return tools
}

// end closes the gateway and what it was served by.
func (d *upstreamDoor) end() {
	if d == nil {
		return
	}
	d.calls.Close()
	d.Close()
	d.mu.Lock()
	stop := d.stop
	d.mu.Unlock()
	stop()
	d.ended.Wait()
}

// enter puts the pages behind a front.
func (d *upstreamDoor) enter(o *web.Options) {
	if o.Shell == nil {
		o.Shell = newShell(o.People)
	}
	if at, err := url.Parse(d.app.settings.get("connect.url")); err == nil && at.Host != "" {
		o.AllowedHosts = append(slices.Clone(o.AllowedHosts), at.Hostname())
		if at.Scheme == "https" {
			o.Shell.TLSHost = at.Hostname()
		}
	}
	mount(o, d.Mounts(o.Shell, nil))
	mount(o, d.Public())
	o.Homeward = d.ComesBack
}

// at says where the front is found.
func (d *upstreamDoor) at(base string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.base = base
}

// address is where people find the pages.
func (d *upstreamDoor) address(ctx context.Context) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	public, addr := strings.TrimSuffix(d.app.settings.get("connect.url"), "/"), d.app.settings.get("connect.address")
	switch {
	case d.base != "":
	case !d.own:
		return "", errors.New("the server does not listen yet")
	case public != "" && addr == "":
		// No proxy finds a port that is any: a server over HTTP has the pages.
	default:
		err := d.listen(ctx, cmp.Or(addr, "127.0.0.1:0"))
		if neighbour := "http://" + addr; err != nil && addr != "" && servesConnect(ctx, neighbour) {
			return cmp.Or(public, neighbour), nil // until it ends; then it is looked again
		}
		if err != nil {
			return "", err
		}
	}
	return cmp.Or(public, d.base), nil
}

// servesConnect says that another process has the pages at an address that this
// one was to have. Whichever has them does: what they need is in the store.
func servesConnect(ctx context.Context, base string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+gateway.Path+"client.json", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// listen serves the pages alone. d.mu is held.
func (d *upstreamDoor) listen(ctx context.Context, addr string) error {
	token, _, err := d.app.token(d.log)
	if err != nil {
		return err
	}
	in, err := d.app.comeIn(d.log)
	if err != nil {
		return err
	}
	listening := make(chan net.Addr, 1)
	o := web.Options{Addr: addr, Token: token, People: in, Logger: d.log, AllowedHosts: d.app.settings.list("allow-host"),
		Ledger: d.room, Grace: time.Second, OnListen: func(at net.Addr) { listening <- at }}
	d.enter(&o)
	server, err := front(o)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	failed := make(chan error, 1)
	d.ended.Go(func() { failed <- server.Serve(serving) })
	select {
	case at := <-listening:
		d.base, d.stop = "http://"+shownAddr(addr, at), stop
		return nil
	case err := <-failed:
		stop()
		return err
	}
}
