// Package mcpserver publishes a contract.Catalog over the Model Context
// Protocol: over stdio (ServeStdio) and over HTTP (Handler), for clients of
// both eras, those that begin with initialize (2024-11-05 to 2025-11-25) and
// those that say on each request who they are (2026-07-28).
//
// The MCP SDK does the protocol. In front of it stand our own readers, since
// bytes from outside are hostile until shown otherwise, and behind it the
// answers are ours: a tool's refusal reaches the model in the tool's words.
// Dial is the other end, for measuring and the demo. Of the SDK there is one more
// user, gateway, which is a client of other servers.
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

// Options tunes a Server. Only Name and Version matter to clients; every other
// zero value is a default.
type Options struct {
	// Name and Version are what the server says of itself. Empty: "deskhand"
	// and "dev".
	Name, Version string
	// Logger takes what an operator should know; the SDK's own remarks are at
	// debug level. Nil: nothing is logged.
	Logger *slog.Logger
	// MaxLineBytes bounds one message over stdio. Zero: 16 MiB.
	MaxLineBytes int
	// MaxBodyBytes bounds one message over HTTP. Zero: 4 MiB.
	MaxBodyBytes int64
	// MaxCalls bounds the calls in flight over stdio; more are refused at once.
	// Zero: 512.
	MaxCalls int
	// DrainTime is how long calls in flight may go on after the client closed
	// stdin or the server was told to stop. Zero: 5 seconds.
	DrainTime time.Duration
	// MaxSessions bounds the HTTP sessions of clients that begin with
	// initialize; the one unused for longest makes room. Zero: 1024.
	MaxSessions int
	// SessionIdle ends an HTTP session that was not used for so long. Zero: 30
	// minutes.
	SessionIdle time.Duration
	// PingEvery is how often a comment line goes into each open HTTP stream, so
	// that no client takes silence for the end. Zero: 1 minute, as Node's fetch
	// gives up after 5.
	PingEvery time.Duration
	// Expected makes a fault of an error that is none but is expected, as that a
	// disk is full; nil: it is not. Nil: none is.
	Expected func(error) *fault.Fault
	// Logs says that tools tell clients what to log, as [contract.Caller] has it.
	Logs bool
	// Watches says that clients may subscribe to resources of other servers.
	Watches bool
	// Met is told what a client lends before each list that it gets; the list
	// waits for it. Nil: nobody is told.
	Met func(context.Context, contract.Lends)
	// StateKey gives the key, of any length, that authenticates what clients
	// carry between two calls that belong together. It is asked for when it is
	// first needed. Nil: a key of this server alone, so that another process
	// cannot go on with the call.
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
	if o.StateKey == nil {
		key := []byte(rand.Text())
		o.StateKey = func() ([]byte, error) { return key, nil }
	}
	return o
}

// Server publishes one catalog at a time to any number of clients. All its
// methods may be called concurrently.
type Server struct {
	opts     Options
	sdk      *mcp.Server
	http     *httpDoor
	calls    calls
	patient  patient
	self     *mcp.Implementation
	identity string // the member with which results of 2026-07-28 begin

	// lists keeps a reader of the SDK's lists from seeing half a Replace.
	lists   sync.RWMutex
	current atomic.Pointer[published]

	watching watching
}

// New publishes c. It refuses a catalog whose names clients could not use, or
// that uses one twice.
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
		// All three are announced even when empty, as Replace may fill them.
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
	s.sdk.AddSendingMiddleware(unjudged, acknowledging)
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

// cacheable lets clients of 2026-07-28 keep lists for a minute. Those that
// subscribe hear of a change at once. The text of a resource may be as new as
// the index, so that is not kept; and what a token guards is nobody else's.
func cacheable(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
	c.CacheScope = "private"
	if _, read := req.(*mcp.ReadResourceRequest); !read {
		c.TTLMs = int(time.Minute / time.Millisecond)
	}
}

// Replace publishes c instead of what was there, to running sessions too. Each
// client sees all of the old catalog or all of the new one, and is told of the
// lists that changed in what they show; a call in flight ends on the tool it
// began with. On an error nothing changes.
func (s *Server) Replace(c contract.Catalog) error {
	next, err := publish(c, s.opts.Logger)
	if err != nil {
		return err
	}
	s.lists.Lock()
	defer s.lists.Unlock()
	s.announce(s.current.Load(), next)
	s.current.Store(next)
	return nil
}

// Close ends all sessions and their streams, once the calls in flight are
// answered or Options.DrainTime has passed: the SDK would close a session under
// them. It returns when they have ended, or with ctx's error.
func (s *Server) Close(ctx context.Context) error {
	s.calls.drain(ctx, s.opts.DrainTime)
	s.http.sessions.closeAll()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var wg sync.WaitGroup
		for session := range s.sdk.Sessions() {
			wg.Go(func() { _ = session.Close() }) // its error is the client's end
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

// quiet passes the SDK's log on one step lower: it reports each session as
// info and a client's faults as errors.
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
