// Package ahp serves open requests as shared state over a WebSocket, with the
// JSON-RPC of the Agent Host Protocol: its sessions and their requests for
// input. Every client sees what is open and what the others type, and any of
// them may answer.
//
// The package holds no state of its own. A mirror follows the store's feed
// while any client is connected. A position in the feed is the protocol's
// serverSeq, so a client that reconnects, to this process or to another one
// over the same store, receives what it missed. The hub's rules apply: the
// server dispatches an action to the hub and returns the hub's reason if it
// refuses.
//
// The package does not decide who may connect: the front that mounts a [Server]
// checks Host, Origin and token before the upgrade.
package ahp

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// Channel names this protocol in the record of a request.
const Channel = "ahp"

// Options configure a Server. Hub is required.
type Options struct {
	// Hub opens the hub, or returns the open one.
	Hub func(ctx context.Context) (*elicit.Hub, error)
	// Name and Version are reported to clients. Zero: omitted.
	Name, Version string
	// MaxClients limits the number of open connections; more are refused. Zero:
	// 500, which leaves some of the front's 512 to others.
	MaxClients int
	// Replay is the number of missed changes up to which a reconnecting client
	// gets each change; beyond that it gets the state. Zero: 1,000.
	Replay int
	// Log receives messages for the operator. Nil discards them.
	Log *slog.Logger
}

// Server is an [http.Handler] for GET with an upgrade. Its methods may be
// called concurrently.
type Server struct {
	options Options
	serving sync.WaitGroup

	mu     sync.Mutex
	closed bool
	mirror *mirror // nil while nobody is connected
	conns  map[*conn]struct{}
}

// New returns a server. It opens nothing yet.
func New(o Options) *Server {
	o.MaxClients = cmp.Or(o.MaxClients, 500)
	o.Replay = cmp.Or(o.Replay, 1000)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{options: o, conns: map[*conn]struct{}{}}
}

// ServeHTTP serves one client until it disconnects.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := s.join(r.Context())
	if err != nil {
		s.options.Log.Warn("cannot open the channel", "error", err)
		http.Error(w, "the questions cannot be read now: retry", http.StatusServiceUnavailable)
		return
	}
	if c == nil {
		http.Error(w, "too many clients are connected, or the server is stopping: retry later", http.StatusServiceUnavailable)
		return
	}
	defer s.leave(c)
	// The front has checked the Origin, by a list that the library does not have.
	c.socket, err = websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // the client has been told
	}
	c.socket.SetReadLimit(maxMessageBytes)
	s.serve(r.Context(), c)
}

// join makes a connection, with a mirror if it is the first; nil: there is no
// room.
func (s *Server) join(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= s.options.MaxClients {
		return nil, nil
	}
	if s.mirror == nil {
		hub, err := s.options.Hub(ctx)
		if err != nil {
			return nil, err
		}
		m := newMirror(hub)
		if err := m.start(ctx, func(err error) { s.lost(m, err) }); err != nil {
			return nil, err
		}
		s.mirror = m
	}
	c := newConn(s, s.mirror)
	s.conns[c] = struct{}{}
	s.serving.Add(1)
	return c, nil
}

// serve lets Close hang up on a connection.
func (s *Server) serve(ctx context.Context, c *conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	c.cancel = cancel
	if s.closed || s.mirror != c.mirror {
		cancel()
	}
	s.mu.Unlock()
	c.serve(ctx)
}

func (s *Server) leave(c *conn) {
	defer s.serving.Done()
	s.mu.Lock()
	delete(s.conns, c)
	var idle *mirror
	if len(s.conns) == 0 {
		idle, s.mirror = s.mirror, nil
	}
	s.mu.Unlock()
	if idle != nil {
		idle.stop()
		<-idle.done
	}
}

// lost hangs up on all clients of a mirror that cannot go on. They come back and
// find a new one.
func (s *Server) lost(m *mirror, err error) {
	s.options.Log.Warn("channel lost the feed", "error", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mirror == m {
		s.mirror = nil
	}
	for c := range s.conns {
		if c.mirror == m && c.cancel != nil {
			c.cancel()
		}
	}
}

// Close disconnects every client and releases the hub. Clients may continue
// with another process over the same store.
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

// about is what the server says it is.
func (s *Server) about() json.RawMessage {
	if s.options.Name == "" {
		return nil
	}
	return encode(map[string]string{"name": s.options.Name, "version": s.options.Version})
}
