// Package slacktest is a fake Slack for tests, on a local port. It has the API
// methods that deskhand calls, and the socket that delivers people's
// interactions. It refuses the same calls as Slack, according to the limits in
// Slack's reference.
package slacktest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// The tokens and the channel that the fake accepts.
const (
	AppToken = "xapp-1-test"
	BotToken = "xoxb-test"
	Channel  = "C0TEST"
)

// Slack is the fake server. Its methods may be called concurrently.
type Slack struct {
	server *httptest.Server

	mu         sync.Mutex
	messages   []*Message
	views      []View
	whispers   []Whisper
	complaints []string
	calls      map[string]int
	trouble    map[string][]Trouble // failures still to come, by method
	sockets    map[*websocket.Conn]bool
	acks       map[string]chan json.RawMessage
	serial     int
	changed    chan struct{} // closed and replaced at every change
}

// Message is a posted message.
type Message struct {
	Channel, TS, Text string
	Blocks            []map[string]any
	Metadata          struct {
		EventType    string         `json:"event_type"`
		EventPayload map[string]any `json:"event_payload"`
	}
	Updates int
}

// View is an opened form.
type View struct {
	ID              string           `json:"id"`
	Type            string           `json:"type"`
	CallbackID      string           `json:"callback_id"`
	PrivateMetadata string           `json:"private_metadata"`
	Blocks          []map[string]any `json:"blocks"`
	Trigger         string           `json:"-"`
}

// Whisper is a message that only one person sees.
type Whisper struct{ Channel, User, Text string }

// Trouble is a failure of one call.
type Trouble struct {
	Error      string        // Slack's error code, for example channel_not_found
	RetryAfter time.Duration // rate limit, in whole seconds
	Lost       bool          // the call succeeds, but its response is lost
}

// New starts a fake Slack that stops when the test ends.
func New(t testing.TB) *Slack {
	s := &Slack{calls: map[string]int{}, trouble: map[string][]Trouble{}, sockets: map[*websocket.Conn]bool{},
		acks: map[string]chan json.RawMessage{}, changed: make(chan struct{})}
	s.server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.Drop()
		s.server.CloseClientConnections()
		s.server.Close()
		for _, c := range s.Complaints() {
			t.Errorf("Slack would refuse it: %s", c)
		}
	})
	return s
}

// API returns the base URL of the fake's API methods.
func (s *Slack) API() string { return s.server.URL + "/api/" }

// Next makes the next call of a method fail.
func (s *Slack) Next(method string, t Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble[method] = append(s.trouble[method], t)
}

// Messages returns the current messages.
func (s *Slack) Messages() (all []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		all = append(all, *m)
	}
	return all
}

// Views returns the opened forms.
func (s *Slack) Views() []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]View(nil), s.views...)
}

// Whispers returns the messages that only one person sees.
func (s *Slack) Whispers() []Whisper {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Whisper(nil), s.whispers...)
}

// Complaints returns the reasons why the fake refused malformed calls.
func (s *Slack) Complaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.complaints...)
}

// Forgive clears the complaints and returns those that it has cleared.
func (s *Slack) Forgive() (was []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, s.complaints = s.complaints, nil
	return was
}

// Calls returns the number of calls of a method.
func (s *Slack) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Sockets returns the number of connections over which interactions can be
// sent.
func (s *Slack) Sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets)
}

// Drop closes every socket.
func (s *Slack) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.sockets {
		go c.CloseNow()
	}
}

// Until waits until ok returns true. If that takes too long, the test fails.
// most is the maximum time.
func (s *Slack) Until(t testing.TB, what string, most time.Duration, ok func() bool) {
	t.Helper()
	late := time.After(most)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-time.After(10 * time.Millisecond): // check again, because ok may depend on other state
		case <-late:
			t.Fatalf("%s did not happen within %v; messages: %s", what, most, s)
		}
	}
}

