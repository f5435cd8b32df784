package ahp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/ahp"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/racetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// room follows the feed with the room's own reducer, and keeps for each place in
// it what a session looked like there.
type room struct {
	mu     sync.Mutex
	all    map[string]elicit.State // by session
	of     map[string]string       // the session of a request
	states map[int64][2]string     // the session that changed, and its state
	seq    int64
}

func follow(t *testing.T, hub *elicit.Hub) *room {
	w, err := hub.Watch(t.Context(), 0, "")
	if err != nil {
		t.Fatal(err)
	}
	r := &room{all: map[string]elicit.State{}, of: map[string]string{}, states: map[int64][2]string{}}
	var following sync.WaitGroup
	following.Go(func() {
		defer w.Close()
		for {
			changes, err := w.Next(t.Context())
			if err != nil {
				return
			}
			r.mu.Lock()
			for _, c := range changes {
				r.take(t, c)
			}
			r.mu.Unlock()
		}
	})
	t.Cleanup(following.Wait)
	return r
}

func (r *room) take(t *testing.T, c elicit.Change) {
	r.seq = c.Seq
	id := c.Action.RequestID
	var before *elicit.Request
	if known, ok := r.all[r.of[id]].Requests[id]; ok {
		before = &known
	}
	after, err := elicit.Reduce(before, c.Action)
	if err != nil || after == nil {
		t.Errorf("Reduce(%s) at %d = %v, %v", c.Action.Type, c.Seq, after, err)
		return
	}
	uri := ChannelOf(*after)
	if r.of[id] = uri; r.all[uri].Requests == nil {
		r.all[uri] = elicit.State{Requests: map[string]elicit.Request{}}
	}
	r.all[uri].Requests[id] = *after
	r.states[c.Seq] = [2]string{uri, essence(Sessions(r.all[uri])[uri])}
}

// at is which session changed at a place in the feed, and how it was then.
func (r *room) at(t *testing.T, seq int64) (uri, state string) {
	t.Helper()
	var found [2]string
	waittest.Until(t, fmt.Sprintf("the feed comes to %d", seq), func() (bool, any) {
		r.mu.Lock()
		defer r.mu.Unlock()
		found = r.states[seq]
		return r.seq >= seq, r.seq
	})
	return found[0], found[1]
}

// essence is a session as JSON, without when it changed: actions do not tell.
// Where nothing is waited for it is without its turn, as the order of two ends within
// a millisecond is not kept.
func essence(s SessionState) string {
	s.Summary.ModifiedAt, s.Summary.CreatedAt = 0, 0
	if !slices.ContainsFunc(s.InputRequests, func(r InputRequest) bool { return r.Meta.TurnEnd == nil }) {
		s.ActiveTurn, s.Summary.Status = nil, 0
	}
	return dump(s)
}

// TestEveryHistoryIsSeenAsTheRoomKnowsIt lets a client and another process act at
// random on a session's requests, some of which run out of time meanwhile. The
// client loses its connection at random and comes back. At each place in the
// feed that it is told of it has what the room has, and in the end what the
// server tells a newcomer.
func TestEveryHistoryIsSeenAsTheRoomKnowsIt(t *testing.T) {
	histories := 1000
	if testing.Short() || racetest.On {
		histories = 100
	}
	d := serve(t, t.TempDir(), Options{})
	known := follow(t, d.hub) // of this process, as another may come too late for drafts
	const workers = 4
	var told, replays atomic.Int64
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for number := worker; number < histories && !t.Failed(); number += workers {
				(&history{t: t, desk: d, known: known, told: &told, replays: &replays, number: number,
					random: rand.New(rand.NewPCG(uint64(number), 42))}).run()
			}
		})
	}
	wg.Wait()
	if told.Load() < int64(histories) || replays.Load() < int64(histories)/2 {
		t.Errorf("%d actions were compared and %d connections resumed: too few", told.Load(), replays.Load())
	}
}

type history struct {
	t             *testing.T
	desk          *desk
	known         *room
	told, replays *atomic.Int64
	number        int
	random        *rand.Rand

	mu    sync.Mutex
	heard []string // what the client was told

	client    *Client
	resuming  atomic.Bool
	connected bool
	uri       string
	requests  []string
}

