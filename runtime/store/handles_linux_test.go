package store_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// handles counts how often this process has a file open.
func handles(t *testing.T, file string) (n int) {
	t.Helper()
	links, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if at, err := os.Readlink(filepath.Join("/proc/self/fd", l.Name())); err == nil && at == file {
			n++
		}
	}
	return n
}

// TestAStoreThatWaitsHoldsItsFileTwice counts after firm and fast commits, reads,
// one after the other, and while the feed is followed.
func TestAStoreThatWaitsHoldsItsFileTwice(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, dir, notes)
	w := watch(t, db, 0, store.Filter{})
	mustWrite(t, db, "k", "firm")
	if err := db.UpdateFast(t.Context(), func(tx *store.Tx) error { tx.Append("notes", "k", []byte("fast")); return nil }); err != nil {
		t.Fatal(err)
	}
	read(t, w, 2, true)
	if n := handles(t, filepath.Join(dir, "deskhand.db")); n != 2 {
		t.Errorf("the file of the database is open %d times, want 2: one connection that writes and one that reads", n)
	}
}

// TestAReadingWaitsForNoOther has one that lasts, as of a large history. What was
// opened for the others is closed when nobody needs it.
func TestAReadingWaitsForNoOther(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, dir, notes)
	mustWrite(t, db, "k", "x")
	last, ended := make(chan struct{}), make(chan error)
	began := make(chan struct{})
	go func() {
		ended <- db.View(t.Context(), func(*store.Tx) error { close(began); <-last; return nil })
	}()
	<-began
	var others sync.WaitGroup
	for range 8 {
		others.Go(func() {
			if err := db.View(t.Context(), func(tx *store.Tx) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	others.Wait()
	close(last)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	waittest.Until(t, "the file of the database is open twice", func() (bool, any) {
		n := handles(t, filepath.Join(dir, "deskhand.db"))
		return n <= 2, n
	})
	mustWrite(t, db, "k", "after that")
	if err := db.View(t.Context(), func(tx *store.Tx) error {
		if tx.Seq != 2 {
			t.Errorf("the feed ends at %d, want 2", tx.Seq)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestAnEventOfAnotherProcessComesSoon shows both ways to hear of it.
func TestAnEventOfAnotherProcessComesSoon(t *testing.T) {
	for name, noBell := range map[string]bool{"told by the system": false, "by the clock": true} {
		t.Run(name, func(t *testing.T) {
			if noBell {
				store.NoBell(t)
			}
			place := t.TempDir()
			db := open(t, place, notes)
			w := watch(t, db, 0, store.Filter{Topic: "notes"})
			cmd, out := spawn(t, place, 1)
			events := read(t, w, 1, true)
			// A commit can be seen when it is on disk, and a machine may be busy.
			if late := time.Since(events[0].At); late > 2*time.Second {
				t.Errorf("an event came %v after its transaction had begun", late)
			}
			for out.Scan() {
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Each agent has its own process. Twenty of them that wait for events, and that write now
// and then, hold at most 25 of the server's connections.
func TestTwentyProcessesThatWaitHoldFewConnections(t *testing.T) {
	place := storetest.Postgres(t)
	checker, err := sql.Open("pgx", place)
	if err != nil {
		t.Fatal(err)
	}
	defer checker.Close()
	count := func() (n int) {
		t.Helper()
		if err := checker.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var all []*store.DB
	var watchers []*store.Watcher
	for range 20 {
		db := open(t, place, notes)
		all, watchers = append(all, db), append(watchers, watch(t, db, 0, store.Filter{}))
	}
	for round := range 3 {
		for i, db := range all {
			mustWrite(t, db, fmt.Sprint(i), "here")
		}
		for _, w := range watchers {
			read(t, w, len(all), true)
		}
		waittest.Until(t, "at most 25 connections", func() (bool, any) { n := count(); return n <= 25, n })
		if n := count(); n < 20 {
			t.Errorf("round %d: %d connections for 20 processes that listen", round, n)
		}
	}
}
