package elicit_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// While people answer at two hosts, the database crashes again and again. No acknowledged
// answer is lost, and nobody is told that their own answer came too late.
func TestAcknowledgedAnswersSurviveCrashesOfTheDatabase(t *testing.T) {
	server := storetest.NewServer(t)
	answerDuring(t, server.Database(), often("OUTAGES", 4), func() {
		server.Crash()
		server.Start()
	})
}

// The same, and each time a streaming replica becomes the database.
func TestAcknowledgedAnswersSurviveFailovers(t *testing.T) {
	pair := storetest.NewPair(t)
	answerDuring(t, pair.Database(), often("FAILOVERS", 1), pair.Failover)
}

// often returns the number in a variable of make outages.
func often(variable string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return otherwise
}

// answerDuring lets people answer at two hosts during outages.
func answerDuring(t *testing.T, place string, outages int, outage func()) {
	t.Helper()
	const hosts, people = 2, 3
	var hubs []*Hub
	for range hosts {
		db, err := store.Open(t.Context(), place, Schema())
		if err != nil {
			t.Fatal(err)
		}
		h := New(db, Options{Rate: -1})
		t.Cleanup(func() { h.Close(); db.Close() })
		hubs = append(hubs, h)
	}
	done := make(chan struct{})
	var mu sync.Mutex
	var acknowledged []string
	var failed int
	var all sync.WaitGroup
	for i := range hosts * people {
		h := hubs[i%hosts]
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				r, err := h.Open(context.Background(), Request{Trigger: "test", Source: Source{Kind: "agent", Name: "a"}, Message: "Go on?",
					Questions: []Question{{ID: "q", Message: "Go on?", Kind: Text}}})
				if err != nil {
					continue // the asker was not promised anything
				}
				a := Action{Type: CompletedBy, RequestID: r.ID, Response: Decline}
				for {
					_, err = h.Dispatch(context.Background(), a)
					if errors.As(err, new(*Rejection)) {
						t.Errorf("the answer to %s was refused: %v", r.ID, err)
						return
					}
					if err == nil {
						break
					}
					mu.Lock()
					failed++
					mu.Unlock()
				}
				mu.Lock()
				acknowledged = append(acknowledged, r.ID)
				mu.Unlock()
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged)
	}
	more := func() {
		want := count() + 30
		waittest.Until(t, "more answers", func() (bool, any) { return count() >= want, count() })
	}
	for range outages {
		more()
		outage()
	}
	more()
	close(done)
	all.Wait()
	for _, id := range acknowledged {
		if r, err := hubs[0].Get(t.Context(), id); err != nil || r.Status != Completed {
			t.Errorf("request %s is %q after its answer was acknowledged, %v", id, r.Status, err)
		}
	}
	t.Logf("%d answers acknowledged over %d outages, %d tries failed", len(acknowledged), outages, failed)
}
