package ahp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// What waits to be written to one connection. A client that is further behind
// is told the state of now instead, once it reads again.
const (
	queueMessages = 256
	queueBytes    = 1 << 20
	writeTime     = 30 * time.Second // of one message, then the client is let go
	pingEvery     = 30 * time.Second
)

// conn is one client. Its reader and its writer are a goroutine each; the
// mirror pushes from its own and never waits.
type conn struct {
	server *Server
	mirror *mirror
	socket *websocket.Conn
	cancel func() // hangs up; nil until it serves, under the server's lock
	// client is its name for itself, empty before initialize: the reader's, who
	// sets it under the mirror's lock.
	client  string
	watches map[string]int64 // channels and the place up to which they were told; under the mirror's lock

	mu     sync.Mutex
	queue  [][]byte
	bytes  int           // in queue
	behind bool          // something was left out
	owed   [][]byte      // what comes after the state then
	debt   int           // bytes in owed
	wake   chan struct{} // holds one
	room   chan struct{} // holds one; rung when the queue was taken
}

func newConn(s *Server, m *mirror) *conn {
	return &conn{
		server: s, mirror: m, watches: map[string]int64{}, wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

func ring(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// push queues what a watcher of uri is told, unless the client knows it or is
// too far behind. own says that it is the client's own action, which it waits
// for: it then comes after the state.
func (c *conn) push(uri string, seq int64, data []byte, own bool) {
	if seq <= c.watches[uri] && !own {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.behind && len(c.queue) < queueMessages && c.bytes+len(data) <= queueBytes:
		c.append(data)
	case own:
		c.owed, c.debt = append(c.owed, data), c.debt+len(data)
		c.behind = true
	default:
		c.behind = true
	}
}

// send queues what must not be left out. There is little of it: the reader
// takes nothing new from a client that does not read.
func (c *conn) send(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.append(data)
}

func (c *conn) append(data []byte) {
	c.queue, c.bytes = append(c.queue, data), c.bytes+len(data)
	ring(c.wake)
}

// take empties the queue; behind says that it was not all.
func (c *conn) take() (queue [][]byte, behind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue, behind = c.queue, c.behind
	c.queue, c.bytes = nil, 0
	ring(c.room)
	return queue, behind
}

// caughtUp queues what is owed. The caller has the mirror's lock, so nothing has
// come since the state was queued.
func (c *conn) caughtUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind = false
	for _, data := range c.owed {
		c.append(data)
	}
	c.owed, c.debt = nil, 0
}

// full says that the reader is to wait.
func (c *conn) full() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)+len(c.owed) >= queueMessages || c.bytes+c.debt >= queueBytes
}

// serve reads until the client is gone or ctx ends.
func (c *conn) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var writing sync.WaitGroup
	writing.Go(func() {
		defer cancel()
		c.write(ctx)
	})
	c.read(ctx)
	cancel()
	c.mirror.leave(c)
	writing.Wait()
	_ = c.socket.CloseNow() // what there was to say has been said
}

func (c *conn) read(ctx context.Context) {
	for {
		kind, data, err := c.socket.Read(ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			c.end(websocket.StatusUnsupportedData, "messages must be text")
			return
		}
		c.handle(ctx, data)
		for c.full() {
			select {
			case <-c.room:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (c *conn) write(ctx context.Context) {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case <-c.wake:
		case <-ping.C:
			if c.ping(ctx) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
		for more := true; more; {
			queue, behind := c.take()
			for _, data := range queue {
				if c.writeOne(ctx, data) != nil {
					return
				}
			}
			if behind {
				c.mirror.resync(c)
			}
			more = behind
		}
		ping.Reset(pingEvery) // who takes messages is there
	}
}

func (c *conn) writeOne(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return c.socket.Write(ctx, websocket.MessageText, data)
}

// ping finds out whether the client is still there.
func (c *conn) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return c.socket.Ping(ctx)
}

// end says why and hangs up; the client may not be there to hear it.
func (c *conn) end(code websocket.StatusCode, reason string) {
	_ = c.socket.Close(code, reason)
}

// handle answers one message.
func (c *conn) handle(ctx context.Context, data []byte) {
	m, bad := decodeMessage(data)
	if bad != nil {
		c.send(encodeResponse(m.ID, nil, bad))
		return
	}
	method, known := methods[m.Method]
	var err error
	switch {
	case !known && m.ID == nil:
		return // one of a later version
	case !known:
		err = failed(codeNoMethod, "no method %q", m.Method)
	case c.client == "" && !method.first:
		err = failed(codeInvalid, "%s must come after initialize", m.Method)
	default:
		err = method.answer(c, ctx, m)
	}
	if err == nil {
		return
	}
	if rpc := new(rpcError); !errors.As(err, &rpc) {
		c.server.options.Log.Warn("channel request failed", "method", m.Method, "error", err)
	}
	c.send(encodeResponse(m.ID, nil, err))
}

// reply answers a request with a result; a notification wants none.
func (c *conn) reply(m message, result any) {
	if m.ID != nil {
		c.send(encodeResponse(m.ID, result, nil))
	}
}
