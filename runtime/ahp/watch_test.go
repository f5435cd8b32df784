package ahp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	. "github.com/deskhand/deskhand/runtime/ahp"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/waittest"
)

func TestASessionIsWhatARequestBelongsTo(t *testing.T) {
	mcp := elicit.Source{Kind: "mcp", Name: "claude", Instance: "c1"}
	base := ChannelOf(elicit.Request{ID: "elc_1", Source: mcp})
	for name, c := range map[string]struct {
		request elicit.Request
		want    string // empty: that of the same asker
	}{
		"a session":             {elicit.Request{Source: mcp, Context: elicit.Context{SessionID: "s 1", AttemptID: "a1"}}, "ahp-session:/s%201"},
		"an attempt":            {elicit.Request{Source: mcp, Context: elicit.Context{AttemptID: "a1"}}, "ahp-session:/a1"},
		"a conversation":        {elicit.Request{Source: mcp, Context: elicit.Context{ConversationID: "c/1"}}, "ahp-session:/c%2F1"},
		"the same asker":        {elicit.Request{ID: "elc_2", Source: mcp}, base},
		"another client":        {elicit.Request{Source: elicit.Source{Kind: "mcp", Name: "claude", Instance: "c2"}}, ""},
		"another folder":        {elicit.Request{Source: mcp, Context: elicit.Context{CWD: "/src/app"}}, ""},
		"a newer version of it": {elicit.Request{Source: elicit.Source{Kind: "mcp", Name: "claude", Instance: "c1", Version: "2"}}, base},
	} {
		got := ChannelOf(c.request)
		if c.want != "" && got != c.want || c.want == "" && (got == base || !strings.HasPrefix(got, "ahp-session:/asker-")) {
			t.Errorf("%s: the session of %+v is %s, want %s", name, c.request.Source, got, c.want)
		}
	}
}

func TestTheRootListsSessionsAsTheyComeAndChange(t *testing.T) {
	d := serve(t, t.TempDir(), Options{})
	c, snapshots := d.client(t, "a", RootURI)
	if len(snapshots) != 1 || in(snapshots[0].State, "activeSessions") != 0.0 {
		t.Fatalf("the root is %s, want no sessions", dump(snapshots))
	}
	r := d.open(t, elicit.Request{Trigger: elicit.CLI, Message: "Go?", Source: elicit.Source{Kind: "cli", Name: "deskhand ask"},
		Context: elicit.Context{CWD: "/src/my app", Branch: "main", ProjectID: "p1"}})
	added := c.next()
	var p struct {
		Summary map[string]any
		Session string
		Changes map[string]any
	}
	if err := json.Unmarshal(added.Params, &p); err != nil || added.Method != "root/sessionAdded" {
		t.Fatalf("first comes %s %s, want root/sessionAdded", added.Method, added.Params)
	}
	for key, want := range map[string]any{"title": "deskhand ask in my app", "status": inputNeeded, "workingDirectory": "file:///src/my%20app"} {
		if p.Summary[key] != want {
			t.Errorf("the summary has %s %v, want %v", key, p.Summary[key], want)
		}
	}
	uri, _ := p.Summary["resource"].(string)
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":1,"action":%s}}`, uri, completed(r.ID, "accept")))
	for {
		f := c.next()
		if f.Method != "root/sessionSummaryChanged" {
			continue
		}
		if err := json.Unmarshal(f.Params, &p); err != nil || p.Session != uri || p.Changes["status"] != inProgress {
			t.Errorf("then comes %s, want the status InProgress", f.Params)
		}
		break
	}
	var list struct{ Items []map[string]any }
	if c.call("listSessions", map[string]any{"channel": RootURI}, &list); len(list.Items) != 1 || list.Items[0]["resource"] != uri {
		t.Errorf("listSessions = %s, want %s", dump(list), uri)
	}
}

func TestARequestWhoseTimeIsUpIsNoLongerOpenAndCanBeAnswered(t *testing.T) {
	d := serve(t, t.TempDir(), Options{})
	r := d.ask(t, "claude", name)
	c, _ := d.client(t, "a")
	uri := c.session()
	if s := c.watch(uri); in(s.State, "inputRequests", 0, "_meta", "deadline") == nil {
		t.Errorf("the state is %s, want a deadline", dump(s))
	}
	soon := elicit.Action{Type: elicit.Extended, RequestID: r.ID, Deadline: elicit.At(time.Now().Add(100 * time.Millisecond))}
	for _, err := d.hub.Dispatch(t.Context(), soon); err != nil; _, err = d.hub.Dispatch(t.Context(), soon) { // it has passed on a machine that is busy
		soon.Deadline = elicit.At(time.Now().Add(100 * time.Millisecond))
	}
	if n := c.action(); n.Action["type"] != Requested {
		t.Errorf("when the deadline moves comes %s, want %s", dump(n), Requested)
	}
	if n := c.action(); n.Action["type"] != Completed || n.Action["response"] != "cancel" || in(n.Action, "_meta", "outcome") != "timeout" {
		t.Errorf("at the deadline comes %s, want %s with outcome timeout", dump(n), Completed)
	}
	if s := c.watch(uri); s.State["inputRequests"] != nil || in(s.State, "summary", "status") != inProgress {
		t.Errorf("after it the state is %s, want nothing open", dump(s))
	}
	c.taken(uri, changed(r.ID, "name", text("submitted", "Ada")))
	if n := c.taken(uri, completed(r.ID, "accept")); in(n.Action, "_meta", "late") != true {
		t.Errorf("the late answer comes back as %s, want a mark", dump(n))
	}
	if r := d.ended(t, r.ID, elicit.Accept); !r.Completion.Late {
		t.Errorf("the request ended with %+v, want a late answer", r.Completion)
	}
}

