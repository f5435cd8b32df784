// Package web is the HTTP front. It listens, decides who has access, limits the
// resources that callers use, and passes requests to the handlers mounted on
// it. It does not depend on the handlers' protocols.
//
// It is closed by default. A page in a browser on this machine can reach a
// loopback port, so three checks run before every handler. The Host must be
// this server's, because an attacker's name can resolve to this machine. If
// there is an Origin, it must be this server's. The caller must have the level
// that Options.Access requires for the route. A program has the agents' token;
// a person has another secret. Routes without an entry are for people.
package web

import (
	"cmp"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Options configures a Server. Either Token or NoToken is required. If Shell is
// set, People is required too. For all other fields, the zero value means a
// default.
type Options struct {
	// Addr is the address to listen on, host:port. If the port is 0, the system
	// selects a free port. If the host is empty, the server listens on every
	// interface. If Addr is empty, it is 127.0.0.1:20310.
	Addr string
	// Token is the token that agents send as "Authorization: Bearer ...".
	Token string
	// NoToken makes the server treat every caller as an agent. It is allowed
	// only on loopback. People still have to sign in.
	NoToken bool
	// People configures how people sign in. With the zero value, nobody can
	// sign in.
	People People
	// AllowedHosts lists additional names, without a port, that the Host header
	// may contain. Loopback names, and the address that the client has
	// connected to, are always allowed.
	AllowedHosts []string
	// AllowedOrigins lists additional origins whose pages may call this server,
	// for example https://inspector.example. The server's own origin is always
	// allowed.
	AllowedOrigins []string

	// Base is the address at which browsers and clients reach this server behind a
	// proxy, for example https://example.org/deskhand. The proxy may remove its path
	// from requests or keep it. If nil, the server is reached directly, or at the root
	// of a host.
	Base *url.URL

	// Public is the address at which other devices reach the pages. If it is empty, it
	// is the request's.
	Public string

	// Mounts holds the handlers by path: "/mcp" matches only that path, "/inbox/"
	// everything below it. Handlers check methods themselves.
	Mounts map[string]http.Handler
	// Access holds what each mount requires, by path. Mounts without an entry are for
	// people, and for administrators among those with names. Entries without a mount
	// are allowed.
	Access map[string]access.Rule
	// Shell renders the pages for people. The server also serves its static files
	// and the sign-in page, and redirects browsers without access there. If nil,
	// there are no pages.
	Shell *page.Shell
	// Ledger records which links were used and which sessions have ended. If it
	// is nil, only this process remembers them.
	Ledger Ledger
	// Directory knows the people with names. If nil, there are none.
	Directory Directory
	// Provider signs people in with an identity provider. If nil, there is none.
	Provider *Provider
	// Proxy signs people in with a header. With the zero value, there is none.
	Proxy Proxy
	// Homeward reports whether to redirect a browser that has not signed in here to
	// the host name that sessions belong to, because its request shows something
	// that only the person's browser has. If nil, such browsers are not redirected.
	Homeward func(*http.Request) bool
	// Build is the program information in /healthz, for example name and version.
	Build map[string]string
	// Ready returns nil if requests can be answered. Otherwise it returns the
	// reason. If Ready is nil, the server is always ready.
	Ready func() error
	// Registry holds the metrics for /metrics. The server adds its own metrics
	// to it. If Registry is nil, the server creates one.
	Registry *prometheus.Registry
	// Samples returns more counters for /metrics each time it is read. It may be nil.
	Samples func() []Sample
	// Logger receives messages for the operator. If nil, they are discarded.
	Logger *slog.Logger
	// OnListen is called with the address as soon as connections are accepted.
	OnListen func(net.Addr)
	// OnShutdown is called when the server stops accepting connections. It
	// should end streams. It runs concurrently with the running requests.
	OnShutdown func()

	// MaxHeaderBytes is the maximum size of a request's header. Zero means 64
	// KiB.
	MaxHeaderBytes int
	// MaxBodyBytes is the maximum size of a request's body. Zero means 16 MiB.
	// A handler may have a lower limit.
	MaxBodyBytes int64
	// MaxBodiesBytes is the maximum total size of the bodies of running
	// requests. Bodies of 64 KiB or less do not count. If a request would
	// exceed the limit, it waits for BodyWait and is then refused with 503.
	// Zero means 32 MiB. The limit is at least MaxBodyBytes.
	MaxBodiesBytes int64
	// BodyWait is how long a request waits for the bodies of other requests.
	// Zero means 5 seconds.
	BodyWait time.Duration
	// HeaderTime is how long a header may take to arrive. Zero means 10
	// seconds.
	HeaderTime time.Duration
	// BodyTime is how long a body may take to arrive. Zero means 30 seconds.
	BodyTime time.Duration
	// StrangerTime replaces BodyTime on routes that are open to anyone. Zero
	// means 5 seconds.
	StrangerTime time.Duration
	// WriteTime is how long a client may take to read each piece of an answer.
	// Streams may be silent for longer. Zero means 30 seconds.
	WriteTime time.Duration
	// IdleTime is how long a connection may have no request before it is
	// closed. Zero means 2 minutes.
	IdleTime time.Duration
	// Places limits the requests that are held, and Held lists the mounts whose
	// requests are. Handlers may take places themselves. If Places is nil, there
	// are as many as memory allows.
	Places *Places
	Held   map[string]bool
	// MaxConns is the maximum number of open connections. At the limit, a new
	// connection replaces one that is idle or serves a stranger. If all
	// connections serve agents and people, the new connection waits. Zero means
	// an eighth more than Places, but at least 64 more.
	MaxConns int
	// Grace is how long running requests may continue at shutdown. Zero means
	// 10 seconds.
	Grace time.Duration
}

// Server is an HTTP front. Use New to create one.
type Server struct {
	opts      Options
	metrics   *metrics
	handler   http.Handler
	tries     tries // keys tried on the sign-in page
	wrong     tries // wrong secrets from programs
	flows     tries // sign-ins with a provider that were begun here and did not succeed
	links     tries // wrong sign-in links, and returns from a provider, that are in the audit log
	lasting   lasting
	loginPage *template.Template
	bodies    *semaphore.Weighted // remaining budget for the running requests' bodies, in bytes
}

// New checks the options and returns a server. Its errors are faults. The code
// is "token_required" if anyone could get access without a token, and
// "bad_address" if Addr has no host and port.
func New(opts Options) (*Server, error) {
	opts.Addr = cmp.Or(opts.Addr, "127.0.0.1:20310")
	opts.MaxHeaderBytes = cmp.Or(opts.MaxHeaderBytes, 64<<10)
	opts.MaxBodyBytes = cmp.Or(opts.MaxBodyBytes, 16<<20)
	opts.MaxBodiesBytes = max(cmp.Or(opts.MaxBodiesBytes, 32<<20), opts.MaxBodyBytes)
	opts.BodyWait = cmp.Or(opts.BodyWait, 5*time.Second)
	opts.HeaderTime = cmp.Or(opts.HeaderTime, 10*time.Second)
	opts.BodyTime = cmp.Or(opts.BodyTime, 30*time.Second)
	opts.StrangerTime = cmp.Or(opts.StrangerTime, 5*time.Second)
	opts.WriteTime = cmp.Or(opts.WriteTime, 30*time.Second)
	opts.IdleTime = cmp.Or(opts.IdleTime, 2*time.Minute)
	if opts.Places == nil {
		opts.Places = NewPlaces(0)
	}
	opts.MaxConns = cmp.Or(opts.MaxConns, opts.Places.conns())
	opts.Grace = cmp.Or(opts.Grace, 10*time.Second)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if err := CheckAddr(opts.Addr); err != nil {
		return nil, err
	}
	if host, _, _ := net.SplitHostPort(opts.Addr); opts.NoToken && !page.ThisMachine(host) {
		return nil, fault.New("token_required", "listening on "+opts.Addr+" without a token gives everyone access",
			"omit --no-token, or listen on 127.0.0.1")
	}
	if opts.Token == "" && !opts.NoToken {
		return nil, fault.New("token_required", "no token to guard "+opts.Addr,
			"set DESKHAND_TOKEN, or pass --no-token on a loopback address")
	}
	if err := opts.checkSecrets(); err != nil {
		return nil, err
	}
	if opts.Ledger == nil {
		opts.Ledger = &memory{}
	}
	if opts.Registry == nil {
		opts.Registry = prometheus.NewRegistry()
	}
	s := &Server{opts: opts, metrics: newMetrics(opts.Registry, opts.Samples, opts.Places), bodies: semaphore.NewWeighted(opts.MaxBodiesBytes)}
	if opts.Shell != nil {
		opts.Shell.SignedIn = func(r *http.Request) bool { return access.Of(r.Context()).Session != "" }
		opts.Shell.Who = func(r *http.Request) string { return access.Of(r.Context()).Name }
	}
	if err := s.checkBase(); err != nil {
		return nil, err
	}
	s.handler = s.routes()
	return s, nil
}

// CheckAddr refuses an address that is not HOST:PORT with a port from 0 to
// 65535. The fault code is "bad_address". An empty host means every interface.
func CheckAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fault.New("bad_address", fmt.Sprintf("'%s' is not HOST:PORT", addr), "write it, for example, as --http 127.0.0.1:20310; for only a port, use --port 20310")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || port != strconv.FormatUint(n, 10) {
		return fault.New("bad_address", fmt.Sprintf("'%s' is not a port in '%s'", port, addr), "use a number from 1 to 65535, or 0 for any free port")
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fault.New("bad_address", fmt.Sprintf("'%s' is not a host in '%s'", host, addr), "use an address of this machine, for example 127.0.0.1")
	}
	return nil
}

