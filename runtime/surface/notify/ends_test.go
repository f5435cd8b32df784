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

// A hook of one project hears of nothing else, in quiet hours too.
func TestAHookOfAProjectHearsOfNoOther(t *testing.T) {
	url, _ := receiver(t)
	all, shop := hook(t, "webhook:"+url), hook(t, "Shop=webhook:"+url)
	if all.id == shop.id || shop.Name() != all.Name() {
		t.Errorf("hooks %+v and %+v", all, shop)
	}
	db, box := boxOf(t)
	hub := elicit.New(db, elicit.Options{})
	t.Cleanup(hub.Close)
	o := Options{Hub: hub, Box: box, Hooks: []Hook{all, shop}, Page: func(string) string { return "" }, Choices: func(*elicit.Request) []Choice { return nil }}
	told := func() (ways map[string]int) {
		t.Helper()
		list, err := box.List(t.Context(), outbox.Waiting)
		if err != nil {
			t.Fatal(err)
		}
		ways = map[string]int{}
		for _, m := range list {
			ways[map[string]string{all.id: "all", shop.id: "shop"}[m.Target]]++
		}
		return ways
	}
	for id, c := range map[string]elicit.Context{"elc_1": {Project: "shop", ProjectID: "p1"}, "elc_2": {Project: "secret", ProjectID: "p2"}, "elc_3": {}} {
		if err := Announce(t.Context(), o, &elicit.Request{ID: id, Title: "Go?", Context: c, Questions: []elicit.Question{{ID: "q", Message: "Go?"}}}, Announcement{}); err != nil {
			t.Fatal(err)
		}
	}
	if ways := told(); ways["all"] != 3 || ways["shop"] != 1 {
		t.Errorf("questions were told %v", ways)
	}
	o.store(t.Context(), "ended-1", End{ID: "1", Place: "shop"})
	o.store(t.Context(), "ended-2", End{ID: "2", Place: "secret"})
	o.store(t.Context(), quietEnds+"x", End{ID: "3", Place: "secret"}, End{ID: "4", Place: "other"})
	if ways := told(); ways["all"] != 6 || ways["shop"] != 2 {
		t.Errorf("with ends: %v", ways)
	}
	o.Hooks = []Hook{shop}
	n := &notifier{Options: o, held: map[string]elicit.Context{"elc_4": {Project: "secret"}}}
	n.digest(t.Context())
	if ways := told(); ways["shop"] != 2 {
		t.Errorf("the digest of another project was told: %v", ways)
	}
}