// String returns all messages, for a test's log.
func (s *Slack) String() string {
	b, err := json.MarshalIndent(s.Messages(), "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (s *Slack) bump() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ServeHTTP implements [http.Handler].
func (s *Slack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method, isAPI := strings.CutPrefix(r.URL.Path, "/api/")
	if !isAPI {
		s.socket(w, r)
		return
	}
	args, err := arguments(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.bump()
	s.calls[method]++
	var trouble Trouble
	if list := s.trouble[method]; len(list) > 0 {
		trouble, s.trouble[method] = list[0], list[1:]
	}
	switch {
	case trouble.RetryAfter > 0:
		w.Header().Set("Retry-After", fmt.Sprint(int(trouble.RetryAfter.Seconds())))
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case trouble.Error != "":
		reply(w, map[string]any{"ok": false, "error": trouble.Error})
		return
	}
	answer := s.call(method, args)
	if answer["error"] == nil {
		answer["ok"] = true
	}
	if trouble.Lost {
		panic(http.ErrAbortHandler)
	}
	reply(w, answer)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// arguments returns a call's arguments, from a form or from JSON. It includes
// the token.
func arguments(r *http.Request) (map[string]string, error) {
	args := map[string]string{"token": strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		var raw map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&raw); err != nil && err != io.EOF { // a call without arguments has no body
			return nil, err
		}
		for k, v := range raw {
			var text string
			if json.Unmarshal(v, &text) != nil {
				text = string(v)
			}
			args[k] = text
		}
		return args, nil
	}
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	for k := range r.Form {
		args[k] = r.Form.Get(k)
	}
	return args, nil
}

func (s *Slack) call(method string, args map[string]string) map[string]any {
	token := BotToken
	if method == "apps.connections.open" {
		token = AppToken
	}
	if args["token"] != token {
		return map[string]any{"ok": false, "error": "invalid_auth"}
	}
	switch method {
	case "auth.test":
		return map[string]any{"user_id": "UBOT", "team_id": "T1"}
	case "apps.connections.open":
		return map[string]any{"url": "ws" + strings.TrimPrefix(s.server.URL, "http") + "/socket"}
	case "conversations.open":
		return map[string]any{"channel": map[string]any{"id": "D" + strings.TrimPrefix(args["users"], "U")}}
	case "conversations.history":
		return s.history(args)
	case "chat.postMessage", "chat.update":
		return s.put(method, args)
	case "chat.postEphemeral":
		s.whispers = append(s.whispers, Whisper{args["channel"], args["user"], args["text"]})
		return map[string]any{"message_ts": "1.1"}
	case "views.open":
		return s.view(args)
	}
	return map[string]any{"ok": false, "error": "unknown_method"}
}

func (s *Slack) refuse(error string, problems ...string) map[string]any {
	s.complaints = append(s.complaints, problems...)
	return map[string]any{"ok": false, "error": error}
}

func (s *Slack) put(method string, args map[string]string) map[string]any {
	if args["channel"] != Channel && !strings.HasPrefix(args["channel"], "D") {
		return map[string]any{"ok": false, "error": "channel_not_found"}
	}
	m := &Message{Channel: args["channel"], Text: args["text"]}
	if err := json.Unmarshal([]byte(args["blocks"]), &m.Blocks); err != nil {
		return s.refuse("invalid_blocks_format", err.Error())
	}
	if problems := CheckMessage(m.Text, m.Blocks); len(problems) > 0 {
		return s.refuse("invalid_blocks", problems...)
	}
	if args["metadata"] != "" {
		if err := json.Unmarshal([]byte(args["metadata"]), &m.Metadata); err != nil {
			return s.refuse("invalid_metadata_format", err.Error())
		}
	}
	if method == "chat.postMessage" {
		s.serial++
		m.TS = fmt.Sprintf("%d.%06d", time.Now().Unix(), s.serial)
		s.messages = append(s.messages, m)
		return map[string]any{"channel": m.Channel, "ts": m.TS}
	}
	for i, old := range s.messages {
		if old.Channel == m.Channel && old.TS == args["ts"] {
			m.TS, m.Updates = old.TS, old.Updates+1
			s.messages[i] = m
			return map[string]any{"channel": m.Channel, "ts": m.TS, "text": m.Text}
		}
	}
	return map[string]any{"ok": false, "error": "message_not_found"}
}

func (s *Slack) history(args map[string]string) map[string]any {
	found := []map[string]any{}
	for _, m := range s.messages {
		if m.Channel != args["channel"] || strings.Split(m.TS, ".")[0] < args["oldest"] {
			continue
		}
		one := map[string]any{"type": "message", "ts": m.TS, "text": m.Text}
		if args["include_all_metadata"] == "1" || args["include_all_metadata"] == "true" {
			one["metadata"] = map[string]any{"event_type": m.Metadata.EventType, "event_payload": m.Metadata.EventPayload}
		}
		found = append(found, one)
	}
	return map[string]any{"messages": found, "has_more": false}
}

func (s *Slack) view(args map[string]string) map[string]any {
	var v View
	var raw map[string]any
	if err := json.Unmarshal([]byte(args["view"]), &v); err != nil {
		return s.refuse("invalid_arguments", err.Error())
	}
	if err := json.Unmarshal([]byte(args["view"]), &raw); err != nil {
		return s.refuse("invalid_arguments", err.Error())
	}
	if problems := CheckView(raw); len(problems) > 0 {
		return s.refuse("invalid_arguments", problems...)
	}
	s.serial++
	v.ID, v.Trigger = fmt.Sprintf("V%d", s.serial), args["trigger_id"]
	s.views = append(s.views, v)
	return map[string]any{"view": v}
}

// socket is Slack's side of socket mode.
func (s *Slack) socket(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	c.SetReadLimit(20 << 10) // Slack closes the connection if a message is longer
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hello := `{"type":"hello","num_connections":1,"connection_info":{"app_id":"A1"}}`
	if c.Write(ctx, websocket.MessageText, []byte(hello)) != nil {
		return
	}
	s.mu.Lock()
	s.sockets[c] = true
	s.bump()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.sockets, c)
		s.bump()
		s.mu.Unlock()
	}()
	go func() {
		for ctx.Err() == nil {
			_ = c.Ping(ctx)
			select {
			case <-time.After(5 * time.Second):
			case <-ctx.Done():
			}
		}
	}()
	for {
		_, b, err := c.Read(ctx)
		if err != nil {
			return
		}
		var ack struct {
			EnvelopeID string          `json:"envelope_id"`
			Payload    json.RawMessage `json:"payload"`
		}
		if json.Unmarshal(b, &ack) != nil {
			continue
		}
		s.mu.Lock()
		waiting := s.acks[ack.EnvelopeID]
		delete(s.acks, ack.EnvelopeID)
		s.mu.Unlock()
		if waiting != nil {
			waiting <- ack.Payload
		}
	}
}

// Interact sends a person's action. It returns the body of the acknowledgement,
// for which Slack waits three seconds.
func (s *Slack) Interact(t testing.TB, payload map[string]any) json.RawMessage {
	t.Helper()
	s.Until(t, "a connection", 30*time.Second, func() bool { return s.Sockets() > 0 })
	s.mu.Lock()
	s.serial++
	envelope := fmt.Sprintf("e%d", s.serial)
	answer := make(chan json.RawMessage, 1)
	s.acks[envelope] = answer
	var to *websocket.Conn
	for c := range s.sockets {
		to = c
	}
	s.mu.Unlock()
	b, err := json.Marshal(map[string]any{"type": "interactive", "envelope_id": envelope, "accepts_response_payload": true, "payload": payload})
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Write(context.Background(), websocket.MessageText, b); err != nil {
		t.Fatal(err)
	}
	select {
	case payload := <-answer:
		return payload
	case <-time.After(3 * time.Second):
		t.Fatal("no acknowledgement within three seconds")
		return nil
	}
}
