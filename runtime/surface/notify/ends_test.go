package notify

import (
	"context"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/waittest"
)

func TestEndsAreToldOnce(t *testing.T) {
	url, requests := receiver(t)
	said := make(chan string, 8)
	db, box := boxOf(t)
	hub := elicit.New(db, elicit.Options{})
	t.Cleanup(hub.Close)
	hooks := []Hook{hook(t, "webhook:"+url), HookTo("slack", func(_ context.Context, m Message) error { said <- m.Text; return nil })}
	sends(t, hub, box, hooks)
	ctx, cancel := context.WithCancel(t.Context())
	ends, done := make(chan End), make(chan struct{})
	go func() { defer close(done); RunEnds(ctx, Options{Box: box, Hooks: hooks}, ends) }()
	for _, e := range []End{
		{ID: "ended-1", Title: "Failed: Round\u202e prices", Body: "out of luck", Asker: "fake", Place: "shop", URL: "http://desk/work/attempts/1", Failed: true},
		{ID: "ended-1", Title: "again"}, {ID: "ended-2", Title: "Completed: Two"},
	} {
		ends <- e
	}
	titles := map[any]bool{}
	for range 2 {
		g := <-requests
		titles[g.body["title"]] = true
		if g.body["event"] != EndEvent || g.header.Get("Deskhand-Signature") == "" || g.header.Get("Idempotency-Key") == "" {
			t.Errorf("the webhook got %v %v", g.header, g.body)
		}
		<-said
	}
	if !titles["Failed: Round\ufffd prices"] || !titles["Completed: Two"] {
		t.Errorf("titles = %v", titles)
	}
	cancel()
	<-done
	if len(requests) > 0 || len(said) > 0 {
		t.Error("an end was told twice")
	}
}

func TestQuietHoursHoldEnds(t *testing.T) {
	now := time.Now()
	quiet, err := ParseQuiet(now.Add(-time.Hour).Format("15:04") + "-" + now.Add(time.Hour).Format("15:04"))
	if err != nil {
		t.Fatal(err)
	}
	_, box := boxOf(t)
	ctx, cancel := context.WithCancel(t.Context())
	ends, done := make(chan End), make(chan struct{})
	hooks := []Hook{HookTo("x", func(context.Context, Message) error { return nil })}
	go func() { defer close(done); RunEnds(ctx, Options{Box: box, Quiet: quiet, Hooks: hooks}, ends) }()
	ends <- End{ID: "1"}
	ends <- End{ID: "2"}
	cancel()
	<-done
	if all, err := box.List(t.Context(), outbox.Waiting); err != nil || len(all) > 0 {
		t.Errorf("stored %+v, %v in quiet hours", all, err)
	}
	if m := heldEnds(2); m.Title != "2 attempts ended during quiet hours" || heldEnds(1).Title != "1 attempt ended during quiet hours" {
		t.Errorf("afterwards: %+v", m)
	}
}

// A hook that is away gets the message later, from any process. One that refuses is dead.
func TestAHookThatIsAwayIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		answer int
		want   outbox.State
	}{
		"unavailable": {503, outbox.Waiting}, "too many": {429, outbox.Waiting}, "slow": {408, outbox.Waiting},
		"there": {200, outbox.Sent}, "refused": {403, outbox.Dead}, "not there": {404, outbox.Dead}, "moved elsewhere": {302, outbox.Dead},
	} {
		t.Run(name, func(t *testing.T) {
			double := newDouble(t)
			double.answer(c.answer, map[string]string{"Retry-After": "3600", "Location": "http://127.0.0.1:1/"}, "")
			hub, box := runs(t, Options{Hooks: []Hook{hook(t, "webhook:"+double.URL+"/hook")}})
			r := ask(t, hub, "Deploy", "")
			m := tried(t, box, r.ID)
			if m.State != c.want || m.Tries != 1 {
				t.Errorf("%+v, want it %s", m, c.want)
			}
			if wait := time.Until(m.Due); c.want == outbox.Waiting && (wait < 59*time.Minute || wait > 61*time.Minute) {
				t.Errorf("the next try is in %v, want the hour that the receiver asks for", wait)
			}
		})
	}
}

// tried waits until the first message about a question was tried.
func tried(t *testing.T, box *outbox.Box, request string) (m outbox.Message) {
	t.Helper()
	waittest.Until(t, "a try", func() (bool, any) {
		all, err := box.List(t.Context(), outbox.Waiting, outbox.Sent, outbox.Dead, outbox.Dropped)
		for _, one := range all {
			if one.Request == request && one.Reason != outbox.Ended {
				m = one
			}
		}
		return m.State != outbox.Waiting && m.ID != "" || m.Error != "", err
	})
	return m
}
