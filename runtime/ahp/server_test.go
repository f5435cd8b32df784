package ahp_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	. "github.com/deskhand/deskhand/runtime/ahp"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/page"
)

const token = "right-token-right-token"

// desk is a server of the channel on a real port, and another process's hub over
// the same store.
type desk struct {
	hub   *elicit.Hub
	url   string
	place string
	stop  func()
}

// people come in with token.
var people = web.People{Key: token, Host: "127.0.0.1"}

// hubOver is a hub with a connection of its own to a store.
func hubOver(t testing.TB, place string) *elicit.Hub {
	t.Helper()
	db, err := store.Open(context.Background(), place, elicit.Schema())
	if err != nil {
		t.Fatal(err)
	}
	hub := elicit.New(db, elicit.Options{Attended: true, Principal: "ada"})
	t.Cleanup(func() { hub.Close(); db.Close() })
	return hub
}

// serve starts a server over a store.
func serve(t testing.TB, place string, o Options) *desk {
	t.Helper()
	d := &desk{place: place, hub: hubOver(t, place)}
	o.Hub = func(context.Context) (*elicit.Hub, error) { return d.hub, nil }
	server := New(o)
	bound := make(chan net.Addr, 1)
	front, err := web.New(web.Options{
		Addr: "127.0.0.1:0", Token: "the-token-of-agents", People: people, Mounts: map[string]http.Handler{"/ahp": server}, MaxConns: 2000, Shell: page.New([]byte(token)),
		OnListen: func(a net.Addr) { bound <- a }, OnShutdown: server.Close,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- front.Serve(ctx) }()
	d.url = "ws://" + (<-bound).String() + "/ahp"
	d.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve = %v, want nil", err)
		}
		server.Close()
	})
	t.Cleanup(d.stop)
	return d
}

// ask opens a request of somebody; questions are what there is to answer.
func (d *desk) ask(t testing.TB, who string, questions ...elicit.Question) elicit.Request {
	t.Helper()
	return d.open(t, elicit.Request{Trigger: elicit.AskUser, Source: elicit.Source{Kind: "mcp", Name: who}, Questions: questions})
}

func (d *desk) open(t testing.TB, r elicit.Request) elicit.Request {
	t.Helper()
	r, err := d.hub.Open(context.WithoutCancel(t.Context()), r)
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	return r
}

func (d *desk) get(t testing.TB, id string) elicit.Request {
	t.Helper()
	r, err := d.hub.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("Get(%s) = %v", id, err)
	}
	return r
}

// raw is a client that speaks by hand.
type raw struct {
	t      testing.TB
	socket *websocket.Conn
	number int64
}

// dial connects and says nothing.
func (d *desk) dial(t testing.TB) *raw {
	t.Helper()
	socket, _, err := websocket.Dial(t.Context(), d.url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		t.Fatal(err)
	}
	socket.SetReadLimit(-1)
	t.Cleanup(func() { socket.CloseNow() })
	return &raw{t: t, socket: socket}
}

// client connects, introduces itself and watches channels.
func (d *desk) client(t testing.TB, id string, channels ...string) (*raw, []snap) {
	t.Helper()
	c := d.dial(t)
	var h hello
	c.call("initialize", map[string]any{"clientId": id, "protocolVersions": []string{"0.1.0"}, "initialSubscriptions": channels}, &h)
	return c, h.Snapshots
}

// hello is what initialize and reconnect answer.
type hello struct {
	ProtocolVersion string
	ServerSeq       int64
	Type            string
	Snapshots       []snap
	Actions         []note
	Missing         []string
}

// snap is a snapshot as it is written.
type snap struct {
	Resource string
	FromSeq  int64
	State    map[string]any
}

// note is a notification of an action as it is written.
type note struct {
	Channel         string
	Action          map[string]any
	ServerSeq       int64
	Origin          *struct{ ClientID, ClientSeq any }
	RejectionReason string
	Meta            map[string]any `json:"_meta"`
}

// frame is any message of the server.
type frame struct {
	ID     any
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    any
	}
}

func (c *raw) send(text string) {
	c.t.Helper()
	if err := c.socket.Write(c.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatalf("write %.100s: %v", text, err)
	}
}

// patience is how long something may take that happens at once.
const patience = 20 * time.Second

func (c *raw) next() frame {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	_, data, err := c.socket.Read(ctx)
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		c.t.Fatalf("read %s: %v", data, err)
	}
	return f
}

// request sends a request and returns its answer; actions that come first are
// dropped.
func (c *raw) request(method string, params any) frame {
	c.t.Helper()
	c.number++
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.number, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(string(data))
	for {
		if f := c.next(); f.Method == "" {
			return f
		}
	}
}

func (c *raw) call(method string, params, result any) {
	c.t.Helper()
	f := c.request(method, params)
	if f.Error != nil {
		c.t.Fatalf("%s(%v) = error %d %s", method, params, f.Error.Code, f.Error.Message)
	}
	if err := json.Unmarshal(f.Result, result); err != nil {
		c.t.Fatalf("%s(%v) = %s: %v", method, params, f.Result, err)
	}
}

// action waits for the next action.
func (c *raw) action() note {
	c.t.Helper()
	for {
		f := c.next()
		if f.Method != "action" {
			continue
		}
		var n note
		if err := json.Unmarshal(f.Params, &n); err != nil {
			c.t.Fatalf("action %s: %v", f.Params, err)
		}
		return n
	}
}

// dispatch sends an action, as JSON, and waits for it to come back.
func (c *raw) dispatch(channel, action string) note {
	c.t.Helper()
	c.number++
	number := c.number
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "dispatchAction",
		"params": map[string]any{"channel": channel, "clientSeq": number, "action": json.RawMessage(action)}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(string(data))
	for {
		n := c.action()
		if n.Origin != nil && n.Origin.ClientSeq == float64(number) {
			return n
		}
	}
}

