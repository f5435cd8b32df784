package ahp

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"

	"github.com/deskhand/deskhand/runtime/store"
)

// methods lists the methods that a client may call. The field first reports
// whether the method is allowed before initialize. The function answer sends the
// reply itself; if it returns an error, the error is sent as the reply.
var methods = map[string]struct {
	first  bool
	answer func(*conn, context.Context, message) error
}{
	"initialize":     {true, (*conn).initialize},
	"reconnect":      {true, (*conn).reconnect},
	"ping":           {true, (*conn).pong},
	"subscribe":      {false, (*conn).subscribe},
	"unsubscribe":    {false, (*conn).unsubscribe},
	"listSessions":   {false, (*conn).listSessions},
	"dispatchAction": {false, (*conn).dispatch},
}

// Limits on what a client may request.
const (
	mostWatches = 1000
	maxClientID = 200 // bytes
)

// version matches MAJOR.MINOR.PATCH. The methods are the same in all versions
// so far, so the server chooses the first supported version that the client
// lists.
var version = regexp.MustCompile(`^[01]\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})$`)

// serverVersions is sent to a client that offers no supported version.
var serverVersions = []string{">=0.1.0 <2.0.0"}

// handshake is the result of initialize and reconnect.
type handshake struct {
	ProtocolVersion string          `json:"protocolVersion,omitempty"`
	Seq             int64           `json:"serverSeq"`
	ServerInfo      json.RawMessage `json:"serverInfo,omitempty"`
	Type            string          `json:"type,omitempty"`    // of reconnect: replay or snapshot
	Snapshots       []Snapshot      `json:"snapshots"`         // with a replay: only the root, which is not replayed
	Actions         *[]Envelope     `json:"actions,omitempty"` // only in a replay
	Missing         *[]string       `json:"missing,omitempty"` // only in a replay: channels that no longer exist
}

func (c *conn) initialize(ctx context.Context, m message) error {
	var p struct {
		ClientID      string   `json:"clientId"`
		Versions      []string `json:"protocolVersions"`
		Subscriptions []string `json:"initialSubscriptions"`
	}
	if err := m.params(&p); err != nil {
		return err
	}
	chosen := ""
	for _, v := range p.Versions {
		if version.MatchString(v) {
			chosen = v
			break
		}
	}
	if chosen == "" {
		err := failed(codeVersion, "the server supports none of the client's protocol versions")
		err.Data = map[string][]string{"supportedVersions": serverVersions}
		return err
	}
	if err := c.introduce(p.ClientID, p.Subscriptions); err != nil {
		return err
	}
	c.mirror.freshen(ctx)
	c.mirror.mu.Lock()
	defer c.mirror.mu.Unlock()
	c.named(p.ClientID)
	h := handshake{ProtocolVersion: chosen, ServerInfo: c.server.about(), Seq: c.mirror.seq, Snapshots: c.watchAll(p.Subscriptions)}
	c.reply(m, h)
	return nil
}

// introduce checks the parameters of initialize and reconnect.
func (c *conn) introduce(id string, subscriptions []string) error {
	switch {
	case c.client != "":
		return failed(codeInvalid, "this connection is already initialized")
	case id == "" || len(id) > maxClientID:
		return failed(codeParams, "clientId must be 1 to %d bytes long", maxClientID)
	case len(subscriptions) > mostWatches:
		return failed(codeParams, "at most %d channels can be watched per connection", mostWatches)
	}
	return nil
}

// named registers this connection to receive the echoes of the client's
// actions. The caller must hold the mirror's lock.
func (c *conn) named(id string) {
	c.client = id
	c.mirror.clients[id] = c
}

// watchAll watches the channels that exist. The caller must hold the mirror's
// lock.
func (c *conn) watchAll(uris []string) []Snapshot {
	snapshots := []Snapshot{}
	for _, uri := range uris {
		if s, ok := c.mirror.watch(c, cleanURI(uri)); ok {
			snapshots = append(snapshots, s)
		}
	}
	return snapshots
}

// target holds a method's channel, under either of its parameter names.
type target struct {
	Channel  string `json:"channel"`
	Resource string `json:"resource"`
}

func (t target) uri() string {
	if t.Resource != "" {
		return cleanURI(t.Resource)
	}
	return cleanURI(t.Channel)
}

func (c *conn) subscribe(ctx context.Context, m message) error {
	var p target
	if err := m.params(&p); err != nil {
		return err
	}
	c.mirror.freshen(ctx)
	c.mirror.mu.Lock()
	defer c.mirror.mu.Unlock()
	if _, already := c.watches[p.uri()]; !already && len(c.watches) >= mostWatches {
		return failed(codeParams, "at most %d channels can be watched per connection", mostWatches)
	}
	s, ok := c.mirror.watch(c, p.uri())
	if !ok {
		return failed(codeNoSession, "no channel %.200q: subscribe to a session listed by %s", p.Resource+p.Channel, RootURI)
	}
	c.reply(m, struct {
		Snapshot Snapshot `json:"snapshot"`
		Seq      int64    `json:"serverSeq"`
	}{s, s.FromSeq})
	return nil
}

func (c *conn) unsubscribe(_ context.Context, m message) error {
	var p target
	if err := m.params(&p); err != nil {
		return err
	}
	c.mirror.mu.Lock()
	defer c.mirror.mu.Unlock()
	c.mirror.unwatch(c, p.uri())
	c.reply(m, struct{}{})
	return nil
}

func (c *conn) listSessions(ctx context.Context, m message) error {
	c.mirror.freshen(ctx)
	c.mirror.mu.Lock()
	defer c.mirror.mu.Unlock()
	c.reply(m, map[string]any{"items": c.mirror.sessions.root().Sessions, "serverSeq": c.mirror.seq})
	return nil
}

func (c *conn) pong(_ context.Context, m message) error {
	c.reply(m, struct{}{})
	return nil
}

// reconnect sends a client the changes it missed, or the current state if it
// missed too many changes or the feed no longer has them. No change is lost
// between the reply and the next message.
func (c *conn) reconnect(ctx context.Context, m message) error {
	var p struct {
		ClientID      string   `json:"clientId"`
		LastSeen      int64    `json:"lastSeenServerSeq"`
		Subscriptions []string `json:"subscriptions"`
	}
	if err := m.params(&p); err != nil {
		return err
	}
	if err := c.introduce(p.ClientID, p.Subscriptions); err != nil {
		return err
	}
	c.mirror.freshen(ctx)
	missed, err := c.missed(ctx, p.LastSeen) // acquires the mirror's lock
	defer c.mirror.mu.Unlock()
	if err != nil && !errors.Is(err, errTooMuch) && !errors.Is(err, store.ErrGone) {
		return err
	}
	c.named(p.ClientID)
	h := handshake{Seq: c.mirror.seq, ServerInfo: c.server.about(), Snapshots: c.watchAll(p.Subscriptions)}
	if h.Type = "snapshot"; err == nil {
		c.replay(&h, p.Subscriptions, missed, p.LastSeen)
	}
	c.reply(m, h)
	return nil
}