func (h *history) run() {
	ctx := context.WithoutCancel(h.t.Context())
	h.connect(ctx)
	defer h.client.Disconnect()
	for range 24 {
		switch n := h.random.IntN(12); {
		case n == 0 && len(h.requests) < 3:
			h.open()
		case n == 1 && h.connected:
			h.client.Disconnect()
			h.connected = false
		case n <= 2 && !h.connected:
			h.resume(ctx)
		case n < 8:
			h.fromClient(ctx)
		default:
			h.fromElsewhere(ctx)
		}
	}
	if !h.connected {
		h.resume(ctx)
	}
	h.end(ctx)
}

func (h *history) fail(format string, args ...any) {
	h.t.Errorf("history %d: %s\n%s", h.number, fmt.Sprintf(format, args...), h.trail())
}

// trail is what happened to the requests, and what the client was told.
func (h *history) trail() string {
	var b strings.Builder
	changes, _, err := h.desk.hub.Changes(context.Background(), 0, 1<<20)
	if err != nil {
		return err.Error()
	}
	for _, c := range changes {
		if slices.Contains(h.requests, c.Action.RequestID) {
			fmt.Fprintf(&b, "happened %d: %s\n", c.Seq, dump(c.Action))
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return b.String() + strings.Join(h.heard, "\n")
}

func (h *history) connect(ctx context.Context) {
	h.client = NewClient(ClientOptions{
		URL: h.desk.url, Header: http.Header{"Authorization": {"Bearer " + token}}, ID: fmt.Sprint("client-", h.number), OnAction: h.compare,
	})
	h.open()
	if err := errors.Join(h.client.Connect(ctx), h.client.Subscribe(ctx, h.uri)); err != nil {
		h.fail("connect: %v", err)
	}
	h.connected = true
}

func (h *history) resume(ctx context.Context) {
	h.resuming.Store(true)
	if err := h.client.Connect(ctx); err != nil {
		h.fail("connect again: %v", err)
	}
	h.resuming.Store(false)
	h.connected = true
	h.replays.Add(1)
}

// compare holds what the client has to what the room has. What is told again
// after a connection was lost is not told as it was: drafts are forgotten. What
// changed nothing has the place of another action.
func (h *history) compare(e Envelope, s SessionState) {
	h.mu.Lock()
	h.heard = append(h.heard, fmt.Sprintf("told, resuming %v: %s", h.resuming.Load(), dump(e)))
	h.mu.Unlock()
	if h.resuming.Load() || e.RejectionReason != "" {
		return
	}
	uri, want := h.known.at(h.t, e.Seq)
	if uri != h.uri {
		return
	}
	if got := essence(s); got != want {
		h.fail("at %d after %s the client has\n%s\nthe room has\n%s", e.Seq, dump(e), got, want)
	}
	h.told.Add(1)
}

func (h *history) open() {
	r := elicit.Request{
		Trigger: elicit.AskUser, Source: elicit.Source{Kind: "mcp", Name: "agent", Instance: fmt.Sprint(h.number)},
		Context: elicit.Context{AttemptID: fmt.Sprint("attempt-", h.number)}, OnTurnEnd: elicit.OnTurnEnd(h.pick("keep", "abandon")),
		Questions: []elicit.Question{
			{ID: "name", Message: "Who?", Required: true},
			{ID: "size", Kind: elicit.Integer, Message: "How big?"},
			{ID: "style", Kind: elicit.SingleSelect, Message: "Which?", Options: elicit.OptionsOf("CSS", "Sass"), AllowFreeform: true},
		},
	}
	if h.random.IntN(3) == 0 {
		r.WaitMS = int64(1 + h.random.IntN(30))
	}
	if h.random.IntN(3) == 0 {
		r.Clock = elicit.FromPresentation
	}
	opened := h.desk.open(h.t, r)
	h.requests = append(h.requests, opened.ID)
	if h.uri == "" {
		h.uri = ChannelOf(opened)
	}
}

func (h *history) pick(list ...string) string { return list[h.random.IntN(len(list))] }

// answer is mostly one that fits its question.
func (h *history) answer() (question string, a *Answer) {
	values := map[string]string{
		"name": h.pick(`{"kind":"text","value":"Ada"}`, `{"kind":"text","value":""}`), "size": h.pick(`{"kind":"number","value":3}`, `{"kind":"number","value":3.5}`),
		"style": h.pick(`{"kind":"selected","value":"CSS"}`, `{"kind":"selected","value":"","freeformValues":["mine"]}`),
		"song":  `{"kind":"boolean","value":true}`,
	}
	question = h.pick("name", "name", "name", "size", "style", "song")
	value := values[question]
	if h.random.IntN(10) == 0 {
		value = values["song"]
	}
	text := fmt.Sprintf(`{"state":%q,"value":%s}`, h.pick("draft", "draft", "submitted"), value)
	switch h.random.IntN(8) {
	case 0:
		return question, nil
	case 1:
		text = `{"state":"skipped"}`
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		h.fail("%s: %v", text, err)
	}
	return question, a
}

func (h *history) fromClient(ctx context.Context) {
	a := Action{RequestID: h.pick(h.requests...)}
	if h.random.IntN(8) == 0 {
		a.Type, a.Response = Completed, elicit.Outcome(h.pick("accept", "decline", "cancel", "maybe"))
	} else {
		a.Type = AnswerChanged
		a.QuestionID, a.Answer = h.answer()
	}
	if _, err := h.client.Dispatch(ctx, h.uri, a); err != nil && !errors.Is(err, ErrNotConnected) {
		h.fail("dispatch: %v", err)
	}
}

func (h *history) fromElsewhere(ctx context.Context) {
	a := elicit.Action{RequestID: h.pick(h.requests...), Channel: "web", Client: "page"}
	switch h.random.IntN(10) {
	case 0:
		a.Type, a.Response = elicit.CompletedBy, elicit.Outcome(h.pick("accept", "decline"))
	case 1:
		a.Type, a.Reason = elicit.Withdrawn, h.pick("complete", "error", "asker_gone")
	case 2:
		a.Type, a.Deadline = elicit.Extended, elicit.At(time.Now().Add(time.Duration(h.random.IntN(100))*time.Millisecond))
	case 3:
		a.Type = elicit.PresentedTo
	case 4:
		a.Type = elicit.ActionType(h.pick(string(elicit.AskerLeft), string(elicit.AskerReturned)))
	case 5:
		t := elicit.AttemptTurn{AttemptID: fmt.Sprint("attempt-", h.number), Reason: h.pick(elicit.TurnCompleted, elicit.TurnFailed, elicit.TurnStopped)}
		nextMillisecond()
		if err := h.desk.hub.EndAttempt(ctx, t); err != nil {
			h.fail("EndAttempt: %v", err)
		}
		nextMillisecond()
		return
	default:
		question, answer := h.answer()
		a.Type, a.QuestionID = elicit.AnswerChanged, question
		if answer != nil {
			a.Answer = &elicit.Answer{State: answer.State, Value: (*elicit.Value)(answer.Value)}
		}
	}
	var refused *elicit.Rejection
	if _, err := h.desk.hub.Dispatch(ctx, a); err != nil && !errors.As(err, &refused) {
		h.fail("%s elsewhere: %v", a.Type, err)
	}
}

// nextMillisecond comes with the next millisecond: the order of two ends within
// one is not kept.
func nextMillisecond() {
	for now := time.Now().UnixMilli(); time.Now().UnixMilli() == now; {
		runtime.Gosched()
	}
}

// end waits until the client has what a newcomer is told.
func (h *history) end(ctx context.Context) {
	newcomer := NewClient(ClientOptions{URL: h.desk.url, Header: http.Header{"Authorization": {"Bearer " + token}}, ID: "newcomer"})
	if err := newcomer.Connect(ctx); err != nil {
		h.fail("connect: %v", err)
		return
	}
	defer newcomer.Disconnect()
	var got, want SessionState
	for since := time.Now(); time.Since(since) < patience; time.Sleep(time.Millisecond) {
		if err := newcomer.Subscribe(ctx, h.uri); err != nil {
			h.fail("subscribe: %v", err)
			return
		}
		got, _ = h.client.State(h.uri)
		want, _ = newcomer.State(h.uri)
		got.Summary.ModifiedAt = want.Summary.ModifiedAt
		if h.client.Pending() == 0 && dump(got) == dump(want) {
			return
		}
	}
	h.fail("the client ends with %d pending and\n%s\na newcomer with\n%s", h.client.Pending(), dump(got), dump(want))
}
