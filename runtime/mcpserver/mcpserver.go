// Package mcpserver publishes a contract.Catalog over the Model Context Protocol,
// over stdio (ServeStdio) and HTTP (Handler). It serves clients of both eras: those
// that start with initialize (2024-11-05 to 2025-11-25), and those that identify
// themselves on each request (2026-07-28).
//
// The MCP SDK implements the protocol. Our own readers run before it, because input
// is treated as hostile until checked. Our own answers come after it, so a tool's
// refusal reaches the model in the tool's words. Dial is the client side, for
// measurements and the demo. The only other user of the SDK is gateway, a client of
// other servers.
package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Options configure a Server. Clients see only Name and Version; every other
// zero value selects a default.
type Options struct {
	// Name and Version are what the server reports about itself. Empty means
	// "deskhand" and "dev".
	Name, Version string
	// Logger receives messages for the operator; the SDK's own messages have
	// debug level. Nil discards them.
	Logger *slog.Logger
	// MaxLineBytes is the maximum size of a message over stdio. Zero means 16 MiB.
	MaxLineBytes int
	// MaxBodyBytes is the maximum size of a message over HTTP. Zero means 4 MiB.
	MaxBodyBytes int64
	// MaxCalls is the maximum number of running calls over stdio. More calls are
	// refused immediately. Zero means 512.
	MaxCalls int
	// DrainTime is how long running calls may continue after the client closed
	// stdin or the server was told to stop. Zero means 5 seconds.
	DrainTime time.Duration
	// MaxSessions is the maximum number of HTTP sessions of clients that start with
	// initialize. A new session replaces the session that has been unused longest.
	// Zero means 1024.
	MaxSessions int
	// SessionIdle is how long an HTTP session may be unused before it ends. Zero
	// means 30 minutes.
	SessionIdle time.Duration
	// Hold is called before each HTTP call that may be held and before each stream.
	// If ok is false, the call is refused with 503, and otherwise leave is called at
	// its end. Messages that carry a person's reply are never refused. If Hold is
	// nil, there is no limit.
	Hold func() (leave func(), ok bool)
	// PingEvery is the interval between comment lines on each open HTTP stream, so
	// clients do not mistake silence for the end of the stream. Zero means 1
	// minute. Node's fetch gives up after 5 minutes.
	PingEvery time.Duration
	// Expected converts an expected error that is not a fault, such as a full disk,
	// to a fault, and returns nil for other errors. If Expected is nil, nothing is
	// converted.
	Expected func(error) *fault.Fault
	// Ready is closed when the catalog is the one to serve. Until then, lists and
	// calls wait; greetings and pings do not. If Ready is nil, nothing waits.
	Ready <-chan struct{}
	// Logs reports whether tools send log messages to clients; see
	// [contract.Caller].
	Logs bool
	// Watches reports whether clients may subscribe to other servers' resources.
	Watches bool
	// Met, if not nil, is called with the features that a client lends, before each
	// list that is sent to the client. The list waits until Met returns.
	Met func(context.Context, contract.Lends)
	// AlwaysLoad asks Claude Code to show the server's own tools to its model from the
	// start. Newer versions otherwise hide tools behind a search.
	AlwaysLoad bool
	// StateKey returns the key, of any length, that authenticates the state that
	// clients carry from one call to the call that continues it. It is called on
	// first use. If it is nil, the key is random. Other processes then do not have
	// the key, so they cannot continue the call.
	StateKey func() ([]byte, error)
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, "deskhand")
	o.Version = cmp.Or(o.Version, "dev")
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.MaxLineBytes = cmp.Or(o.MaxLineBytes, 16<<20)
	o.MaxBodyBytes = cmp.Or(o.MaxBodyBytes, 4<<20)
	o.MaxCalls = cmp.Or(o.MaxCalls, 512)
	o.DrainTime = cmp.Or(o.DrainTime, 5*time.Second)
	o.MaxSessions = cmp.Or(o.MaxSessions, 1024)
	o.SessionIdle = cmp.Or(o.SessionIdle, 30*time.Minute)
	o.PingEvery = cmp.Or(o.PingEvery, time.Minute)
	if o.Ready == nil {
		ready := make(chan struct{})
		close(ready)
		o.Ready = ready
	}
	if o.StateKey == nil {
		key := []byte(rand.Text())
		o.StateKey = func() ([]byte, error) { return key, nil }
	}
	return o
}

