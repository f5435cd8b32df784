package askdoor

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// house is an ask server of the attempt "mine" and the person's hub over the same
// store.
type house struct {
	*testing.T
	*Client
	hub  *elicit.Hub
	stop func() // ends all waits
}

func newHouse(t *testing.T, attended bool) *house {
	t.Helper()
	db, err := store.Open(t.Context(), t.TempDir(), elicit.Schema())
	if err != nil {
		t.Fatal(err)
	}
	hub := elicit.New(db, elicit.Options{Attended: attended})
	stopping := make(chan struct{})
	web := httptest.NewServer(&Server{
		Hub:      func(context.Context) (*elicit.Hub, error) { return hub, nil },
		Context:  elicit.Context{AttemptID: "mine", TaskID: "task"},
		Stopping: stopping, Failed: func(err error) { t.Errorf("failed: %v", err) },
	})
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		hub.Close()
		db.Close()
	})
	return &house{t, &Client{Address: web.URL + "/mcp"}, hub, func() { close(stopping) }}
}

func one(text string) elicit.Request {
	return elicit.Request{Trigger: elicit.CLI, Questions: []elicit.Question{{ID: "q", Kind: elicit.Text, Message: text}}}
}

// answer answers the open request in the person's hub.
func (h *house) answer(r elicit.Request, text string) {
	h.Helper()
	answers, err := r.Fields(map[string][]string{"q": {text}})
	if err == nil {
		_, err = h.hub.Dispatch(context.Background(), elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Answers: answers, Channel: "web"})
	}
	if err != nil {
		h.Error(err)
	}
}