func TestADeadlineThatMovesIsTold(t *testing.T) {
	d := serve(t, t.TempDir(), Options{})
	r := d.open(t, elicit.Request{Trigger: elicit.AskUser, Clock: elicit.FromPresentation, Questions: []elicit.Question{name}})
	c, _ := d.client(t, "a")
	uri := c.session()
	if s := c.watch(uri); in(s.State, "inputRequests", 0, "_meta", "deadline") != nil {
		t.Errorf("the state is %s, want no deadline before somebody could see it", dump(s))
	}
	c.taken(uri, changed(r.ID, "name", text("draft", "A")))
	for _, why := range []string{"somebody can see it", "it is extended"} {
		if why == "it is extended" {
			a := elicit.Action{Type: elicit.Extended, RequestID: r.ID, Deadline: elicit.At(time.Now().Add(time.Hour))}
			if _, err := d.hub.Dispatch(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		want := ""
		waittest.Until(t, why+", and there is a deadline", func() (bool, any) {
			at := d.get(t, r.ID).Deadline
			want = strings.Trim(dump(at), `"`)
			return !at.IsZero(), nil
		})
		waittest.Until(t, why+", and the request has the draft and deadline "+want, func() (bool, any) {
			request, _ := in(c.watch(uri).State, "inputRequests", 0).(map[string]any)
			return in(request, "_meta", "deadline") == want && in(request, "answers", "name") != nil, dump(request)
		})
	}
}

func TestWhatWasMissedIsToldByAnyProcess(t *testing.T) {
	place := t.TempDir()
	first, second := serve(t, place, Options{}), serve(t, place, Options{})
	r := first.ask(t, "claude", name, age)
	c, _ := first.client(t, "a")
	uri := c.session()
	seen := c.taken(uri, changed(r.ID, "name", text("draft", "A"))).ServerSeq
	first.stop()
	if _, _, err := c.socket.Read(t.Context()); err == nil {
		t.Error("the connection outlives its server")
	}
	other := second.ask(t, "claude", age)
	for i := range 3 {
		answer := elicit.Answer{State: elicit.Draft, Value: &elicit.Value{Kind: elicit.TextValue, Text: fmt.Sprint("Ad", i)}}
		if _, err := second.hub.Dispatch(t.Context(), elicit.Action{Type: elicit.AnswerChanged, RequestID: r.ID, QuestionID: "name", Answer: &answer}); err != nil {
			t.Fatal(err)
		}
	}
	again := second.dial(t)
	var h hello
	again.call("reconnect", map[string]any{"clientId": "a", "lastSeenServerSeq": seen, "subscriptions": []string{uri, RootURI}}, &h)
	if h.Type != "replay" || len(h.Actions) != 4 || in(h.Actions[0].Action, "request", "id") != other.ID ||
		in(h.Actions[3].Action, "answer", "value", "value") != "Ad2" || len(h.Snapshots) != 1 || h.Snapshots[0].Resource != RootURI {
		t.Errorf("reconnect = %s, want the request and three drafts, and the root", dump(h))
	}
	for i, a := range h.Actions {
		if a.ServerSeq <= seen {
			t.Errorf("action %d has sequence number %d, not more than %d", i, a.ServerSeq, seen)
		}
		seen = a.ServerSeq
	}
	// What comes next has no gap.
	again.taken(uri, changed(r.ID, "name", text("draft", "Ada")))
}

func TestWhoMissedTooMuchGetsTheState(t *testing.T) {
	d := serve(t, t.TempDir(), Options{Replay: 10})
	r := d.ask(t, "claude", name)
	c, _ := d.client(t, "watching")
	uri := c.session()
	for i := range 11 {
		answer := elicit.Answer{State: elicit.Draft, Value: &elicit.Value{Kind: elicit.TextValue, Text: fmt.Sprint(i)}}
		if _, err := d.hub.Dispatch(t.Context(), elicit.Action{Type: elicit.AnswerChanged, RequestID: r.ID, QuestionID: "name", Answer: &answer}); err != nil {
			t.Fatal(err)
		}
	}
	for name, seen := range map[string]int64{"too much": 1, "of another store": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			again := d.dial(t)
			var h hello
			again.call("reconnect", map[string]any{"clientId": name, "lastSeenServerSeq": seen, "subscriptions": []string{uri}}, &h)
			if h.Type != "snapshot" || len(h.Snapshots) != 1 || in(h.Snapshots[0].State, "inputRequests", 0, "answers", "name", "value", "value") != "10" {
				t.Errorf("reconnect from %d = %s, want a snapshot with the last draft", seen, dump(h))
			}
		})
	}
}

