package ahp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/coder/websocket"
)

// Client is the client side of the channel. For each watched session it holds
// the state that the server confirmed. It also holds its own actions that the
// server has not answered yet. Its methods may be called concurrently.
type Client struct {
	options ClientOptions

	mu        sync.Mutex
	link      *link // nil while disconnected
	seq       int64 // sequence number of the last action received
	number    int64 // sequence number of the client's newest own action
	watched   map[string]bool
	confirmed map[string]SessionState
	pending   []dispatching
}

// ClientOptions configure a Client. URL and ID are required.
type ClientOptions struct {
	URL    string      // scheme ws or http
	Header http.Header // for example Authorization
	ID     string      // unique to this client and stable across reconnects
	// OnAction, unless nil, is called in order with each action and the
	// confirmed state after it. It must not call the client.
	OnAction func(Envelope, SessionState)
}

// dispatching is an action that the server has not answered yet.
type dispatching struct {
	Channel string `json:"channel"`
	Seq     int64  `json:"clientSeq"`
	Action  Action `json:"action"`
}

// link is one connection. done is closed when the connection has ended.
type link struct {
	socket *websocket.Conn
	done   chan struct{}

	mu      sync.Mutex
	ended   bool
	number  int
	waiting map[string]waiting
}

// waiting is a pending call.
type waiting struct {
	then     func(json.RawMessage) error // processes the result; nil if it is ignored
	answered chan error                  // buffered, capacity 1
}

// result is the response to a request.
type result struct {
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// ErrNotConnected is returned while there is no connection. Call
// [Client.Connect] to connect.
var ErrNotConnected = errors.New("the channel is not connected")

// NewClient returns a client without a connection.
func NewClient(o ClientOptions) *Client {
	return &Client{options: o, watched: map[string]bool{}, confirmed: map[string]SessionState{}}
}

// Connect connects, replacing any existing connection. A client that was
// connected before resumes: it receives the actions that it missed and resends
// those that the server has not answered.
func (c *Client) Connect(ctx context.Context) error {
	c.Disconnect()
	socket, _, err := websocket.Dial(ctx, c.options.URL, &websocket.DialOptions{HTTPHeader: c.options.Header})
	if err != nil {
		return fmt.Errorf("connect to channel: %w", err)
	}
	socket.SetReadLimit(-1) // no limit: the server is deskhand itself
	l := &link{socket: socket, done: make(chan struct{}), waiting: map[string]waiting{}}
	go c.read(l)
	c.mu.Lock()
	c.link = l
	first, seq := len(c.watched) == 0 && c.seq == 0, c.seq
	subscriptions := slices.Sorted(maps.Keys(c.watched))
	c.mu.Unlock()
	if first {
		return c.call(ctx, "initialize", map[string]any{"channel": RootURI, "clientId": c.options.ID, "protocolVersions": []string{"0.3.0"}}, nil)
	}
	// The reader processes this answer before it reads the next message.
	return c.call(ctx, "reconnect", map[string]any{
		"channel": RootURI, "clientId": c.options.ID, "lastSeenServerSeq": seq, "subscriptions": subscriptions,
	}, func(data json.RawMessage) error { return c.resume(ctx, l, data) })
}

// Disconnect closes the connection. The client keeps its state.
func (c *Client) Disconnect() {
	c.mu.Lock()
	l := c.link
	c.link = nil
	c.mu.Unlock()
	if l != nil {
		_ = l.socket.CloseNow() // the error does not matter: the connection is being dropped
		<-l.done
	}
}

// Sessions lists the server's sessions, most recently changed first.
func (c *Client) Sessions(ctx context.Context) (sessions []Summary, err error) {
	var list struct{ Items []Summary }
	err = c.call(ctx, "listSessions", target{Channel: RootURI}, func(data json.RawMessage) error { return json.Unmarshal(data, &list) })
	return list.Items, err
}

// Subscribe starts watching a session.
func (c *Client) Subscribe(ctx context.Context, uri string) error {
	return c.call(ctx, "subscribe", target{Channel: uri, Resource: uri}, func(data json.RawMessage) error {
		var answer struct{ Snapshot sessionSnapshot }
		if err := json.Unmarshal(data, &answer); err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.watched[uri] = true
		c.put(answer.Snapshot)
		return nil
	})
}

// sessionSnapshot is a Snapshot of a session.
type sessionSnapshot struct {
	Resource string
	State    SessionState
	FromSeq  int64
}

// put stores a snapshot. The caller must hold c.mu.
func (c *Client) put(s sessionSnapshot) {
	c.confirmed[s.Resource], c.seq = s.State, max(c.seq, s.FromSeq)
}

// Dispatch applies an action locally and sends it. Without a connection it
// returns ErrNotConnected, and the next Connect sends the action.
func (c *Client) Dispatch(ctx context.Context, uri string, a Action) (clientSeq int64, err error) {
	c.mu.Lock()
	c.number++
	d := dispatching{uri, c.number, a}
	c.pending = append(c.pending, d)
	l := c.link
	c.mu.Unlock()
	if l == nil {
		return d.Seq, ErrNotConnected
	}
	return d.Seq, l.write(ctx, encodeNotification("dispatchAction", d))
}

// State returns a session's state including the pending actions, and whether
// the session is watched.
func (c *Client) State(uri string) (SessionState, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.confirmed[uri]
	for _, d := range c.pending {
		if d.Channel == uri {
			s = s.Apply(d.Action)
		}
	}
	return s, ok
}

// Seq returns the sequence number of the last action received.
func (c *Client) Seq() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seq
}

