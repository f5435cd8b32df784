// Package ahp serves open requests as shared state over a WebSocket, with the
// JSON-RPC of the Agent Host Protocol: its sessions and their requests for input.
// Every client sees the open requests and the drafts that other clients type, and
// any client may answer.
//
// The package holds no state of its own. A mirror follows the store's feed while
// at least one client is connected. A position in the feed is the protocol's
// serverSeq, so a client that reconnects, to this process or to another one over
// the same store, receives what it missed. The hub's rules apply: the server
// dispatches each action to the hub. If the hub rejects an action, the server
// returns the hub's reason.
//
// The package does not decide who may connect: the HTTP server that mounts a
// [Server] checks Host, Origin and token before the upgrade.
package ahp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// Channel identifies this protocol in a request's history.
const Channel = "ahp"

// Options configure a Server. Hub is required.
type Options struct {
	// Hub opens the hub, or returns the open one.
	Hub func(ctx context.Context) (*elicit.Hub, error)
	// Name and Version are reported to clients. If Name is empty, neither is
	// reported.
	Name, Version string
	// MaxClients limits the number of open connections; more are refused. If
	// zero, only the HTTP server limits them.
	MaxClients int
	// Replay is the maximum number of missed changes that a reconnecting client
	// receives one by one; beyond that it receives the state. If zero, it is
	// 1,000.
	Replay int
	// Log receives messages for the operator. If nil, they are discarded.
	Log *slog.Logger
}

// Server is an [http.Handler] for GET requests with a WebSocket upgrade. Its
// methods may be called concurrently.
type Server struct {
	options Options
	serving sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	mirrors map[string]*mirror // by what their callers know of; only those with a client
	conns   map[*conn]struct{}
}

// watcher returns the caller for whom a mirror follows the feed, and a key that is equal for
// all callers that may share it.
func watcher(ctx context.Context) (c access.Caller, key string) {
	c = access.Of(ctx)
	if c.Everything() {
		return access.Caller{}, ""
	}
	c = access.Caller{Name: c.Name, Scopes: c.Scopes, Boundary: c.Boundary}
	return c, fmt.Sprintf("%s %q %t %q", c.Name, c.Scopes, c.Confined, c.Projects)
}

// New returns a server. It does not open the hub yet.
func New(o Options) *Server {
	o.Replay = cmp.Or(o.Replay, 1000)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{options: o, mirrors: map[string]*mirror{}, conns: map[*conn]struct{}{}}
}

// ServeHTTP serves one client until it disconnects.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := s.join(r.Context())
	if err != nil {
		s.options.Log.Warn("cannot open the channel", "error", err)
		http.Error(w, "cannot read the questions now: retry", http.StatusServiceUnavailable)
		return
	}
	if c == nil {
		http.Error(w, "too many clients are connected, or the server is stopping: retry later", http.StatusServiceUnavailable)
		return
	}
	defer s.leave(c)
	// The HTTP server has already checked the Origin against its own list, which
	// the library cannot see.
	c.socket, err = websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has already replied
	}
	c.socket.SetReadLimit(maxMessageBytes)
	s.serve(r.Context(), c)
}

// join returns a new connection and starts the mirror for the first one. It
// returns nil if there are too many connections or the server is closed.
func (s *Server) join(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.options.MaxClients > 0 && len(s.conns) >= s.options.MaxClients {
		return nil, nil
	}
	caller, key := watcher(ctx)
	if s.mirrors[key] == nil {
		hub, err := s.options.Hub(ctx)
		if err != nil {
			return nil, err
		}
		m := newMirror(hub, caller)
		if err := m.start(ctx, func(err error) { s.lost(m, err) }); err != nil {
			return nil, err
		}
		s.mirrors[key] = m
	}
	c := newConn(s, s.mirrors[key])
	s.conns[c] = struct{}{}
	s.serving.Add(1)
	return c, nil
}

// serve serves a connection and lets Close disconnect it.
func (s *Server) serve(ctx context.Context, c *conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	c.cancel = cancel
	if s.closed || !s.follows(c.mirror) {
		cancel()
	}
	s.mu.Unlock()
	c.serve(ctx)
}

func (s *Server) leave(c *conn) {
	defer s.serving.Done()
	s.mu.Lock()
	delete(s.conns, c)
	idle := s.follows(c.mirror)
	for other := range s.conns {
		idle = idle && other.mirror != c.mirror
	}
	if idle {
		s.forget(c.mirror)
	}
	s.mu.Unlock()
	if idle {
		c.mirror.stop()
		<-c.mirror.done
	}
}

// follows reports whether a mirror still follows the feed. The caller must hold the lock.
func (s *Server) follows(m *mirror) bool {
	for _, one := range s.mirrors {
		if one == m {
			return true
		}
	}
	return false
}

// forget makes the next client start another mirror. The caller must hold the lock.
func (s *Server) forget(m *mirror) {
	maps.DeleteFunc(s.mirrors, func(_ string, one *mirror) bool { return one == m })
}

// lost disconnects all clients of a mirror that failed. When they reconnect,
// they get a new mirror.
func (s *Server) lost(m *mirror, err error) {
	s.options.Log.Warn("the channel lost its connection to the feed", "error", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(m)
	for c := range s.conns {
		if c.mirror == m && c.cancel != nil {
			c.cancel()
		}
	}
}

// Close disconnects all clients and stops the mirror. Clients may continue with
// another process that uses the same store.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		if c.cancel != nil {
			c.cancel()
		}
	}
	s.mu.Unlock()
	s.serving.Wait()
}

// about returns the serverInfo, or nil without a name.
func (s *Server) about() json.RawMessage {
	if s.options.Name == "" {
		return nil
	}
	return encode(map[string]string{"name": s.options.Name, "version": s.options.Version})
}
