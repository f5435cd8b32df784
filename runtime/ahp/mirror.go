package ahp

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// mirror follows the feed for all connections of this process whose callers know of the
// same requests. It reads, reduces and encodes each change once, regardless of the number
// of watchers.
type mirror struct {
	hub    *elicit.Hub
	caller access.Caller // who watches: its boundary, and if that hides anything, its name
	stop   context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	seq      int64
	advanced chan struct{}              // closed when seq grows
	requests map[string]*elicit.Request // requests that a person may still answer
	sessions sessions
	watchers map[string]map[*conn]struct{} // by channel
	clients  map[string]*conn              // by client ID: each client's newest connection
	seen     chan string                   // IDs of requests that have become visible to a watcher
}

func newMirror(hub *elicit.Hub, caller access.Caller) *mirror {
	return &mirror{
		hub: hub, caller: caller, done: make(chan struct{}), advanced: make(chan struct{}), requests: map[string]*elicit.Request{},
		watchers: map[string]map[*conn]struct{}{}, clients: map[string]*conn{}, seen: make(chan string, 256),
	}
}

// start reads the current state and follows the feed until stop is called. It
// calls lost if following fails.
func (m *mirror) start(ctx context.Context, lost func(error)) error {
	ctx = access.With(ctx, m.caller)
	state, err := m.hub.State(ctx, time.Now().Add(-lingerTime))
	if err != nil {
		return err
	}
	events, err := m.hub.Watch(ctx, state.Seq, "")
	if err != nil {
		return err
	}
	m.seq, m.sessions = state.Seq, buildSessions(state)
	for id, r := range state.Requests {
		if r.Status != elicit.Completed {
			m.requests[id] = &r
		}
	}
	m.sessions.forget(time.Now())
	running, stop := context.WithCancel(access.With(context.Background(), m.caller))
	m.stop = stop
	go func() {
		defer close(m.done)
		defer events.Close()
		var presenting sync.WaitGroup
		presenting.Go(func() { m.present(running) })
		err := m.follow(running, events)
		stop()
		presenting.Wait()
		if !errors.Is(err, context.Canceled) {
			lost(err)
		}
	}()
	return nil
}

func (m *mirror) follow(ctx context.Context, events *elicit.Watcher) error {
	swept := time.Now()
	for {
		changes, err := events.Next(ctx)
		if err != nil {
			return err
		}
		m.mu.Lock()
		for _, c := range changes {
			m.take(c)
		}
		if now := time.Now(); now.Sub(swept) > time.Minute {
			swept = now
			for _, uri := range m.sessions.forget(now) {
				m.tell(RootURI, encodeNotification("root/sessionRemoved", map[string]string{"channel": RootURI, "session": uri}))
			}
		}
		close(m.advanced)
		m.advanced = make(chan struct{})
		m.mu.Unlock()
	}
}

// take applies one change to the mirror and notifies the watchers.
func (m *mirror) take(c elicit.Change) {
	a := c.Action
	m.seq = c.Seq
	before := m.requests[a.RequestID]
	after, err := elicit.Reduce(before, a)
	if err != nil || after == nil || after == before {
		return
	}
	if after.Status == elicit.Completed {
		delete(m.requests, after.ID)
	} else {
		m.requests[after.ID] = after
	}
	uri := channelOf(after)
	session, known := m.sessions[uri]
	if !known {
		session = newSession(after)
	}
	old := session.Summary
	action, tell := project(a, before, after, session.waiting(a.RequestID))
	if !tell {
		return
	}
	action = action.ofTurn(session.Summary)
	session = session.Apply(action)
	if a.Type != elicit.AnswerChanged && a.Type != elicit.AskerReturned {
		session.Summary.ModifiedAt = max(session.Summary.ModifiedAt, a.At.UnixMilli())
	}
	m.sessions[uri] = session
	m.publish(Envelope{Channel: uri, Action: action, Seq: c.Seq, Origin: originOf(a)})
	m.summarize(known, old, session.Summary)
	if a.Type == elicit.Requested && len(m.watchers[uri]) > 0 {
		m.show(after)
	}
}

// originOf returns an action's origin, or nil if the action did not come
// through this channel.
func originOf(a elicit.Action) *Origin {
	if a.Channel != Channel || a.Client == "" {
		return nil
	}
	return &Origin{a.Client, a.ClientSeq}
}