// Pending returns the number of actions that the server has not answered.
func (c *Client) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

// resume processes the result of reconnect and resends the pending actions.
func (c *Client) resume(ctx context.Context, l *link, data json.RawMessage) error {
	var h struct {
		Type      string
		Actions   []Envelope
		Snapshots []sessionSnapshot
		Missing   []string
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return err
	}
	for _, e := range h.Actions {
		c.receive(e)
	}
	c.mu.Lock()
	for _, s := range h.Snapshots {
		c.put(s)
	}
	for _, uri := range h.Missing {
		delete(c.watched, uri)
		delete(c.confirmed, uri)
	}
	again := slices.Clone(c.pending)
	c.mu.Unlock()
	for _, d := range again {
		if err := l.write(ctx, encodeNotification("dispatchAction", d)); err != nil {
			return err
		}
	}
	return nil
}

// receive processes an action from the server.
func (c *Client) receive(e Envelope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Origin != nil && e.Origin.ClientID == c.options.ID {
		c.pending = slices.DeleteFunc(c.pending, func(d dispatching) bool { return d.Seq == e.Origin.ClientSeq })
	}
	s, watched := c.confirmed[e.Channel]
	replaced := sessionSnapshot{Resource: e.Channel, FromSeq: e.Seq}
	switch {
	case !watched || e.RejectionReason != "":
	case e.Action.Type == Replaced:
		if json.Unmarshal(e.Action.State, &replaced.State) == nil {
			c.put(replaced)
		}
	case e.Seq > c.seq: // otherwise the state already includes it
		c.confirmed[e.Channel], c.seq = s.Apply(e.Action), e.Seq
	}
	if c.options.OnAction != nil {
		c.options.OnAction(e, c.confirmed[e.Channel])
	}
}

// read processes the server's messages until the connection ends.
func (c *Client) read(l *link) {
	defer close(l.done)
	defer l.end()
	for {
		_, data, err := l.socket.Read(context.Background())
		if err != nil {
			return
		}
		var m struct {
			ID     string          `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
			result
		}
		if json.Unmarshal(data, &m) != nil {
			continue
		}
		if m.Method == "" {
			l.answer(m.ID, m.result)
			continue
		}
		var e Envelope
		if m.Method == "action" && json.Unmarshal(m.Params, &e) == nil {
			c.receive(e)
		}
	}
}

// call sends a request and waits for the response. If a function is given, it
// processes the result before the next message is read.
func (c *Client) call(ctx context.Context, method string, params any, then func(json.RawMessage) error) error {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l == nil {
		return ErrNotConnected
	}
	id, answered := l.expect(then)
	request := struct {
		JSONRPC string `json:"jsonrpc"`
		ID      string `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", id, method, params}
	if err := l.write(ctx, encode(request)); err != nil {
		return err
	}
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// expect registers a pending call. If the connection has ended, answered
// already holds an error.
func (l *link) expect(then func(json.RawMessage) error) (id string, answered <-chan error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	w := waiting{then, make(chan error, 1)}
	if l.ended {
		w.answered <- ErrNotConnected
		return "", w.answered
	}
	id = strconv.Itoa(l.number)
	l.waiting[id] = w
	return id, w.answered
}

func (l *link) answer(id string, r result) {
	l.mu.Lock()
	w, ok := l.waiting[id]
	delete(l.waiting, id)
	l.mu.Unlock()
	if !ok {
		return
	}
	var err error
	switch {
	case r.Error != nil:
		err = r.Error
	case w.then != nil:
		err = w.then(r.Result)
	}
	w.answered <- err
}

// end fails all pending calls.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, w := range l.waiting {
		w.answered <- ErrNotConnected
	}
	clear(l.waiting)
}

func (l *link) write(ctx context.Context, data []byte) error {
	if err := l.socket.Write(ctx, websocket.MessageText, data); err != nil {
		return fmt.Errorf("write to channel: %w", err)
	}
	return nil
}
