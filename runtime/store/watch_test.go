package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

func watch(t testing.TB, db *store.DB, seq int64, f store.Filter) *store.Watcher {
	t.Helper()
	w, err := db.Watch(context.Background(), seq, f)
	if err != nil {
		t.Fatalf("Watch(%d) = %v", seq, err)
	}
	t.Cleanup(w.Close)
	return w
}

// read takes n events from w and checks that their numbers grow, without gaps
// if w sees all.
func read(t testing.TB, w *store.Watcher, n int, whole bool) []store.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	last := w.Seq()
	var events []store.Event
	for len(events) < n {
		more, err := w.Next(ctx)
		if err != nil {
			t.Fatalf("Next = %v after %d of %d events", err, len(events), n)
		}
		for _, e := range more {
			if e.Seq <= last || whole && e.Seq != last+1 {
				t.Fatalf("event %d came after %d", e.Seq, last)
			}
			last = e.Seq
		}
		events = append(events, more...)
	}
	if len(events) > n {
		t.Fatalf("%d events came, want %d", len(events), n)
	}
	return events
}

func TestWatchersSeeEveryEventOfEveryPeerInOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		const peers, each = 3, 200
		var dbs []*store.DB
		var watchers []*store.Watcher
		for range peers {
			db := open(t, place, notes)
			dbs = append(dbs, db)
			watchers = append(watchers, watch(t, db, 0, store.Filter{}))
		}
		var wg sync.WaitGroup
		for i, db := range dbs {
			wg.Go(func() {
				for j := range each {
					if err := write(t.Context(), db, fmt.Sprint(i), fmt.Sprint(j)); err != nil {
						t.Errorf("write = %v", err)
					}
				}
			})
		}
		wg.Wait()
		for _, w := range watchers {
			next := map[string]int{}
			for _, e := range read(t, w, peers*each, true) {
				if want := fmt.Sprint(next[e.Key]); string(e.Data) != want {
					t.Fatalf("event %d of peer %s has data %q, want %q", e.Seq, e.Key, e.Data, want)
				}
				next[e.Key]++
			}
		}
	})
}

