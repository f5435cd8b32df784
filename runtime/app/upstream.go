package app

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

	"github.com/deskhand/deskhand/runtime/access"
	callroom "github.com/deskhand/deskhand/runtime/calls"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/gateway"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/web"
)

// upstreamPatience is how long serve waits at startup for upstreams that it has
// never connected to. If such an upstream answers later, its tools are added
// then.
const upstreamPatience = 5 * time.Second

// upstreamDoor holds this process's upstreams and serves the pages on which a person
// connects to them. The pages are served by this process's HTTP server if it has one.
// Otherwise, a separate server is started for them when a person is first asked.
type upstreamDoor struct {
	*gateway.Gateway
	app *App
	c   *Upstreams
	log *slog.Logger
	// calls runs tool calls that outlive their requests.
	calls *callroom.Runner

	// people are the gateways of people with names, which have only the upstreams that
	// are called with a person's credential. personal holds their options.
	persons  sync.Mutex
	closed   bool
	people   map[string]*personal
	personal gateway.Options
	relist   func() // tells clients that a person's tools have changed; nil until they are served

	mu    sync.Mutex
	base  string // the pages' base URL; empty while they are not served
	own   bool   // this process has no other HTTP server
	stop  func()
	ended sync.WaitGroup
}

// personal is the gateway of a person with a name.
type personal struct {
	*gateway.Gateway
	settled chan struct{} // closed when its lists are known, or after upstreamPatience
}

// door creates the gateway without connecting to any upstream. It returns nil if no
// upstream is configured. The gateway's questions belong to the given context. own
// reports whether the process has no other HTTP pages. person is whose credentials callers
// without a name use; empty means the owner's. changed is called after an
// upstream's tools have changed.
func (a *App) door(in elicit.Context, own bool, person string, changed func(), log *slog.Logger, open func(context.Context) (*elicit.Hub, *store.DB, error)) (*upstreamDoor, error) {
	c, err := a.config.Upstreams.Get()
	if err != nil || c == nil {
		return nil, err
	}
	people, err := a.config.People.Get()
	if err != nil {
		return nil, err
	}
	dir, err := a.config.StateDir.Get()
	if err != nil {
		return nil, err
	}
	d := &upstreamDoor{app: a, c: c, log: log, own: own, stop: func() {}}
	d.calls = callroom.New(callroom.Options{Open: open, Log: log})
	o := gateway.Options{
		Upstreams: c.All, StateDir: dir, Context: in, Version: a.config.Version, Log: log, Changed: changed, Base: d.address, Open: open,
		Disclosure: c.Disclosure, Index: NewToolFinder, Prefix: c.Prefix, Many: c.Many, Principal: person,
	}
	if people.WaitSet {
		o.Wait = people.Wait
	}
	o.For = d.of
	if d.Gateway, err = gateway.New(o); err != nil {
		return nil, err
	}
	o.Upstreams, o.Many, o.Changed, o.Disclosure = personalOf(c.All), "", d.personalChanged, gateway.DiscloseAll
	o.Of = d.Gateway
	d.personal = o
	return d, nil
}

// Upstreams returns the configured upstreams without connecting to them, for
// managing their credentials. It returns nil if there are none. The caller must call
// end to release them.
func (a *App) Upstreams(log *slog.Logger) (g *gateway.Gateway, end func(), err error) {
	d, err := a.door(a.asksFor(true), true, a.config.Person, nil, log, a.open)
	if err != nil || d == nil {
		return nil, nil, err
	}
	return d.Gateway, d.end, nil
}

// ForgeTokens returns the stored tokens of forges.
func (a *App) ForgeTokens(ctx context.Context) (*gateway.ForgeTokens, error) {
	dir, err := a.config.StateDir.Get()
	if err != nil {
		return nil, err
	}
	db, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	return gateway.NewForgeTokens(db, dir, a.log), nil
}