// An agent chooses its questions, but not the asker or the context.
func TestWhatIsAskedIsTheAttempts(t *testing.T) {
	h := newHouse(t, true)
	forged := one("Which?")
	forged.Trigger, forged.Source = elicit.ACPPermission, elicit.Source{Kind: "mcp", Name: "somebody"}
	forged.Context = elicit.Context{AttemptID: "theirs", TurnID: "turn"}
	forged.Proposal = &elicit.Proposal{Action: "run", Text: "ls"}
	got, err := h.Ask(t.Context(), forged, Ways{}, func(r elicit.Request) { h.answer(r, "blue") })
	if err != nil || !got.Accepted() || got.Answers["q"].Value.Text != "blue" {
		t.Fatalf("Ask = %+v, %v; want blue", got, err)
	}
	if got.Context.AttemptID != "mine" || got.Context.TurnID != "" || got.Trigger != elicit.CLI || got.Source.Kind != "cli" || got.Proposal != nil {
		t.Errorf("asked as %+v", got)
	}
	if !got.Undelivered() {
		t.Error("it counts as delivered before the client has said so")
	}
	if err := h.Delivered(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if now, err := h.hub.Get(t.Context(), got.ID); err != nil || now.Undelivered() {
		t.Errorf("after Delivered it is %+v, %v", now, err)
	}
}

// A question of another attempt cannot be read, nor found by its key.
func TestAQuestionOfAnotherAttemptIsKeptFrom(t *testing.T) {
	h := newHouse(t, true)
	theirs := one("The other's secret?")
	theirs.Context.AttemptID, theirs.Key = "theirs", "release"
	other, err := h.hub.Open(t.Context(), theirs)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() (elicit.Request, error){
		"Settled": func() (elicit.Request, error) { return h.Settled(t.Context(), other.ID) },
		"Wait":    func() (elicit.Request, error) { return h.Wait(t.Context(), other.ID) },
	} {
		if r, err := call(); fault.Of(err) == nil || fault.Of(err).Code != NotOwn || r.Message != "" {
			t.Errorf("%s = %+v, %v; want a refusal", name, r, err)
		}
	}
	if list, err := h.List(t.Context(), true, 10); err != nil || len(list.Requests) != 0 {
		t.Errorf("List = %+v, %v; want nothing", list, err)
	}
	mine := one("The other's secret?")
	mine.Key = "release"
	var ids []string
	for range 2 {
		r, err := h.Ask(t.Context(), mine, Ways{Detach: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	if list, err := h.List(t.Context(), false, 10); err != nil || len(list.Requests) != 1 || list.Requests[0].ID != ids[0] {
		t.Errorf("List = %+v, %v; want its own", list, err)
	}
	if ids[0] == other.ID || ids[0] != ids[1] {
		t.Errorf("asked with the key as %q, want one of its own besides %s", ids, other.ID)
	}
}

func TestWhereNobodyCanBeReached(t *testing.T) {
	h := newHouse(t, false)
	if r, err := h.Ask(t.Context(), one("Which?"), Ways{}, nil); fault.Of(err) == nil || fault.Of(err).Code != elicit.NoSurface {
		t.Errorf("Ask = %+v, %v; want that nobody can be reached", r, err)
	}
	assumed := map[string]elicit.Answer{"q": {State: elicit.Submitted, Value: &elicit.Value{Kind: elicit.TextValue, Text: "blue"}}}
	if r, err := h.Ask(t.Context(), one("Which?"), Ways{Assumed: assumed}, nil); err != nil || r.Completion == nil || r.Completion.By != "assumed" || r.Answers["q"].Value.Text != "blue" {
		t.Errorf("with an answer to assume: %+v, %v", r, err)
	}
	if r, err := h.Ask(t.Context(), one("Which?"), Ways{Patient: true}, func(r elicit.Request) { h.answer(r, "red") }); err != nil || r.Answers["q"].Value.Text != "red" {
		t.Errorf("with patience: %+v, %v", r, err)
	}
	attended := newHouse(t, true)
	if _, err := attended.Ask(t.Context(), one("Which?"), Ways{NoInbox: true}, nil); fault.Of(err) == nil || fault.Of(err).Code != elicit.NoSurface {
		t.Errorf("without the inbox: %v, want that nobody can be reached", err)
	}
}

// A question stays open when its client leaves or the client's server stops. The
// client may come back for the answer.
func TestTheQuestionStaysOpenWhenTheWaitEnds(t *testing.T) {
	h := newHouse(t, true)
	ctx, leave := context.WithCancel(t.Context())
	left, err := h.Ask(ctx, one("Which?"), Ways{}, func(elicit.Request) { leave() })
	if !errors.Is(err, context.Canceled) || left.ID == "" {
		t.Fatalf("Ask = %+v, %v; want what stays open", left, err)
	}
	waittest.Until(t, "nobody waits", func() (bool, any) {
		r, err := h.hub.Get(t.Context(), left.ID)
		return err == nil && r.Status == elicit.Open && r.AskerGone, r
	})
	h.answer(left, "blue")
	if r, err := h.Wait(t.Context(), left.ID); err != nil || r.Answers["q"].Value.Text != "blue" {
		t.Errorf("Wait = %+v, %v; want blue", r, err)
	}
	stopped, err := h.Ask(t.Context(), one("Who?"), Ways{}, func(elicit.Request) { h.stop() })
	if f := fault.Of(err); f == nil || f.Code != Unreachable || !strings.Contains(f.Message, stopped.ID) || stopped.ID == "" {
		t.Errorf("Ask while the server stops = %+v, %v; want what stays open", stopped, err)
	}
	if r, err := h.hub.Get(t.Context(), stopped.ID); err != nil || r.Status != elicit.Open {
		t.Errorf("it is %+v, %v; want it open", r, err)
	}
}

func TestADoorWithNobodyBehind(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"another server": http.NotFound,
		"one that dies":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"no JSON":        func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) },
	} {
		web := httptest.NewServer(answer)
		_, err := (&Client{Address: web.URL}).Ask(t.Context(), one("Which?"), Ways{}, nil)
		if f := fault.Of(err); f == nil || f.Code != Unreachable || !strings.Contains(f.Hint, "ask_user") {
			t.Errorf("%s: %v, want what to do instead", name, err)
		}
		web.Close()
	}
	for _, address := range []string{"", "http://", "127.0.0.1:1", "http://127.0.0.1:1/mcp"} {
		if _, err := (&Client{Address: address}).Settled(t.Context(), "elc_x"); fault.Of(err) == nil {
			t.Errorf("at %q: %v, want what to do instead", address, err)
		}
	}
}

func TestADoorRefusesWhatIsNoQuestion(t *testing.T) {
	h := newHouse(t, true)
	if r, err := h.Ask(t.Context(), elicit.Request{}, Ways{}, nil); fault.Of(err) == nil || fault.Of(err).Code != elicit.InvalidRequest {
		t.Errorf("Ask = %+v, %v; want an invalid request", r, err)
	}
	resp, err := http.Post(strings.TrimSuffix(h.Address, "/mcp")+Path, "application/json", strings.NewReader("{"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if r, err := h.Wait(t.Context(), "elc_unknown"); fault.Of(err) == nil || fault.Of(err).Code != elicit.UnknownRequest {
		t.Errorf("Wait = %+v, %v; want that there is none", r, err)
	}
}
