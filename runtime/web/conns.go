package web

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// limitedListener limits the number of open connections. At the limit, a new
// connection replaces the connection that has been silent for longest. A
// connection is silent if it is waiting for a request or for the rest of a
// request's header. It also counts as silent if its request is from a stranger,
// who may send the body or read the answer arbitrarily slowly. Strangers
// therefore cannot keep agents and people out. If all connections have requests
// from agents and people, a new connection waits until one of them ends.
type limitedListener struct {
	net.Listener
	max int

	mu     sync.Mutex
	freed  sync.Cond // signals that a connection has ended or become silent, or that the listener was closed
	open   int
	silent []*limitedConn // connections that may be replaced, in the order in which they became silent
	closed bool
}

func limit(l net.Listener, n int) *limitedListener {
	limited := &limitedListener{Listener: l, max: n}
	limited.freed.L = &limited.mu
	return limited
}

func (l *limitedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open >= l.max && !l.closed {
		if len(l.silent) == 0 {
			l.freed.Wait()
			continue
		}
		longest := l.silent[0]
		l.mu.Unlock()
		_ = longest.Close()
		l.mu.Lock()
	}
	if l.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	l.open++
	return &limitedConn{Conn: c, of: l}, nil
}

func (l *limitedListener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.freed.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}

// follow is the server's ConnState function. A request counts as a stranger's
// until [keepOpen] is called.
func (l *limitedListener) follow(c net.Conn, state http.ConnState) {
	limited, ok := c.(*limitedConn)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(limited)
	if state != http.StateHijacked && state != http.StateClosed && !limited.gone {
		l.silent = append(l.silent, limited)
		l.freed.Broadcast()
	}
}

type connKey struct{}

// withConn stores a connection in a context, in which [keepOpen] finds it.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// keepOpen keeps the connection of a request from being replaced until the
// request is answered, because its caller is known.
func keepOpen(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*limitedConn); ok {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.forget(c)
	}
}

// forget removes c from the silent connections. l.mu must be held.
func (l *limitedListener) forget(c *limitedConn) {
	if at := slices.Index(l.silent, c); at >= 0 {
		l.silent = slices.Delete(l.silent, at, at+1)
	}
}

type limitedConn struct {
	net.Conn
	of   *limitedListener
	gone bool // guarded by of.mu
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.forget(c)
	if !c.gone {
		c.gone = true
		c.of.open--
		c.of.freed.Broadcast()
	}
	return err
}

// CloseWrite lets http.Server end an answer to a client that is still sending,
// for example a client whose header is too long. Without it, a reset would lose
// the answer.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