// sessions are the channels that the root lists.
func (c *raw) sessions() []string {
	c.t.Helper()
	var answer struct {
		Snapshot struct {
			State struct{ Sessions []struct{ Resource string } }
		}
	}
	c.call("subscribe", map[string]any{"resource": RootURI}, &answer)
	var all []string
	for _, s := range answer.Snapshot.State.Sessions {
		all = append(all, s.Resource)
	}
	return all
}

// watch subscribes to a channel.
func (c *raw) watch(channel string) snap {
	c.t.Helper()
	var answer struct{ Snapshot snap }
	c.call("subscribe", map[string]any{"resource": channel}, &answer)
	return answer.Snapshot
}

// in goes down into decoded JSON by keys and indexes; nil: there is no such
// thing.
func in(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func dump(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// signedIn is the cookies of a browser that came by the link of a login.
func signedIn(t *testing.T, base string) string {
	t.Helper()
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := browser.Get(people.LoginLink(base, "/"))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	var all []string
	for _, c := range response.Cookies() {
		all = append(all, c.Name+"="+c.Value)
	}
	return strings.Join(all, "; ")
}

func TestTheFrontDecidesWhoMayConnect(t *testing.T) {
	d := serve(t, t.TempDir(), Options{})
	own := strings.Replace(strings.TrimSuffix(d.url, "/ahp"), "ws", "http", 1)
	cookie := signedIn(t, own)
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"a page that signed in":          {http.Header{"Cookie": {cookie}, "Origin": {own}}, 101},
		"a foreign page with its cookie": {http.Header{"Cookie": {cookie}, "Origin": {"http://127.0.0.1:1"}}, 403},
		"a cookie that was made up":      {http.Header{"Cookie": {"deskhand_session=1.2.3"}, "Origin": {own}}, 401},
		"no token":                       {http.Header{}, 401},
		"the token of agents":            {http.Header{"Authorization": {"Bearer the-token-of-agents"}}, 403},
		"a wrong token":                  {http.Header{"Authorization": {"Bearer " + token + "x"}}, 401},
		"a foreign page":                 {http.Header{"Authorization": {"Bearer " + token}, "Origin": {"https://evil.example"}}, 403},
		"the own page":                   {http.Header{"Authorization": {"Bearer " + token}, "Origin": {own}}, 101},
		"no page":                        {http.Header{"Authorization": {"Bearer " + token}}, 101},
	} {
		t.Run(name, func(t *testing.T) {
			socket, response, err := websocket.Dial(t.Context(), d.url, &websocket.DialOptions{HTTPHeader: c.header})
			if socket != nil {
				defer socket.CloseNow()
			}
			if response == nil || response.StatusCode != c.status {
				t.Errorf("Dial with %v = %+v, %v; want status %d", c.header, response, err, c.status)
			}
		})
	}
}

func TestMessagesThatAreNotRightAreAnsweredAndTheClientStays(t *testing.T) {
	d := serve(t, t.TempDir(), Options{})
	c := d.dial(t)
	for _, step := range []struct {
		send string
		code int
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"resource":"ahp-root://"}}`, -32600}, // before initialize
		{`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"clientId":"a","protocolVersions":["7.0.0","x"]}}`, -32005},
		{`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersions":["0.1.0"]}}`, -32602},
		{`{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"clientId":"a","protocolVersions":["0.1.0"]}}`, 0},
		{`{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"clientId":"a","protocolVersions":["0.1.0"]}}`, -32600},
		{`{`, -32700},
		{`[]`, -32600},
		{`[{"jsonrpc":"2.0","id":6,"method":"ping"}]`, -32600},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":8,"method":"sing"}`, -32601},
		{`{"jsonrpc":"2.0","id":9,"method":"subscribe","params":{"resource":"ahp-session:/nobody"}}`, -32001},
		{`{"jsonrpc":"2.0","id":10,"method":"subscribe","params":7}`, -32602},
		{`{"jsonrpc":"2.0","method":"dispatchAction","params":{"clientSeq":"one"}}`, -32602},
		{`{"jsonrpc":"2.0","id":"eleven","method":"ping"}`, 0},
	} {
		c.send(step.send)
		f, code := c.next(), 0
		if f.Error != nil {
			code = f.Error.Code
		}
		if code != step.code {
			t.Errorf("%s is answered with code %d (%+v), want %d", step.send, code, f.Error, step.code)
		}
	}
	c.send(`{"jsonrpc":"2.0","method":"one/of-a-later-version"}`)
	if f := c.request("ping", nil); f.Error != nil {
		t.Errorf("ping = %+v, want a result", f.Error)
	}
}

func TestMessagesThatAreTooBigOrNotTextEndTheConnection(t *testing.T) {
	d := serve(t, t.TempDir(), Options{})
	for name, c := range map[string]struct {
		kind websocket.MessageType
		size int
		want websocket.StatusCode
	}{
		"too big":  {websocket.MessageText, 1 << 20, websocket.StatusMessageTooBig},
		"not text": {websocket.MessageBinary, 8, websocket.StatusUnsupportedData},
	} {
		t.Run(name, func(t *testing.T) {
			conn := d.dial(t)
			_ = conn.socket.Write(t.Context(), c.kind, []byte(strings.Repeat(" ", c.size)))
			_, _, err := conn.socket.Read(t.Context())
			if got := websocket.CloseStatus(err); got != c.want {
				t.Errorf("after %d bytes the connection ends with %v (%v), want %v", c.size, got, err, c.want)
			}
		})
	}
}
