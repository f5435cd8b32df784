package notify

import (
	"context"
	"sync"
	"testing"
	"time"
)

func TestEndsAreToldOnce(t *testing.T) {
	url, requests := receiver(t)
	var mu sync.Mutex
	seen := map[string]bool{}
	said := make(chan string, 8)
	o := Options{Hooks: []Hook{hook(t, "webhook:"+url), HookTo("slack", func(_ context.Context, m Message) error { said <- m.Text; return nil })},
		First: func(_ context.Context, id string, _ time.Time) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			defer func() { seen[id] = true }()
			return !seen[id], nil
		}}
	ctx, cancel := context.WithCancel(t.Context())
	ends, done := make(chan End), make(chan struct{})
	go func() { defer close(done); RunEnds(ctx, o, ends) }()
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
		if g.body["event"] != EndEvent || g.header.Get("Deskhand-Signature") == "" {
			t.Errorf("the webhook got %v", g.body)
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
	said := make(chan Message, 8)
	ctx, cancel := context.WithCancel(t.Context())
	ends, done := make(chan End), make(chan struct{})
	first := make(chan bool, 2)
	o := Options{Quiet: quiet, Hooks: []Hook{HookTo("x", func(_ context.Context, m Message) error { said <- m; return nil })},
		First: func(context.Context, string, time.Time) (bool, error) { first <- true; return true, nil }}
	go func() { defer close(done); RunEnds(ctx, o, ends) }()
	ends <- End{ID: "1"}
	ends <- End{ID: "2"}
	<-first
	<-first
	cancel()
	<-done
	if len(said) > 0 {
		t.Errorf("told %+v in quiet hours", <-said)
	}
	if m := heldEnds(2); m.Title != "2 attempts ended during quiet hours" || heldEnds(1).Title != "1 attempt ended during quiet hours" {
		t.Errorf("afterwards: %+v", m)
	}
}
