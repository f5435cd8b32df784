package app

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/board"
	"github.com/deskhand/deskhand/runtime/web/searchpage"
)

// httpServer is a server with its HTTP front.
type httpServer struct {
	*server
	where      string // note on where the token is stored; empty if it is configured or not required
	pages      *peoplePages
	announcing sync.WaitGroup
}

// serveHTTP serves until ctx ends, then waits for the calls in flight.
func (s *server) serveHTTP(ctx context.Context) error {
	h := &httpServer{server: s}
	ctx, stop := context.WithCancel(ctx)
	defer h.announcing.Wait()
	defer stop()
	agents, err := s.openAgents(ctx, s.NoToken)
	if err != nil {
		return err
	}
	defer agents.end()
	o, err := h.front(ctx)
	if err != nil {
		return err
	}
	h.enter(&o)
	agents.mount(&o)
	if s.asks() || s.has("work") {
		s.mountChat(&o)
	}
	o.Ready = s.ready
	o.OnListen = func(at net.Addr) { h.listening(ctx, &o, at) }
	o.Public = s.config.PublicURL
	if at, err := url.Parse(s.config.PublicURL); err == nil && at.Scheme == "https" && o.Shell != nil {
		o.Shell.TLSHost = at.Hostname()
	}
	if err := s.behind(&o); err != nil {
		return err
	}
	server, err := front(o)
	if err != nil {
		return err
	}
	return server.Serve(ctx)
}

// behind lets a front be reached at BaseURL. Its own pages may call it from there, even if
// the proxy does not pass on the Host header.
func (a *App) behind(o *web.Options) error {
	if a.config.BaseURL == "" {
		return nil
	}
	if err := web.CheckBase(a.config.BaseURL); err != nil {
		return err
	}
	base, err := url.Parse(a.config.BaseURL)
	if err != nil {
		return err
	}
	o.Base = base
	o.AllowedHosts = append(slices.Clip(o.AllowedHosts), base.Hostname())
	o.AllowedOrigins = append(slices.Clip(o.AllowedOrigins), base.Scheme+"://"+base.Host)
	if base.Scheme == "https" && o.Shell != nil {
		o.Shell.TLSHost = base.Hostname()
	}
	return nil
}

// front returns the front's options, which decide who may connect.
func (h *httpServer) front(ctx context.Context) (o web.Options, err error) {
	o = web.Options{
		Addr: h.Addr, NoToken: h.NoToken,
		AllowedHosts: h.hosts(), AllowedOrigins: h.config.Origins,
		Mounts: map[string]http.Handler{"/mcp": h.lib.server.Handler()},
		Places: h.places,
		Build:  h.build(), Logger: h.log, Ledger: h.App, Directory: directory{h.App},
		OnShutdown: func() {
			if err := h.lib.server.Close(context.WithoutCancel(ctx)); err != nil {
				h.log.Warn("not all sessions ended in time", "error", err)
			}
		},
	}
	if !h.NoToken {
		if o.Token, h.where, err = h.token(); err != nil {
			return o, err
		}
	}
	if o.People, err = h.Visitors(); err != nil {
		return o, err
	}
	if h.people, err = h.config.People.Get(); err != nil {
		return o, err
	}
	if err := h.signIn(&o); err != nil {
		return o, err
	}
	_, err = h.config.Notices.Get()
	return o, err
}

// enter mounts the pages of the served groups on a front.
func (h *httpServer) enter(o *web.Options) {
	if h.asks() && h.people.Inbox != InboxOff {
		h.pages = h.peoplePages(o.People, h.has("work"))
		h.pages.enter(o)
	}
	if h.has("work") {
		h.boardPage(o, h.pages)
		o.Samples = func() []web.Sample { return append(h.usageSamples(), h.outboxSamples()...) }
	} else if h.pages != nil {
		o.Samples = h.outboxSamples
	}
	if h.lib.hasDocs() {
		h.searchPage(o, h.lib)
	}
	h.manualPages(o)
	if h.lib.door != nil {
		h.lib.door.enter(o)
	}
}

// listening reports the pages' addresses once the server accepts connections.
func (h *httpServer) listening(ctx context.Context, o *web.Options, at net.Addr) {
	here := "http://" + ShownAddr(h.Addr, at)
	base := cmp.Or(strings.TrimSuffix(h.config.BaseURL, "/"), here)
	if h.lib.door != nil {
		h.lib.door.at(base)
	}
	h.Tell(fmt.Sprintf("serving MCP at %s/mcp%s", base, h.where))
	if to, ok := at.(*net.TCPAddr); ok && !to.IP.IsLoopback() && h.config.BaseURL == "" && h.config.PublicURL == "" {
		h.Tell("other machines reach this server without encryption: tokens and answers can be read on the network; put a proxy with TLS before it, see deskhand help serve-a-team")
	}
	if h.pages != nil && h.people.HasInbox() {
		h.announcing.Go(func() {
			if !h.storeComes(ctx) {
				return
			}
			for _, job := range []func(){
				func() { h.pages.announce(ctx, here) },
				func() { h.pages.notify(ctx, base) },
				func() { h.pages.push(ctx) },
				func() { h.pages.remind(ctx, base) },
				func() { h.calendars(ctx) },
			} {
				h.announcing.Go(job)
			}
		})
	}
	h.tellPage(base, o.People)
}

// hosts lists the host names accepted in requests, in addition to this machine's names.
func (a *App) hosts() []string {
	hosts := a.config.Hosts
	if u, err := url.Parse(a.config.PublicURL); err == nil && u.Hostname() != "" {
		hosts = append(hosts[:len(hosts):len(hosts)], u.Hostname())
	}
	return hosts
}

// tellPage prints the address of the first page for people, if there is one. If only a
// person sees the output, the address contains a one-time sign-in link.
func (h *httpServer) tellPage(base string, in web.People) {
	name, path := "inbox", "/"
	switch {
	case h.pages != nil:
	case h.has("work"):
		name, path = "board", board.Path
	case h.lib.hasDocs():
		name, path = "search page", searchpage.Path
	default:
		return
	}
	link := base + path
	if h.Seen {
		link = in.LoginLink(base, path)
	}
	h.Tell(name + " at " + link)
}

// ShownAddr returns the address to show people: the host they configured, with
// the port actually in use.
func ShownAddr(asked string, at net.Addr) string {
	host, _, err := net.SplitHostPort(asked)
	_, port, atErr := net.SplitHostPort(at.String())
	switch {
	case err != nil || atErr != nil:
		return at.String()
	case host == "" || net.ParseIP(host).IsUnspecified():
		host = "127.0.0.1" // a browser opens no address that means all of them
	}
	return net.JoinHostPort(host, port)
}
