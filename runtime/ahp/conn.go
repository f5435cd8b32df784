package ahp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Limits for one connection's write queue. A client that falls further behind
// receives the current state instead, once it reads again.
const (
	queueMessages = 256
	queueBytes    = 1 << 20
	writeTime     = 30 * time.Second // timeout for one message; after that the connection is closed
	pingEvery     = 30 * time.Second
)

// conn is one client's connection. It has one reader and one writer goroutine.
// The mirror pushes from its own goroutine and never blocks.
type conn struct {
	server *Server
	mirror *mirror
	socket *websocket.Conn
	cancel func() // closes the connection; nil until serve; guarded by the server's lock
	// client is the client's ID, or empty before initialize. Only the reader
	// reads it without a lock; the reader sets it under the mirror's lock.
	client  string
	watches map[string]int64 // sequence number already sent for each channel; guarded by the mirror's lock

	mu     sync.Mutex
	queue  [][]byte
	bytes  int           // size of queue
	behind bool          // whether a message was dropped
	owed   [][]byte      // messages to send after the current state
	debt   int           // size of owed
	wake   chan struct{} // buffered, capacity 1
	room   chan struct{} // buffered, capacity 1; signaled when the queue is emptied
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

// push queues a message for a watcher of uri, unless the client already has it or
// is too far behind. own reports whether the action is the client's own. A client
// waits for its own actions, so they are never dropped: they are sent after the
// current state.
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

// send queues a message that must not be dropped. There are few of these: the
// reader accepts nothing new from a client that does not read.
func (c *conn) send(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.append(data)
}

func (c *conn) append(data []byte) {
	c.queue, c.bytes = append(c.queue, data), c.bytes+len(data)
	ring(c.wake)
}

// take empties the queue. behind reports whether messages were dropped.
func (c *conn) take() (queue [][]byte, behind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue, behind = c.queue, c.behind
	c.queue, c.bytes = nil, 0
	ring(c.room)
	return queue, behind
}

// caughtUp queues the owed messages. The caller holds the mirror's lock, so
// nothing has arrived since the state was queued.
func (c *conn) caughtUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind = false
	for _, data := range c.owed {
		c.append(data)
	}
	c.owed, c.debt = nil, 0
}

// full reports whether the reader must wait.
func (c *conn) full() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)+len(c.owed) >= queueMessages || c.bytes+c.debt >= queueBytes
}

// serve reads until the client disconnects or ctx is done.
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
	_ = c.socket.CloseNow() // the error does not matter: all messages have been sent
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
		ping.Reset(pingEvery) // a client that accepts messages needs no ping
	}
}

func (c *conn) writeOne(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return c.socket.Write(ctx, websocket.MessageText, data)
}

// ping checks whether the client still responds.
func (c *conn) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return c.socket.Ping(ctx)
}

// end closes the connection with a reason. The client may already be gone.
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
		return // a notification from a later protocol version
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

// reply sends a result for a request. A notification gets no reply.
func (c *conn) reply(m message, result any) {
	if m.ID != nil {
		c.send(encodeResponse(m.ID, result, nil))
	}
}
