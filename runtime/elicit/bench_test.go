package elicit_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/elicit"
)

// BenchmarkAnswerFromAnotherProcess measures the time from an answer in one process
// to the waiter in another, over SQLite. For a p99 below 60 ms, run it with
// -benchtime 300x.
func BenchmarkAnswerFromAnotherProcess(b *testing.B) {
	place := b.TempDir()
	h := peer(b, place, Options{Attended: true, Rate: -1})
	_, out := spawn(b, place, "answer")
	if out.Scan(); out.Text() != "ready" {
		b.Fatalf("the other process says %q", out.Text())
	}
	var late []time.Duration
	for b.Loop() {
		r, err := h.Ask(b.Context(), greeting())
		if err != nil {
			b.Fatal(err)
		}
		given, err := strconv.ParseInt(r.Answers["name"].Value.Text, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		late = append(late, time.Since(time.UnixMicro(given)))
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds())/1000, "ms-p99")
}

// BenchmarkDraft measures one change of a draft through the hub, including the row,
// the feed and the rules.
func BenchmarkDraft(b *testing.B) {
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			h := peer(b, b.TempDir(), Options{})
			var ids []string
			for range clients {
				ids = append(ids, mustOpen(b, h, greeting()).ID)
			}
			var next atomic.Int64
			b.SetParallelism(max(1, clients/runtime.GOMAXPROCS(0)))
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				id := ids[int(next.Add(1))%clients]
				for pb.Next() {
					_, err := h.Dispatch(context.Background(), Action{Type: AnswerChanged, RequestID: id, QuestionID: "name", Answer: draft("a draft of some words")})
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "drafts/s")
		})
	}
}

// BenchmarkDraftSeenBy500 measures the time until 500 watchers have received a
// change of a draft.
func BenchmarkDraftSeenBy500(b *testing.B) {
	const watchers = 500
	h := peer(b, b.TempDir(), Options{})
	id := mustOpen(b, h, greeting()).ID
	ctx, cancel := context.WithCancel(b.Context())
	var seen, ended sync.WaitGroup
	for range watchers {
		w, err := h.Watch(ctx, 1, "")
		if err != nil {
			b.Fatal(err)
		}
		ended.Go(func() {
			defer w.Close()
			for {
				changes, err := w.Next(ctx)
				if err != nil {
					return
				}
				seen.Add(-len(changes))
			}
		})
	}
	for b.Loop() {
		seen.Add(watchers)
		must(b, h, Action{Type: AnswerChanged, RequestID: id, QuestionID: "name", Answer: draft("a draft of some words")})
		seen.Wait()
	}
	cancel()
	ended.Wait()
}

// Benchmark200Asks measures the resources of 200 concurrent asks, and the time
// until all are answered.
func Benchmark200Asks(b *testing.B) {
	const asks = 200
	for b.Loop() {
		b.StopTimer()
		place := b.TempDir()
		h := peer(b, place, Options{Attended: true, Rate: -1})
		mustOpen(b, h, greeting()) // warm up
		idle := memory()
		var waits []<-chan outcome
		for range asks {
			waits = append(waits, asking(b, b.Context(), h, greeting()))
		}
		open := first(b, h, asks+1)
		b.ReportMetric(float64(memory()-idle)/(1<<20), "MiB")
		b.StartTimer()
		for _, r := range open {
			must(b, h, accept(r.ID, "Ada"))
		}
		for _, w := range waits {
			if got := <-w; got.err != nil || !got.r.Accepted() {
				b.Fatalf("Ask = %+v, %v", got.r, got.err)
			}
		}
	}
}

// memory returns the bytes that the process has from the system, without those it
// returned.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// BenchmarkReduce measures only the rules.
func BenchmarkReduce(b *testing.B) {
	r, err := Prepare(greeting())
	if err != nil {
		b.Fatal(err)
	}
	open, err := Reduce(nil, Action{Type: Requested, RequestID: "elc_1", Request: &r})
	if err != nil {
		b.Fatal(err)
	}
	a := Action{Type: AnswerChanged, RequestID: "elc_1", QuestionID: "name", Answer: draft("a draft of some words")}
	for b.Loop() {
		if _, err := Reduce(open, a); err != nil {
			b.Fatal(err)
		}
	}
}
