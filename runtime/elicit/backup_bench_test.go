package elicit_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// BenchmarkBesideABackup is eight people who change drafts on a near PostgreSQL, without
// and with a transaction that keeps the state of the store as it was at the beginning, as a
// backup does. Each person goes to another question after 200 changes. last is the rate of
// the last quarter.
func BenchmarkBesideABackup(b *testing.B) {
	for _, beside := range []bool{false, true} {
		b.Run(fmt.Sprintf("backup=%t", beside), func(b *testing.B) {
			const people, changes = 8, 200
			place := storetest.Postgres(b)
			db, err := store.Open(b.Context(), place, Schema())
			if err != nil {
				b.Fatal(err)
			}
			h := New(db, Options{Rate: -1})
			b.Cleanup(func() { h.Close(); db.Close() })
			mustOpen(b, h, greeting())
			if beside {
				hold(b, place)
			}
			var all, quarter sync.WaitGroup
			quarter.Add(people)
			last := make(chan time.Time, 1)
			b.ResetTimer()
			since := time.Now()
			for i := range people {
				all.Go(func() {
					var id string
					each := (b.N + i) / people
					passed := sync.OnceFunc(quarter.Done)
					defer passed()
					for n := range each {
						if n == each*3/4 {
							passed()
						}
						if n%changes == 0 {
							id = mustOpen(b, h, greeting()).ID
						}
						a := Action{Type: AnswerChanged, RequestID: id, QuestionID: "name", Answer: draft(fmt.Sprint("word ", n))}
						if _, err := h.Dispatch(context.Background(), a); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			go func() { quarter.Wait(); last <- time.Now() }()
			all.Wait()
			b.ReportMetric(float64(b.N)/time.Since(since).Seconds(), "changes/s")
			b.ReportMetric(float64(b.N)/4/time.Since(<-last).Seconds(), "last/s")
		})
	}
}

// hold keeps a snapshot of a PostgreSQL database open until the test ends.
func hold(t testing.TB, place string) {
	t.Helper()
	pool, err := sql.Open("pgx", place)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := pool.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback(); pool.Close() })
	var n int
	if err := tx.QueryRow("SELECT COUNT(*) FROM requests").Scan(&n); err != nil {
		t.Fatal(err)
	}
}
