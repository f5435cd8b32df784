// Package web is the HTTP front: it listens, decides who may come in, bounds
// what they may cost, and passes requests on to the handlers mounted on it. It
// does not know what they speak.
//
// It is closed by default. A page in a browser on this machine can reach a
// loopback port, so three checks stand before every handler: the Host must be
// ours (or a name that resolves here by a trick is taken for us), the Origin
// must be ours if there is one, and the bearer token must be right, or a browser
// must have the cookie of somebody who had it. /healthz, /readyz, the page to
// sign in on and what Options.Public has need no token.
package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Options tunes a Server. Token or NoToken is required; every other zero value
// is a default.
type Options struct {
	// Addr is where to listen, host:port. Port 0 takes any free one; an empty
	// host is every interface. Empty: 127.0.0.1:20310.
	Addr string
	// Token is what clients send as "Authorization: Bearer ...".
	Token string
	// NoToken lets everyone in who reaches the port; only on loopback.
	NoToken bool
	// AllowedHosts are further names that the Host header may have, without a
	// port; loopback names and the address connected to are always ours.
	AllowedHosts []string
	// AllowedOrigins are further origins whose pages may call, such as
	// https://inspector.example. The own origin always may.
	AllowedOrigins []string

	// Mounts are the handlers by path: "/mcp" is that path alone, "/inbox/" all
	// below it. They check methods themselves.
	Mounts map[string]http.Handler
	// Public are handlers that need no token, as they check something else.
	Public map[string]http.Handler
	// Shell makes the pages of people. Its static files and the page on which
	// people sign in are served with it, and a browser that may not come in is
	// sent there. Nil: there are no pages.
	Shell *page.Shell
	// Once says whether it is called with an id for the first time, by any
	// process that takes the same links; until is when the id may be forgotten.
	// Nil: this process alone counts.
	Once func(ctx context.Context, id string, until time.Time) (first bool, err error)
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
	// HeaderTime is how long a header may take to arrive. Zero: 10 seconds.
	HeaderTime time.Duration
	// BodyTime is how long a body may take to arrive. Zero: 30 seconds.
	BodyTime time.Duration
	// WriteTime is how long a client may take to read each piece of an answer.
	// A stream may be silent for longer. Zero: 30 seconds.
	WriteTime time.Duration
	// IdleTime ends a connection without a request. Zero: 2 minutes.
	IdleTime time.Duration
	// MaxConns bounds the connections open at once. One more takes the place of
	// one without a request, and waits if each has one. Zero: 512.
	MaxConns int
	// Grace is how long requests in flight may go on at shutdown. Zero: 10
	// seconds.
	Grace time.Duration
}

// Server is one HTTP front. Make it with New.
type Server struct {
	opts    Options
	token   [sha256.Size]byte
	metrics *metrics
	handler http.Handler
	used    sync.Map // ids of links, if Options.Once is nil
}

// New checks the options. Its errors are faults: code "token_required" when
// somebody could come in without one, "bad_address" for an Addr that names no
// host and port.
func New(opts Options) (*Server, error) {
	opts.Addr = cmp.Or(opts.Addr, "127.0.0.1:20310")
	opts.MaxHeaderBytes = cmp.Or(opts.MaxHeaderBytes, 64<<10)
	opts.MaxBodyBytes = cmp.Or(opts.MaxBodyBytes, 16<<20)
	opts.HeaderTime = cmp.Or(opts.HeaderTime, 10*time.Second)
	opts.BodyTime = cmp.Or(opts.BodyTime, 30*time.Second)
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
	if host, _, _ := net.SplitHostPort(opts.Addr); opts.NoToken && !loopbackName(host) {
		return nil, fault.New("token_required", "listening on "+opts.Addr+" without a token lets everyone in",
			"leave --no-token out, or listen on 127.0.0.1")
	}
	if opts.Token == "" && !opts.NoToken {
		return nil, fault.New("token_required", "no token to guard "+opts.Addr,
			"set DESKHAND_TOKEN, or pass --no-token on a loopback address")
	}
	if opts.Registry == nil {
		opts.Registry = prometheus.NewRegistry()
	}
	s := &Server{opts: opts, token: sha256.Sum256([]byte(opts.Token)), metrics: newMetrics(opts.Registry)}
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
	mount := func(path string, open bool, h http.Handler) {
		if !open {
			h = s.guarded(h)
		}
		mux.Handle(path, s.counted(path, h))
	}
	mount("/healthz", true, reads(s.health))
	mount("/readyz", true, reads(s.ready))
	mount("/metrics", false, s.metrics.page)
	for path, h := range s.opts.Mounts {
		mount(path, false, h)
	}
	for path, h := range s.opts.Public {
		mount(path, true, h)
	}
	if s.opts.Shell != nil {
		mount(page.StaticPath, true, s.opts.Shell.Static())
		mount("/login", true, s.login())
	}
	mount("/", true, http.HandlerFunc(missing))
	return s.bounded(s.recovered(sealed(s.ours(s.sameOrigin(mux)))))
}

// loopbackName reports whether a host, without a port, can only be this
// machine.
func loopbackName(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost") // RFC 6761 section 6.3
}
