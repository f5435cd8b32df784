// Package web is the HTTP front: it listens, decides who may come in, bounds
// what they may cost, and passes requests on to the handlers mounted on it. It
// does not know what they speak.
//
// It is closed by default. A page in a browser on this machine can reach a
// loopback port, so three checks stand before every handler: the Host must be
// ours (or a name that resolves here by a trick is taken for us), the Origin
// must be ours if there is one, and the caller must be as much as
// Options.Access says for the route: a program with the token of agents, or a
// person, who has another secret. Without an entry there a route is for people.
package web

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Options tunes a Server. Token or NoToken is required, People with a Shell;
// every other zero value is a default.
type Options struct {
	// Addr is where to listen, host:port. Port 0 takes any free one; an empty
	// host is every interface. Empty: 127.0.0.1:20310.
	Addr string
	// Token is what agents send as "Authorization: Bearer ...".
	Token string
	// NoToken takes everyone who reaches the port for an agent; only on loopback.
	// People sign in all the same.
	NoToken bool
	// People is how people come in. The zero value: nobody does.
	People People
	// AllowedHosts are further names that the Host header may have, without a
	// port; loopback names and the address connected to are always ours.
	AllowedHosts []string
	// AllowedOrigins are further origins whose pages may call, such as
	// https://inspector.example. The own origin always may.
	AllowedOrigins []string

	// Mounts are the handlers by path: "/mcp" is that path alone, "/inbox/" all
	// below it. They check methods themselves.
	Mounts map[string]http.Handler
	// Access says who may call a mount, by its path there. One that is not named
	// is for people. More may be named than are mounted.
	Access map[string]access.Level
	// Shell makes the pages of people. Its static files and the page on which
	// people sign in are served with it, and a browser that may not come in is
	// sent there. Nil: there are no pages.
	Shell *page.Shell
	// Ledger remembers which links were used and which sessions have ended. Nil:
	// this process alone does.
	Ledger Ledger
	// Homeward reports whether a browser that has not signed in here may be sent
	// to the name that sessions belong to: it shows something that only a browser
	// of the person has. Nil: none does.
	Homeward func(*http.Request) bool
	// Build is what /healthz says of this program, such as name and version.
	Build map[string]string
	// Ready returns nil when requests can be answered, else why not. Nil: always
	// ready.
	Ready func() error
	// Registry has the metrics of /metrics; the server's own are added to it.
	// Nil: a new one.
	Registry *prometheus.Registry
	// Logger takes what an operator should know. Nil: nothing is logged.
	Logger *slog.Logger
	// OnListen is called with the address once connections are accepted.
	OnListen func(net.Addr)
	// OnShutdown is called when the server stops accepting, to end streams that
	// would otherwise last. It runs beside the requests in flight.
	OnShutdown func()

	// MaxHeaderBytes bounds a request's header. Zero: 64 KiB.
	MaxHeaderBytes int
	// MaxBodyBytes bounds a request's body. Zero: 16 MiB; a handler may be
	// stricter.
	MaxBodyBytes int64
	// MaxBodiesBytes bounds the bodies of all requests in flight together, those of
	// 64 KiB and less apart. One more waits for BodyWait, and is refused with 503.
	// Zero: 32 MiB. It is never less than MaxBodyBytes.
	MaxBodiesBytes int64
	// BodyWait is how long a request waits for the bodies of others. Zero: 5
	// seconds.
	BodyWait time.Duration
	// HeaderTime is how long a header may take to arrive. Zero: 10 seconds.
	HeaderTime time.Duration
	// BodyTime is how long a body may take to arrive. Zero: 30 seconds.
	BodyTime time.Duration
	// StrangerTime is the same on routes that are for anyone. Zero: 5 seconds.
	StrangerTime time.Duration
	// WriteTime is how long a client may take to read each piece of an answer.
	// A stream may be silent for longer. Zero: 30 seconds.
	WriteTime time.Duration
	// IdleTime ends a connection without a request. Zero: 2 minutes.
	IdleTime time.Duration
	// MaxConns bounds the connections open at once. One more takes the place of
	// one without a request or with one of a stranger, and waits if all are busy
	// with those of agents and people. Zero: 512.
	MaxConns int
	// Grace is how long requests in flight may go on at shutdown. Zero: 10
	// seconds.
	Grace time.Duration
}

