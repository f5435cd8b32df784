package logs

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// BenchmarkOverANetwork is three hosts that write the logs of four processes each over a
// database with a round trip of 3 ms. Each batch has one entry.
func BenchmarkOverANetwork(b *testing.B) {
	const hosts, processes = 3, 4
	place := storetest.Over(b, storetest.Postgres(b), 3*time.Millisecond)
	var writers []*Writer
	for range hosts {
		db := open(b, place)
		for range processes {
			w, err := NewWriter(b.Context(), db, fmt.Sprint("process ", len(writers)), Options{})
			if err != nil {
				b.Fatal(err)
			}
			writers = append(writers, w)
		}
	}
	var all sync.WaitGroup
	b.ResetTimer()
	since := time.Now()
	for i, w := range writers {
		all.Go(func() {
			for n := range (b.N + i) / len(writers) {
				w.Append(Say(fmt.Sprint("entry ", n)))
				if err := w.Flush(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/time.Since(since).Seconds(), "batches/s")
}

// A database that stops and returns neither loses entries nor stores them twice.
func TestALogSurvivesItsDatabase(t *testing.T) {
	server := storetest.NewServer(t)
	db := open(t, server.Database())
	w := writer(t, db, Options{})
	const entries = 300
	for n := range entries {
		w.Append(Say(fmt.Sprint("entry ", n)))
		w.Raw(Stdout, fmt.Appendf(nil, "line %d\n", n))
		if n%100 == 50 {
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			server.Stop()
			w.Replace(int64(n), Say("replaced"))
			server.Start()
		}
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	closeIt(t, w)
	for _, c := range []Channel{Normalized, Raw} {
		if seen := all(t, db, c); len(seen) != entries {
			t.Errorf("%s has %d entries, want %d", c, len(seen), entries)
		}
	}
}