func (a *App) forgeToken(ctx context.Context, host string) (string, error) {
	tokens, err := a.ForgeTokens(ctx)
	if err != nil {
		return "", err
	}
	return tokens.Token(ctx, host)
}

// personalOf returns the upstreams that are called with a person's credential.
func personalOf(all []gateway.Upstream) (personal []gateway.Upstream) {
	for _, u := range all {
		if checked, err := gateway.Check(u); err == nil && checked.Scope == gateway.UserScope {
			personal = append(personal, u)
		}
	}
	return personal
}

// of returns the gateway of a person with a name, and creates it on first use. Nothing of
// it is shared with another person's: neither credentials nor connections.
func (d *upstreamDoor) of(person string) (*gateway.Gateway, error) {
	p, err := d.personOf(person)
	if err != nil {
		return nil, err
	}
	return p.Gateway, nil
}

func (d *upstreamDoor) personOf(person string) (*personal, error) {
	d.persons.Lock()
	defer d.persons.Unlock()
	if d.closed {
		return nil, elicit.ErrClosed
	}
	if p := d.people[person]; p != nil {
		return p, nil
	}
	o := d.personal
	o.Principal = person
	g, err := gateway.New(o)
	if err != nil {
		return nil, err
	}
	if d.people == nil {
		d.people = map[string]*personal{}
	}
	p := &personal{g, make(chan struct{})}
	d.people[person] = p
	g.Start(0)
	d.ended.Go(func() {
		defer close(p.settled)
		g.Settle(upstreamPatience)
	})
	return p, nil
}

// toolsOf implements [contract.Catalog.ToolsOf]: the tools that a person's own credentials
// give. If the model searches for tools, it finds these too, and none are listed.
func (d *upstreamDoor) toolsOf(ctx context.Context, person string) []contract.Tool {
	if d.Searches() {
		return nil
	}
	p := d.settledOf(ctx, person)
	if p == nil {
		return nil
	}
	return d.callable(p.Tools())
}

// elsewhereOf implements [contract.Catalog.ElsewhereOf].
func (d *upstreamDoor) elsewhereOf(ctx context.Context, person string) *contract.Elsewhere {
	if d.settledOf(ctx, person) == nil {
		return nil
	}
	all, err := d.ElsewhereOf(person)
	if err != nil {
		return nil // the server is closing
	}
	return all
}

// settledOf returns the gateway of a person when its lists are known, or nil if the server is
// closing.
func (d *upstreamDoor) settledOf(ctx context.Context, person string) *personal {
	p, err := d.personOf(person)
	if err != nil {
		return nil
	}
	select {
	case <-p.settled:
	case <-ctx.Done():
	}
	return p
}

// personalChanged is called when the tools of a person have changed.
func (d *upstreamDoor) personalChanged() {
	if d.relist != nil {
		d.relist()
	}
}

// met passes a client's capabilities to the upstreams before the client gets a list, and waits
// for the tools of its person.
func (d *upstreamDoor) met(ctx context.Context, l contract.Lends) {
	d.Met(ctx, l, upstreamPatience)
	if name := access.Of(ctx).Name; name != "" && len(d.personal.Upstreams) > 0 {
		d.settledOf(ctx, name)
	}
}

// Tools returns the gateway's tools. Their calls can outlive their requests.
func (d *upstreamDoor) Tools() []contract.Tool {
	return d.callable(d.Gateway.Tools())
}

// callable lets calls of tools outlive their requests, and opens the tools to who may ask.
func (d *upstreamDoor) callable(tools []contract.Tool) []contract.Tool {
	for i := range tools {
		tools[i] = d.calls.Later(tools[i])
		tools[i].Scope = access.Ask
	}
	return tools
}

