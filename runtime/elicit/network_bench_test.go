package elicit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// BenchmarkOverANetwork is what three hosts with four people each do over a database with
// a round trip of 3 ms: change drafts, and complete requests.
func BenchmarkOverANetwork(b *testing.B) {
	const hosts, people = 3, 4
	place := storetest.Over(b, storetest.Postgres(b), 3*time.Millisecond)
	hubs := make([]*Hub, hosts)
	for i := range hubs {
		db, err := store.Open(b.Context(), place, Schema())
		if err != nil {
			b.Fatal(err)
		}
		hubs[i] = New(db, Options{Rate: -1})
		b.Cleanup(func() { hubs[i].Close(); db.Close() })
	}
	ask := func(h *Hub) Request {
		r, err := h.Open(context.Background(), Request{Trigger: "test", Source: Source{Kind: "agent", Name: "a"}, Message: "Which?",
			Questions: []Question{{ID: "q", Message: "Which?", Kind: Text}}})
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	each := func(b *testing.B, do func(h *Hub, n int)) {
		var all sync.WaitGroup
		b.ResetTimer()
		since := time.Now()
		for i := range hosts * people {
			all.Go(func() { do(hubs[i%hosts], (b.N+i)/(hosts*people)) })
		}
		all.Wait()
		b.ReportMetric(float64(b.N)/time.Since(since).Seconds(), "changes/s")
	}
	b.Run("drafts", func(b *testing.B) {
		each(b, func(h *Hub, n int) {
			r := ask(h)
			for i := range n {
				a := Action{Type: AnswerChanged, RequestID: r.ID, QuestionID: "q", Answer: &Answer{State: Draft, Value: &Value{Kind: TextValue, Text: fmt.Sprint("word ", i)}}}
				if _, err := h.Dispatch(context.Background(), a); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
	b.Run("answers", func(b *testing.B) {
		var mu sync.Mutex
		open := map[*Hub][]Request{}
		for i := range b.N + hosts*people {
			h := hubs[i%hosts]
			open[h] = append(open[h], ask(h))
		}
		each(b, func(h *Hub, n int) {
			for range n {
				mu.Lock()
				r := open[h][0]
				open[h] = open[h][1:]
				mu.Unlock()
				if _, err := h.Dispatch(context.Background(), Action{Type: CompletedBy, RequestID: r.ID, Response: Decline}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