// Server publishes one catalog at a time to any number of clients. Its methods
// may be called concurrently.
type Server struct {
	opts     Options
	sdk      *mcp.Server
	http     *httpDoor
	calls    calls
	patient  patient
	self     *mcp.Implementation
	identity string // the member that results of 2026-07-28 begin with

	// lists prevents readers of the SDK's lists from seeing half of a Replace.
	lists   sync.RWMutex
	current atomic.Pointer[published]

	watching watching
}

// New returns a server that publishes c. It fails if the catalog has duplicate
// names or names that clients cannot use.
func New(opts Options, c contract.Catalog) (*Server, error) {
	opts = opts.withDefaults()
	s := &Server{opts: opts}
	self := &mcp.Implementation{Name: opts.Name, Version: opts.Version}
	meta, err := encode(map[string]any{mcp.MetaKeyServerInfo: self})
	if err != nil {
		return nil, fmt.Errorf("encode server name: %w", err)
	}
	s.self, s.identity = self, `"_meta":`+string(meta)+`,`
	options := &mcp.ServerOptions{
		Logger:       slog.New(quiet{opts.Logger.Handler()}),
		SetCacheable: cacheable,
		// All three are announced even if they are empty, because Replace may fill
		// them.
		Capabilities: &mcp.ServerCapabilities{
			Tools:     &mcp.ToolCapabilities{ListChanged: true},
			Prompts:   &mcp.PromptCapabilities{ListChanged: true},
			Resources: &mcp.ResourceCapabilities{ListChanged: true},
		},
	}
	s.announceLogs(options.Capabilities)
	if opts.Watches {
		options.Capabilities.Resources.Subscribe = true
		options.SubscribeHandler, options.UnsubscribeHandler = s.subscribe, s.unsubscribe
	}
	s.sdk = mcp.NewServer(self, options)
	s.sdk.AddReceivingMiddleware(s.renaming, s.middleware)
	s.sdk.AddSendingMiddleware(unjudged, acknowledging, s.onlyTheirs)
	if err := s.serveTasks(); err != nil {
		return nil, err
	}
	s.http = newHTTPDoor(s)
	s.current.Store(&published{elsewhere: &elsewhere{}})
	if err := s.Replace(c); err != nil {
		return nil, err
	}
	return s, nil
}

// cacheable lets clients of 2026-07-28 cache lists for a minute. Clients that
// subscribe are notified of changes immediately. Resources are not cached, because
// their text changes with the index. The scope is private, because a token may
// guard the content.
func cacheable(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
	c.CacheScope = "private"
	if _, read := req.(*mcp.ReadResourceRequest); !read {
		c.TTLMs = int(time.Minute / time.Millisecond)
	}
}

// Replace publishes c in place of the current catalog, including to running
// sessions. Each client sees either all of the old catalog or all of the new one,
// and is notified of the lists that changed. Running calls finish with the old
// tools. If it fails, nothing changes.
func (s *Server) Replace(c contract.Catalog) error {
	next, err := publish(c, s.opts)
	if err != nil {
		return err
	}
	s.lists.Lock()
	defer s.lists.Unlock()
	s.announce(s.current.Load(), next)
	s.current.Store(next)
	return nil
}

// Close ends all sessions and their streams after the running calls have ended
// or Options.DrainTime has passed, because the SDK would close sessions during
// calls. It returns when they have ended, or with ctx's error.
func (s *Server) Close(ctx context.Context) error {
	s.calls.drain(ctx, s.opts.DrainTime)
	s.http.sessions.closeAll()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var wg sync.WaitGroup
		for session := range s.sdk.Sessions() {
			wg.Go(func() { _ = session.Close() }) // an error means that the client is gone
		}
		s.http.sessions.wait()
		wg.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// quiet lowers the level of the SDK's log messages, because the SDK reports each
// session at info level and clients' mistakes as errors.
type quiet struct{ slog.Handler }

func lower(level slog.Level) slog.Level {
	if level >= slog.LevelError {
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return q.Handler.Enabled(ctx, lower(level))
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = lower(r.Level)
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }
