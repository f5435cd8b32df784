// Package ahp serves open requests as shared state over a WebSocket: the
// Agent Host Protocol's JSON-RPC, of which it has sessions and their requests
// for input. Every client sees what is open and what the others type, and any
// may answer.
//
// It holds no state of its own. A mirror follows the store's feed while somebody
// is connected; a place in the feed is the protocol's serverSeq, so a client
// that comes back, to this process or to another one over the same store, is
// told what it missed. The rules are those of the room: an action is dispatched
// to the hub, and what it refuses is sent back with the reason.
//
// Who may connect is not decided here: the front that mounts a [Server] checks
// Host, Origin and token before the upgrade.
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

// Channel is the way by which actions come from here, in the record of a request.
const Channel = "ahp"

// Options tunes a Server. Hub is required.
type Options struct {
	// Hub opens the hub, or returns the one that is open.
	Hub func(ctx context.Context) (*elicit.Hub, error)
	// Name and Version are what the server says it is. Zero: it does not say.
	Name, Version string
	// MaxClients bounds the connections open at once; more are refused. Zero:
	// 500, which leaves some of the front's 512 to others.
	MaxClients int
	// Replay is how many changes a client is told one by one that it missed; one
	// that missed more gets the state. Zero: 1,000.
	Replay int
	// Log takes what an operator should know. Nil: nothing is logged.
	Log *slog.Logger
}

// Server is an [http.Handler] for GET with an upgrade. Its methods may be called
// at once.
type Server struct {
	options Options
	serving sync.WaitGroup

	mu     sync.Mutex
	closed bool
	mirror *mirror // nil while nobody is connected
	conns  map[*conn]struct{}
}

// New makes a server. It opens nothing.
func New(o Options) *Server {
	o.MaxClients = cmp.Or(o.MaxClients, 500)
	o.Replay = cmp.Or(o.Replay, 1000)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{options: o, conns: map[*conn]struct{}{}}
}

// ServeHTTP serves one client until it goes.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := s.join(r.Context())
	if err != nil {
		s.options.Log.Warn("channel not opened", "error", err)
		http.Error(w, "the questions cannot be read now: try again", http.StatusServiceUnavailable)
		return
	}
	if c == nil {
		http.Error(w, "too many are connected, or the server stops: try again later", http.StatusServiceUnavailable)
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

// Close hangs up on everybody and lets go of the hub. Clients may go on with
// another process over the same store.
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