// narrow accepts connections that hold little of what is not read.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(8 << 10)
	}
	return c, err
}

// serveNarrow is a desk behind narrow connections, without a front.
func serveNarrow(t *testing.T) *desk {
	t.Helper()
	d := &desk{hub: hubOver(t, t.TempDir())}
	server := New(Options{Hub: func(context.Context) (*elicit.Hub, error) { return d.hub, nil }})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := &http.Server{Handler: server}
	var serving sync.WaitGroup
	serving.Go(func() { _ = front.Serve(narrow{listener}) })
	t.Cleanup(func() { front.Close(); server.Close(); serving.Wait() })
	d.url = "ws://" + listener.Addr().String()
	return d
}

func TestAClientThatDoesNotReadHoldsNobodyUpAndGetsTheState(t *testing.T) {
	d := serveNarrow(t)
	r := d.ask(t, "claude", name)
	slow, _ := d.client(t, "slow")
	uri := slow.session()
	slow.watch(uri)
	slow.watch(RootURI)
	quick, _ := d.client(t, "quick", uri)
	const drafts = 500
	long := strings.Repeat("x", 4_000)
	var worst time.Duration
	for i := range drafts { // 2 MB in all: more than the sockets and the queue hold
		sent := time.Now()
		quick.taken(uri, changed(r.ID, "name", text("draft", fmt.Sprint(i, long))))
		worst = max(worst, time.Since(sent))
	}
	if worst > 10*time.Second {
		t.Errorf("a draft took %v beside a client that does not read", worst)
	}
	quick.taken(uri, completed(r.ID, "decline"))
	var kinds []string
	told := 0
	for {
		n := slow.action()
		told++
		if n.Action["type"] == Replaced {
			kinds = append(kinds, Replaced)
			if in(n.Action, "state", "inputRequests") == nil {
				break // the state of now
			}
		}
		if n.Action["type"] == Completed {
			break
		}
	}
	if len(kinds) == 0 || told > drafts {
		t.Errorf("the slow client is told %d actions, and the state %d times; want fewer than %d, and the state", told, len(kinds), drafts)
	}
	if s := slow.watch(uri); s.State["inputRequests"] != nil {
		t.Errorf("the slow client then sees %s, want nothing open", dump(s))
	}
}

func TestThereIsRoomForSoManyClientsAndNoMore(t *testing.T) {
	d := serve(t, t.TempDir(), Options{MaxClients: 2})
	a, _ := d.client(t, "a")
	d.client(t, "b")
	dial := func() (int, error) {
		socket, response, err := websocket.Dial(t.Context(), d.url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
		if socket != nil {
			socket.CloseNow()
		}
		if response == nil {
			return 0, err
		}
		return response.StatusCode, nil
	}
	if status, err := dial(); status != http.StatusServiceUnavailable {
		t.Errorf("the third is answered with %d, %v; want 503", status, err)
	}
	a.socket.CloseNow()
	waittest.Until(t, "there is room after one has left", func() (bool, any) {
		status, _ := dial()
		return status == http.StatusSwitchingProtocols, status
	})
}

func TestUnsubscribeEndsTheTelling(t *testing.T) {
	d := serve(t, t.TempDir(), Options{})
	r := d.ask(t, "claude", name)
	c, _ := d.client(t, "a")
	uri := c.session()
	c.watch(uri)
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":%q}}`, uri))
	if f := c.request("ping", nil); f.Error != nil {
		t.Fatal(f.Error)
	}
	d.ask(t, "claude", age)
	// Its own actions still come back, and nothing before them.
	if n := c.dispatch(uri, changed(r.ID, "name", text("draft", "A"))); n.RejectionReason != "" || n.Action["type"] != AnswerChanged {
		t.Errorf("after unsubscribe comes %s, want the own action", dump(n))
	}
}

// BenchmarkWatchers is one draft seen by 500 clients of one session over
// sockets: the time until the last has it, and the memory of the server and the
// clients' ends together.
func BenchmarkWatchers(b *testing.B) {
	const watchers = 500
	d := serve(b, b.TempDir(), Options{MaxClients: watchers + 1})
	r := d.ask(b, "claude", name)
	typist, _ := d.client(b, "typist")
	uri := typist.session()
	before := heap()
	ctx, cancel := context.WithCancel(b.Context())
	var seen, reading sync.WaitGroup
	for i := range watchers {
		c, _ := d.client(b, fmt.Sprint("watcher-", i), uri)
		reading.Go(func() {
			for {
				if _, _, err := c.socket.Read(ctx); err != nil {
					return
				}
				seen.Done()
			}
		})
	}
	all := heap() - before
	n := 0
	for b.Loop() {
		n++
		seen.Add(watchers)
		typist.taken(uri, changed(r.ID, "name", text("draft", fmt.Sprint(n))))
		seen.Wait()
	}
	b.ReportMetric(float64(all)/(1<<20), "MiB")
	cancel()
	reading.Wait()
}

// heap is what is in use, with the stacks of goroutines.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