// publish sends an action to the channel's watchers and to its sender.
func (m *mirror) publish(e Envelope) {
	var sender *conn
	if e.Origin != nil {
		sender = m.clients[e.Origin.ClientID]
	}
	if sender == nil && len(m.watchers[e.Channel]) == 0 {
		return
	}
	data := encodeNotification("action", e)
	for c := range m.watchers[e.Channel] {
		if c != sender {
			c.push(e.Channel, e.Seq, data, false)
		}
	}
	if sender != nil {
		sender.push(e.Channel, e.Seq, data, true)
	}
}

// summarize sends the change of a session's summary to the watchers of the
// root.
func (m *mirror) summarize(known bool, old, now Summary) {
	switch {
	case !known:
		m.tell(RootURI, encodeNotification("root/sessionAdded", map[string]any{"channel": RootURI, "summary": now}))
	case old != now:
		m.tell(RootURI, encodeNotification("root/sessionSummaryChanged", map[string]any{"channel": RootURI, "session": now.Resource,
			"changes": map[string]any{"status": now.Status, "modifiedAt": now.ModifiedAt}}))
	}
}

// tell sends a message that is not part of the order of actions.
func (m *mirror) tell(uri string, data []byte) {
	for c := range m.watchers[uri] {
		c.push(uri, math.MaxInt64, data, false)
	}
}

// watch adds a connection to a channel's watchers and returns the channel's
// state, or false if there is no such channel. The connection then receives
// every change after FromSeq.
func (m *mirror) watch(c *conn, uri string) (Snapshot, bool) {
	s, ok := m.snapshot(uri)
	if !ok {
		return s, false
	}
	if m.watchers[uri] == nil {
		m.watchers[uri] = map[*conn]struct{}{}
	}
	m.watchers[uri][c] = struct{}{}
	c.watches[uri] = m.seq
	for _, r := range m.sessions[uri].InputRequests {
		m.show(m.requests[r.ID])
	}
	return s, true
}

func (m *mirror) unwatch(c *conn, uri string) {
	delete(m.watchers[uri], c)
	if len(m.watchers[uri]) == 0 {
		delete(m.watchers, uri)
	}
	delete(c.watches, uri)
}

// leave removes a connection.
func (m *mirror) leave(c *conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uri := range c.watches {
		m.unwatch(c, uri)
	}
	if m.clients[c.client] == c {
		delete(m.clients, c.client)
	}
}

// Snapshot is a channel's state at a sequence number.
type Snapshot struct {
	Resource string `json:"resource"`
	State    any    `json:"state"` // RootState or SessionState
	FromSeq  int64  `json:"fromSeq"`
}

func (m *mirror) snapshot(uri string) (Snapshot, bool) {
	if uri == RootURI {
		return Snapshot{uri, m.sessions.root(), m.seq}, true
	}
	s, ok := m.sessions[uri]
	return Snapshot{uri, s, m.seq}, ok
}

// resync sends the current state to a connection that fell behind.
func (m *mirror) resync(c *conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uri := range c.watches {
		s, ok := m.snapshot(uri)
		if !ok {
			continue
		}
		a := Action{Type: Replaced, State: encode(s.State)}
		if uri == RootURI {
			a.Type = RootReplaced
		}
		c.send(encodeNotification("action", Envelope{Channel: uri, Action: a, Seq: m.seq}))
		c.watches[uri] = m.seq
	}
	c.caughtUp()
}

// reach waits until the mirror has reached seq in the feed, or ctx is done.
func (m *mirror) reach(ctx context.Context, seq int64) {
	for {
		m.mu.Lock()
		there, advanced := m.seq >= seq, m.advanced
		m.mu.Unlock()
		if there {
			return
		}
		select {
		case <-advanced:
		case <-m.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// freshen waits until the mirror includes everything that is in the store now,
// even if another process has just written it. It waits at most one second.
func (m *mirror) freshen(ctx context.Context) {
	m.mu.Lock()
	seq := m.seq
	m.mu.Unlock()
	changes, _, err := m.hub.Changes(ctx, seq, readEvents)
	if err != nil || len(changes) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	m.reach(ctx, changes[len(changes)-1].Seq)
}

// show records that a watcher can see a request. It records this only once per
// request, and drops the record instead of blocking.
func (m *mirror) show(r *elicit.Request) {
	if r == nil || slices.ContainsFunc(r.Presented, func(p elicit.Presentation) bool { return p.Channel == Channel }) {
		return
	}
	select {
	case m.seen <- r.ID:
	default:
	}
}

func (m *mirror) present(ctx context.Context) {
	for {
		select {
		case id := <-m.seen:
			// The request may have ended in the meantime, so errors are ignored.
			_, _ = m.hub.Dispatch(ctx, elicit.Action{Type: elicit.PresentedTo, RequestID: id, Channel: Channel})
		case <-ctx.Done():
			return
		}
	}
}