func TestWatchingFromAnyPlaceGivesTheRest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		const n = 600 // more than come at once
		db := open(t, place, notes)
		err := db.Update(t.Context(), func(tx *store.Tx) error {
			for i := range n {
				if seq := tx.Append("notes", "k", []byte(fmt.Sprint(i+1))); seq != int64(i+1) {
					t.Fatalf("Append = %d, want %d", seq, i+1)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []int64{0, 1, 255, 256, 344, 599, 600} {
			w := watch(t, db, from, store.Filter{})
			mustWrite(t, db, "k", "more")
			head := int64(0)
			db.View(t.Context(), func(tx *store.Tx) error { head = tx.Seq; return nil })
			events := read(t, w, int(head-from), true)
			if e := events[0]; e.Seq <= n && string(e.Data) != fmt.Sprint(e.Seq) {
				t.Errorf("event %d has data %q", e.Seq, e.Data)
			}
			w.Close()
		}
	})
}

func TestAWatcherSeesWhatItsFilterLetsThrough(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db, other := open(t, place, notes), open(t, place, notes)
		topic := watch(t, db, 0, store.Filter{Topic: "notes"})
		key := watch(t, db, 0, store.Filter{Topic: "notes", Key: "b"})
		old := func() *store.Watcher { return watch(t, db, 0, store.Filter{Topic: "notes", Key: "b"}) }
		for i, peer := range []*store.DB{db, other, db, other} {
			err := peer.UpdateFast(t.Context(), func(tx *store.Tx) error {
				tx.Append("notes", "a", []byte(fmt.Sprint(i)))
				tx.Append("other", "b", []byte("no"))
				tx.Append("notes", "b", []byte(fmt.Sprint(i)))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		read(t, topic, 8, false)
		for name, w := range map[string]*store.Watcher{"from memory": key, "from the table": old()} {
			for i, e := range read(t, w, 4, false) {
				if e.Topic != "notes" || e.Key != "b" || string(e.Data) != fmt.Sprint(i) {
					t.Errorf("%s: event %d is %s %s %q", name, i, e.Topic, e.Key, e.Data)
				}
			}
		}
	})
}

func TestOfEventsThatReplaceEachOtherTheNewestIsSeen(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		here, there := open(t, place, notes), open(t, place, notes)
		latest := func(db *store.DB, text string) {
			t.Helper()
			err := db.UpdateFast(t.Context(), func(tx *store.Tx) error {
				_, err := tx.AppendLatest(t.Context(), "log", "p", []byte(text))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		all := watch(t, here, 0, store.Filter{})
		for i := range 50 {
			text := fmt.Sprint(i)
			db := []*store.DB{here, there}[i%2]
			if i%5 == 0 {
				mustWrite(t, db, text, text)
			}
			latest(db, "replaced before here looks")
			latest(db, text)
			middle := watch(t, here, int64(i), store.Filter{})
			for _, w := range []*store.Watcher{all, middle} {
				for got := ""; got != text; {
					before := w.Seq()
					events, err := w.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range events {
						if e.Seq <= before {
							t.Fatalf("event %d came after %d", e.Seq, before)
						}
						before = e.Seq
						if e.Topic == "log" {
							got = string(e.Data)
						}
					}
				}
			}
			middle.Close()
		}
		var n int
		err := here.View(t.Context(), func(tx *store.Tx) error {
			return tx.QueryRow(t.Context(), "SELECT COUNT(*) FROM events").Scan(&n)
		})
		if n != 11 || err != nil {
			t.Errorf("there are %d events, %v; want 10 and the newest of the log", n, err)
		}
		if got := read(t, watch(t, there, 0, store.Filter{Topic: "notes"}), 10, false); string(got[9].Data) != "45" {
			t.Errorf("the last note is %s, want 45", got[9].Data)
		}
	})
}

func TestASlowWatcherMissesNothingAndHoldsNobodyUp(t *testing.T) {
	db := open(t, t.TempDir(), notes)
	slow := watch(t, db, 0, store.Filter{})
	fast := watch(t, db, 0, store.Filter{})
	big := strings.Repeat("x", 100<<10)
	for i := range 100 { // 10 MB: more than is kept in memory
		mustWrite(t, db, fmt.Sprint(i), big)
		read(t, fast, 1, true)
	}
	for i, e := range read(t, slow, 100, true) {
		if e.Key != fmt.Sprint(i) || len(e.Data) != len(big) {
			t.Fatalf("event %d is of %s with %d bytes, want %d with %d", e.Seq, e.Key, len(e.Data), i, len(big))
		}
	}
}

func TestAPlaceThatIsGoneIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place, notes)
		old := watch(t, db, 0, store.Filter{Topic: "none of these"})
		for i := range 5 {
			mustWrite(t, db, "k", fmt.Sprint(i))
		}
		n, err := db.Prune(t.Context(), time.Now().Add(time.Hour))
		if n != 4 || err != nil {
			t.Fatalf("Prune = %d, %v; want 4: the newest stays", n, err)
		}
		for _, seq := range []int64{0, 3, 6} {
			if w, err := db.Watch(t.Context(), seq, store.Filter{}); !errors.Is(err, store.ErrGone) {
				t.Errorf("Watch(%d) = %v, %v; want ErrGone", seq, w, err)
			}
		}
		read(t, watch(t, db, 4, store.Filter{}), 1, true)
		mustWrite(t, db, "k", "more")
		if got := read(t, watch(t, db, 5, store.Filter{}), 1, true); got[0].Seq != 6 {
			t.Errorf("the event after pruning is %d, want 6", got[0].Seq)
		}
		old.Close()
		if n, err := db.Prune(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil {
			t.Errorf("Prune of nothing = %d, %v", n, err)
		}
	})
}

// TestAProcessThatSleptTooLongGoesOn prunes what a process with a watcher has not
// read yet, as happens on a machine that sleeps or whose clock jumps.
func TestAProcessThatSleptTooLongGoesOn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		asleep, awake := open(t, place, notes), open(t, place, notes)
		old, bell := watch(t, asleep, 0, store.Filter{}), watch(t, asleep, 0, store.Filter{Topic: "notes"})
		mustWrite(t, awake, "k", "before")
		read(t, old, 1, true)
		read(t, bell, 1, true)
		wake := store.HoldReaders(asleep)
		for i := range 5 {
			mustWrite(t, awake, "k", fmt.Sprint(i))
		}
		if _, err := awake.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		wake()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if events, err := old.Next(ctx); !errors.Is(err, store.ErrGone) {
			t.Errorf("Next = %v, %v; want ErrGone", events, err)
		}
		if err := old.Resume(ctx, store.ErrGone); err != nil {
			t.Errorf("Resume = %v", err)
		}
		if err := bell.Wait(ctx); err != nil {
			t.Errorf("Wait = %v, want an event", err)
		}
		w := watch(t, asleep, 6, store.Filter{})
		mustWrite(t, awake, "k", "after")
		for name, w := range map[string]*store.Watcher{"a new": w, "a resumed": old, "a waiting": bell} {
			if got := read(t, w, 1, true); string(got[0].Data) != "after" {
				t.Errorf("%s watcher's event after sleep is %s, want after", name, got[0].Data)
			}
		}
	})
}

