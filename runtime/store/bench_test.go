package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// BenchmarkUpdate is one row and one event a transaction.
func BenchmarkUpdate(b *testing.B) {
	for name, update := range map[string]func(*store.DB, context.Context, func(*store.Tx) error) error{
		"firm": (*store.DB).Update, "fast": (*store.DB).UpdateFast,
	} {
		b.Run(name, func(b *testing.B) {
			db := open(b, b.TempDir(), notes)
			for i := 0; b.Loop(); i++ {
				err := update(db, b.Context(), func(tx *store.Tx) error {
					tx.Append("notes", "k", []byte("a draft of some words"))
					_, err := tx.Exec(b.Context(), `INSERT INTO notes (id, text) VALUES (?, ?)
						ON CONFLICT (id) DO UPDATE SET text = excluded.text`, "k", "a draft of some words")
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWatchers is one event seen by 500 watchers.
func BenchmarkWatchers(b *testing.B) {
	const watchers = 500
	db := open(b, b.TempDir(), notes)
	var wg sync.WaitGroup
	var seen sync.WaitGroup
	ctx, cancel := context.WithCancel(b.Context())
	for range watchers {
		w := watch(b, db, 0, store.Filter{})
		wg.Go(func() {
			for {
				events, err := w.Next(ctx)
				if err != nil {
					return
				}
				seen.Add(-len(events))
			}
		})
	}
	for b.Loop() {
		seen.Add(watchers)
		mustWrite(b, db, "k", "a draft of some words")
		seen.Wait()
	}
	cancel()
	wg.Wait()
}

// BenchmarkLook is what one process does once a second while it waits, and some ten
// times after each write of any.
func BenchmarkLook(b *testing.B) {
	db := open(b, b.TempDir(), notes)
	for b.Loop() {
		if _, err := store.Look(db); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen is what a process pays before its first transaction.
func BenchmarkOpen(b *testing.B) {
	place := b.TempDir()
	open(b, place, notes)
	for b.Loop() {
		db, err := store.Open(b.Context(), place, notes)
		if err != nil {
			b.Fatal(err)
		}
		db.Close()
	}
}

// BenchmarkOtherProcess is the time from a commit in one process to the event
// in another, over SQLite.
func BenchmarkOtherProcess(b *testing.B) {
	place := b.TempDir()
	db := open(b, place, notes)
	w := watch(b, db, 0, store.Filter{Topic: "notes"})
	var sum, worst time.Duration
	n := 0
	for b.Loop() {
		b.StopTimer()
		cmd, out := spawn(b, place, 1)
		b.StartTimer()
		events := read(b, w, 1, true)
		late := time.Since(events[0].At)
		b.StopTimer()
		sum, worst, n = sum+late, max(worst, late), n+1
		for out.Scan() {
		}
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(sum.Milliseconds())/float64(n), "ms/event")
	b.ReportMetric(float64(worst.Milliseconds()), "ms-worst")
}