// Server is one HTTP front. Make it with New.
type Server struct {
	opts    Options
	metrics *metrics
	handler http.Handler
	tries   tries // of keys on the page to sign in
	wrong   tries // of secrets that programs sent
	lasting lasting
	bodies  *semaphore.Weighted // bytes of those in flight
}

// New checks the options. Its errors are faults: code "token_required" when
// somebody could come in without one, "bad_address" for an Addr that names no
// host and port.
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
	opts.MaxConns = cmp.Or(opts.MaxConns, 512)
	opts.Grace = cmp.Or(opts.Grace, 10*time.Second)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if err := CheckAddr(opts.Addr); err != nil {
		return nil, err
	}
	if host, _, _ := net.SplitHostPort(opts.Addr); opts.NoToken && !page.ThisMachine(host) {
		return nil, fault.New("token_required", "listening on "+opts.Addr+" without a token lets everyone in",
			"leave --no-token out, or listen on 127.0.0.1")
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
	s := &Server{opts: opts, metrics: newMetrics(opts.Registry), bodies: semaphore.NewWeighted(opts.MaxBodiesBytes)}
	if opts.Shell != nil {
		opts.Shell.SignedIn = func(r *http.Request) bool { return access.Of(r.Context()).Session != "" }
	}
	s.handler = s.routes()
	return s, nil
}

// CheckAddr refuses an address that is not HOST:PORT with a port from 0 to
// 65535, with fault code "bad_address". An empty host is every interface.
func CheckAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fault.New("bad_address", fmt.Sprintf("'%s' is not HOST:PORT", addr), "write it as in --http 127.0.0.1:20310; a port alone is --port 20310")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || port != strconv.FormatUint(n, 10) {
		return fault.New("bad_address", fmt.Sprintf("'%s' is no port in '%s'", port, addr), "use a number from 1 to 65535, or 0 for any free port")
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fault.New("bad_address", fmt.Sprintf("'%s' is no host in '%s'", host, addr), "use an address of this machine, such as 127.0.0.1")
	}
	return nil
}

// routes puts the checks around the handlers. From outside in: bound, answer
// for panics, know the host, know the origin, count by route, ask for the token.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for path, h := range s.mounted() {
		mux.Handle(path, s.counted(path, s.admitting(s.levelOf(path), h)))
	}
	return s.bounded(s.recovered(sealed(s.ours(s.sameOrigin(mux)))))
}

// mounted are the handlers by path, with the front's own.
func (s *Server) mounted() map[string]http.Handler {
	all := map[string]http.Handler{
		"/healthz": reads(s.health), "/readyz": reads(s.ready), "/metrics": s.metrics.page, "/": s.missing(),
	}
	if s.opts.Shell != nil {
		all[page.StaticPath], all[loginPath], all["POST "+logoutPath] = s.opts.Shell.Static(), s.login(), s.logout()
	}
	maps.Copy(all, s.opts.Mounts)
	return all
}

// own says who may call the routes of the front itself.
var own = map[string]access.Level{
	"/healthz": access.Anyone, "/readyz": access.Anyone, "/": access.Anyone, page.StaticPath: access.Anyone, loginPath: access.Anyone,
	"/metrics": access.Agents, "POST " + logoutPath: access.People,
}

// levelOf is who may call a route: people only, unless something else is said.
func (s *Server) levelOf(path string) access.Level {
	for _, table := range []map[string]access.Level{s.opts.Access, own} {
		if level, ok := table[path]; ok {
			return level
		}
	}
	return access.People
}