func TestAWatcherReturnsToTheFeedAfterAnOutage(t *testing.T) {
	server := storetest.NewServer(t)
	place := server.Database()
	here := open(t, place, notes)
	w, bell := watch(t, here, 0, store.Filter{}), watch(t, here, 0, store.Filter{Topic: "notes"})
	server.Stop()
	store.LookAtFeed(here)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := w.Next(ctx)
	if err == nil || ctx.Err() != nil {
		t.Fatalf("Next = %v while the database is stopped, want its error", err)
	}
	for range 2 {
		began := time.Now()
		if err := w.Resume(ctx, err); err != nil || time.Since(began) < time.Second {
			t.Errorf("Resume = %v after %v, want nil after a second, so that a loop does not spin", err, time.Since(began))
		}
		if _, err = w.Next(ctx); err == nil {
			t.Fatal("Next returned events of a stopped database")
		}
	}
	server.Start()
	mustWrite(t, open(t, place, notes), "k", "after")
	if err := w.Resume(ctx, err); err != nil {
		t.Error(err)
	}
	for seen := false; !seen; {
		events, err := w.Next(ctx)
		if err := w.Resume(ctx, err); err != nil {
			t.Fatal("the watcher did not return to the feed:", err)
		}
		seen = len(events) > 0 && string(events[0].Data) == "after"
	}
	for bell.Seq() == 0 {
		if err := bell.Wait(ctx); err != nil {
			t.Fatal("Wait ended with the outage:", err)
		}
	}
	server.Stop()
	gone, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	if err := w.Resume(gone, errors.New("an error of the database")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Resume = %v, want the error of its context", err)
	}
	here.Close()
	if err := w.Wait(ctx); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Wait of a closed store = %v, want ErrClosed", err)
	}
}

func TestAWatcherEndsWithItsContextAndTheStore(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place, notes)
		w := watch(t, db, 0, store.Filter{})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next = %v, want its context's error", err)
		}
		ended := make(chan error)
		go func() {
			_, err := w.Next(context.Background())
			ended <- err
		}()
		waittest.Nothing(t, "the end of Next in an open store", ended)
		db.Close()
		if err := <-ended; !errors.Is(err, store.ErrClosed) {
			t.Errorf("Next = %v, want ErrClosed", err)
		}
		if _, err := db.Watch(t.Context(), 0, store.Filter{}); err == nil {
			t.Error("Watch on a closed store gave no error")
		}
	})
}

// TestBrokenConnectionsAreMadeAnew cuts every connection to PostgreSQL, as a
// restart of the server does.
func TestBrokenConnectionsAreMadeAnew(t *testing.T) {
	place := storetest.Postgres(t)
	here, there := open(t, place, notes), open(t, place, notes)
	w := watch(t, there, 0, store.Filter{})
	mustWrite(t, here, "k", "before")
	read(t, w, 1, true)
	err := here.View(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, here, "k", "after")
	mustWrite(t, there, "k", "after")
	read(t, w, 2, true)
}

func TestPeersHearOfEachOtherSoon(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		here, there := open(t, place, notes), open(t, place, notes)
		w := watch(t, there, 0, store.Filter{Topic: "notes", Key: "k"})
		took := make([]time.Duration, 20)
		for i := range took {
			since := time.Now()
			mustWrite(t, here, "k", "x")
			read(t, w, 1, true)
			took[i] = time.Since(since)
		}
		if slices.Sort(took); took[len(took)/2] > time.Second { // the median: a busy machine may delay some
			t.Errorf("events of another peer took %v", took)
		}
	})
}