// end closes the gateway and the server of its pages.
func (d *upstreamDoor) end() {
	if d == nil {
		return
	}
	d.calls.Close()
	d.persons.Lock()
	d.closed = true
	for _, g := range d.people {
		g.Close()
	}
	d.persons.Unlock()
	d.Close()
	d.mu.Lock()
	stop := d.stop
	d.mu.Unlock()
	stop()
	d.ended.Wait()
}

// enter mounts the pages on a front.
func (d *upstreamDoor) enter(o *web.Options) {
	if o.Shell == nil {
		o.Shell = newShell(o.People)
	}
	if at, err := url.Parse(d.c.URL); err == nil && at.Host != "" {
		o.AllowedHosts = append(slices.Clone(o.AllowedHosts), at.Hostname())
		if at.Scheme == "https" {
			o.Shell.TLSHost = at.Hostname()
		}
	}
	mount(o, d.Mounts(o.Shell, nil))
	mount(o, d.Public())
	o.Homeward = d.ComesBack
}

// at sets the front's base URL.
func (d *upstreamDoor) at(base string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.base = base
}

// address returns the pages' address for people.
func (d *upstreamDoor) address(ctx context.Context) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	public, addr := strings.TrimSuffix(d.c.URL, "/"), d.c.Addr
	switch {
	case d.base != "":
	case !d.own:
		return "", errors.New("the server is not listening yet")
	case public != "" && addr == "":
		// A proxy cannot find a random port, so only an HTTP server serves the
		// pages.
	default:
		err := d.listen(ctx, cmp.Or(addr, "127.0.0.1:0"))
		if neighbour := "http://" + addr; err != nil && addr != "" && servesConnect(ctx, neighbour) {
			return cmp.Or(public, neighbour), nil // until that process ends; the next call checks again
		}
		if err != nil {
			return "", err
		}
	}
	return cmp.Or(public, d.base), nil
}

// servesConnect reports whether another process serves the pages at the address that is
// meant for this process. Either process can serve the pages, because their data is in
// the store.
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

// listen starts a server only for the pages. The caller holds d.mu.
func (d *upstreamDoor) listen(ctx context.Context, addr string) error {
	token, _, err := d.app.token()
	if err != nil {
		return err
	}
	in, err := d.app.Visitors()
	if err != nil {
		return err
	}
	listening := make(chan net.Addr, 1)
	o := web.Options{Addr: addr, Token: token, People: in, Logger: d.log, AllowedHosts: d.app.config.Hosts,
		Ledger: d.app, Directory: directory{d.app}, Grace: time.Second, OnListen: func(at net.Addr) { listening <- at }}
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
		d.base, d.stop = "http://"+ShownAddr(addr, at), stop
		return nil
	case err := <-failed:
		stop()
		return err
	}
}

// lastPage is how long the server continues to run after an upstream is connected. In this
// time, the browser can load the confirmation page.
const lastPage = time.Second

// SignIn asks for a sign-in at an upstream, calls tell with the address to open in a browser,
// and returns the request when it has ended. If ctx ends, the request is withdrawn, because
// no process would be left to use the answer.
func (a *App) SignIn(ctx context.Context, g *gateway.Gateway, name string, tell func(link string)) (r elicit.Request, err error) {
	if r, err = g.Ask(ctx, name); err != nil {
		return r, err
	}
	in, err := a.Visitors()
	if err != nil {
		return r, err
	}
	base, path, _ := strings.Cut(r.URL, gateway.Path)
	tell(in.LoginLink(base, gateway.Path+path))
	hub, err := a.Hub(ctx)
	if err != nil {
		return r, err
	}
	r, err = hub.Wait(ctx, r.ID)
	if ctx.Err() != nil {
		_, _ = hub.Dispatch(context.WithoutCancel(ctx), elicit.Action{Type: elicit.Withdrawn, RequestID: r.ID, Reason: "asker_gone"})
	}
	if err == nil && r.Completion != nil && r.Completion.Channel == "web" {
		time.Sleep(lastPage)
	}
	return r, err
}