// routes wraps the handlers in the checks. The order, from the outside in, is:
// set limits, recover from panics, set headers, check the host, check the
// origin, count by route, check access.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for path, h := range s.mounted() {
		mux.Handle(path, s.counted(path, s.admitting(s.ruleOf(path), s.holding(path, h))))
	}
	return s.bounded(s.recovered(s.based(sealed(s.ours(s.sameOrigin(mux))))))
}

// mounted returns all handlers by path, including the front's own.
func (s *Server) mounted() map[string]http.Handler {
	all := map[string]http.Handler{
		"/healthz": reads(s.health), "/readyz": reads(s.ready), "/metrics": s.ofAllProjects(s.metrics.page), "/": s.missing(),
	}
	if s.opts.Shell != nil {
		all[page.StaticPath], all[loginPath], all["POST "+logoutPath] = s.opts.Shell.Static(), s.login(), s.logout()
	}
	if s.opts.Shell != nil {
		all["GET "+phonePath] = s.phone()
	}
	if s.opts.Shell != nil && s.opts.Directory != nil {
		all[joinPath] = s.join()
	}
	if s.opts.Shell != nil && s.opts.Provider != nil {
		all["GET "+oidcPath], all["GET "+callbackPath] = s.toProvider(), s.fromProvider()
	}
	maps.Copy(all, s.opts.Mounts)
	return all
}

// ofAllProjects hides a page about all projects from callers who know only of some.
func (s *Server) ofAllProjects(page http.Handler) http.Handler {
	missing := s.missing()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !access.Of(r.Context()).Everything() {
			missing.ServeHTTP(w, r)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// Own holds what the front's own routes require.
var Own = map[string]access.Rule{
	"/healthz": {}, "/readyz": {}, "/": {}, page.StaticPath: {}, loginPath: {}, joinPath: {},
	"GET " + oidcPath: {}, "GET " + callbackPath: {},
	"/metrics":           {Level: access.Agents, Scope: access.Admin},
	"POST " + logoutPath: {Level: access.People}, // whoever is signed in
	"GET " + phonePath:   {Level: access.People},
}

// ruleOf returns what a route requires.
func (s *Server) ruleOf(path string) access.Rule {
	for _, table := range []map[string]access.Rule{s.opts.Access, Own} {
		if rule, ok := table[path]; ok {
			return rule
		}
	}
	return access.Rule{Level: access.People, Scope: access.Owner}
}
