package elicit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// bubble runs f with fake time, over SQLite in a folder, which may be given.
func bubble(t *testing.T, f func(t *testing.T, open func(Options) *Hub), folder ...string) {
	place := append(folder, t.TempDir())[0]
	synctest.Test(t, func(t *testing.T) {
		var close []func()
		defer func() {
			for i := len(close) - 1; i >= 0; i-- {
				close[i]()
			}
		}()
		f(t, func(o Options) *Hub {
			db, err := store.Open(store.ByClock(context.Background()), place, Schema())
			if err != nil {
				t.Fatal(err)
			}
			h := New(db, o)
			close = append(close, func() { h.Close(); db.Close() })
			return h
		})
	})
}

func TestAskEndsAtItsDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		for _, wait := range []time.Duration{0, 10 * time.Second} {
			h, r := open(attended), greeting()
			r.WaitMS = wait.Milliseconds()
			if wait == 0 {
				wait = 5 * time.Minute
			}
			since := time.Now()
			got, err := h.Ask(t.Context(), r)
			waited := time.Since(since)
			if err != nil || got.Completion == nil || got.Completion.Outcome != Timeout || waited < wait || waited > wait+time.Second {
				t.Errorf("Ask = %+v, %v after %v; want a timeout after %v", got.Completion, err, waited, wait)
			}
		}
	})
}

func TestALateAnswerIsDeliveredOnce(t *testing.T) {
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		h, person := open(attended), open(Options{})
		r, err := h.Ask(t.Context(), greeting())
		if err != nil || r.Status != ExpiredOpen {
			t.Fatalf("Ask = %+v, %v; want it expired", r, err)
		}
		if again, err := h.Wait(t.Context(), r.ID); err != nil || again.Completion.Outcome != Timeout {
			t.Errorf("Wait after the deadline = %+v, %v; want the timeout at once", again.Completion, err)
		}
		waiting := beside(func() (Request, error) { return h.WaitLate(t.Context(), r.ID) })
		time.Sleep(time.Minute)
		must(t, person, accept(r.ID, "Ada"))
		late := <-waiting
		if late.err != nil || !late.r.Completion.Late || late.r.Answers["name"].Value.Text != "Ada" {
			t.Errorf("WaitLate = %+v, %v; want the late answer", late.r, late.err)
		}
		if err := h.Delivered(t.Context(), late.r); err != nil {
			t.Fatal(err)
		}
		if unused, err := h.Earlier(t.Context(), greeting()); unused != nil || err != nil {
			t.Errorf("Earlier = %+v, %v; want none: it was collected", unused, err)
		}
	})
}

func beside(f func() (Request, error)) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		r, err := f()
		done <- outcome{r, err}
	}()
	return done
}

func TestLookingInAfterTheDeadlineHidesNothingFromThePerson(t *testing.T) {
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		h, person := open(attended), open(Options{})
		if r, err := h.Ask(t.Context(), greeting()); err != nil || r.Completion == nil || r.Completion.Outcome != Timeout {
			t.Fatalf("Ask = %+v, %v; want a timeout", r.Completion, err)
		}
		id := asked(t, person).ID
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if r, err := h.WaitLate(ctx, id); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("WaitLate for a second = %+v, %v; want a deadline exceeded", r, err)
		}
		if list, err := person.List(t.Context(), Filter{}); err != nil || len(list.Requests) != 1 {
			t.Errorf("List after somebody looked in = %+v, %v; want the question that is still to be answered", list.Requests, err)
		}
	})
}

func TestALateAnswerIsOfferedToWhoAsksTheSameAgain(t *testing.T) {
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		h := open(attended)
		r, err := h.Ask(t.Context(), greeting())
		if err != nil {
			t.Fatal(err)
		}
		must(t, h, accept(r.ID, "Ada"))
		stranger := greeting()
		stranger.Source.Name = "codex"
		if late, err := h.Earlier(t.Context(), stranger); late != nil || err != nil {
			t.Errorf("Earlier for another source = %+v, %v; want none", late, err)
		}
		same := greeting()
		same.Questions[0].ID = "" // generated each time
		late, err := h.Earlier(t.Context(), same)
		if err != nil || late == nil || late.ID != r.ID || late.Answers["name"].Value.Text != "Ada" {
			t.Fatalf("Earlier = %+v, %v; want the answer to %s", late, err, r.ID)
		}
		must(t, h, Action{Type: Collected, RequestID: r.ID})
		if late, err := h.Earlier(t.Context(), same); late != nil || err != nil {
			t.Errorf("Earlier after it was used = %+v, %v; want none", late, err)
		}
	})
}

func TestMoreTimeIsMoreTime(t *testing.T) {
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		h, person := open(attended), open(Options{})
		since := time.Now()
		done := asking(t, t.Context(), h, greeting())
		time.Sleep(4 * time.Minute)
		id := asked(t, person).ID
		must(t, person, Action{Type: Extended, RequestID: id, Deadline: At(since.Add(6 * time.Minute))})
		got := <-done
		if waited := time.Since(since); got.r.Completion.Outcome != Timeout || waited < 6*time.Minute || waited > 6*time.Minute+time.Second {
			t.Errorf("Ask = %+v, %v after %v; want a timeout after 6m", got.r.Completion, got.err, waited)
		}
	})
}

func TestAnyPeerEndsWhatADeadOneAsked(t *testing.T) {
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		other := open(Options{})
		asker := open(Options{})
		id := mustOpen(t, asker, greeting()).ID
		asker.Close()
		time.Sleep(7*time.Minute + time.Second) // five minutes until the deadline, two until the sweep
		if r, err := other.Get(t.Context(), id); err != nil || r.Status != ExpiredOpen {
			t.Errorf("after 7 minutes: %s, %v; want expired-open", r.Status, err)
		}
	})
}

func TestAnAskerThatDiedIsNoticed(t *testing.T) {
	place := t.TempDir()
	cmd, _ := spawn(t, place, "ask")
	h := peer(t, place, Options{})
	id := asked(t, h).ID
	if err := h.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := h.Get(t.Context(), id); err != nil || r.AskerGone {
		t.Errorf("while its asker lives: %+v, %v", r, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	lapse(t, place)
	if err := h.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := h.Get(t.Context(), id); err != nil || !r.AskerGone || r.Status != Open {
		t.Errorf("after its asker died: gone %v, %s, %v; want it open, with its asker gone", r.AskerGone, r.Status, err)
	}
}

// lapse makes all leases half a minute older.
func lapse(t *testing.T, place string) {
	t.Helper()
	db, err := store.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), "UPDATE leases SET until = until - 30000")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAWaiterWhoseLeaseLapsedIsNotGone(t *testing.T) {
	place := t.TempDir()
	h, other := peer(t, place, attended), peer(t, place, Options{})
	done := asking(t, t.Context(), h, greeting())
	id := asked(t, other).ID
	get := func() Request {
		r, err := other.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	waittest.Until(t, "a sweep sees the lapsed lease before the asker renews it", func() (bool, any) {
		lapse(t, place) // as after the machine slept
		if err := other.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := get()
		return r.Rev >= 3, r
	})
	waittest.Until(t, "after the sweep the asker comes back", func() (bool, any) {
		r := get()
		return !r.AskerGone, r
	})
	must(t, other, accept(id, "Ada"))
	if got := <-done; !got.r.Accepted() {
		t.Errorf("Ask = %+v, %v", got.r, got.err)
	}
}

// overdue opens a request and waits until its deadline has passed.
func overdue(t *testing.T, h *Hub, r Request) (id string) {
	t.Helper()
	r = mustOpen(t, h, r)
	waittest.Until(t, "the deadline is over", func() (bool, any) { return time.Now().After(r.Deadline.Time), r.Deadline })
	return r.ID
}

func TestManyPeersSweepAtOnceAndEachDeadlineEndsOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		const requests = 20
		first := peer(t, place, Options{})
		var ids []string
		for range requests {
			r := greeting()
			r.Trigger, r.WaitMS = HTTP, 1
			ids = append(ids, overdue(t, first, r))
		}
		var wg sync.WaitGroup
		for range 4 {
			h := peer(t, place, Options{})
			wg.Go(func() {
				if err := h.Sweep(t.Context()); err != nil {
					t.Errorf("Sweep = %v", err)
				}
			})
		}
		wg.Wait()
		for _, id := range ids {
			if r, err := first.Get(t.Context(), id); err != nil || r.Status != ExpiredOpen || r.Rev != 2 {
				t.Errorf("%s is %s at revision %d, %v; want it expired once", id, r.Status, r.Rev, err)
			}
		}
	})
}

func TestAnAnswerAfterTheDeadlineIsLateThoughNobodyNoticedIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := peer(t, place, Options{})
		for range 10 { // the sweeper may be faster
			r := greeting()
			r.Trigger, r.WaitMS = HTTP, 1
			id := overdue(t, h, r)
			if c := must(t, h, accept(id, "Ada")); !c.Request.Completion.Late || c.Request.Rev != 3 {
				t.Errorf("answered after the deadline: %+v at revision %d, want it late, after expiring", c.Request.Completion, c.Request.Rev)
			}
		}
	})
}

// A machine that slept for days finds that the feed no longer has what happened meanwhile.
func TestAWaitingCallGetsWhatWasAnsweredWhileItsMachineSlept(t *testing.T) {
	place := t.TempDir()
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		h, person := open(attended), open(Options{})
		db, err := store.Open(store.ByClock(t.Context()), place, Schema())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		r := greeting()
		r.Trigger = CLI
		r = mustOpen(t, h, r)
		waiting := beside(func() (Request, error) { return h.Wait(t.Context(), r.ID) })
		time.Sleep(time.Second) // the call follows the feed, and next looks after a pause
		must(t, person, accept(r.ID, "Ada"))
		mustOpen(t, person, greeting()) // the newest event is never removed
		if n, err := db.Prune(t.Context(), time.Now().Add(time.Hour)); n == 0 || err != nil {
			t.Fatalf("Prune = %d, %v", n, err)
		}
		if got := <-waiting; got.err != nil || got.r.Answers["name"].Value == nil || got.r.Answers["name"].Value.Text != "Ada" {
			t.Errorf("Wait = %+v, %v; want the answer", got.r, got.err)
		}
	}, place)
}

func TestHistoryIsKeptForItsTimeAndNoLonger(t *testing.T) {
	var ahead atomic.Int64
	h := jumping(t, &ahead)
	old, waiting := mustOpen(t, h, greeting()), greeting()
	waiting.Trigger = CLI // has no deadline
	open := mustOpen(t, h, waiting)
	must(t, h, accept(old.ID, "Ada"))
	for _, days := range []int{89, 91} {
		kept := days < 90
		ahead.Store(int64(time.Duration(days) * 24 * time.Hour))
		if err := h.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !kept {
			if r, err := h.Get(t.Context(), old.ID); err == nil {
				t.Errorf("after %d days %+v is still there", days, r)
			}
			if _, err := h.Watch(t.Context(), 0, ""); !errors.Is(err, store.ErrGone) {
				t.Errorf("Watch from the beginning after %d days = %v, want ErrGone", days, err)
			}
		} else if _, err := h.Get(t.Context(), old.ID); err != nil {
			t.Errorf("after %d days: %v", days, err)
		}
		if r, err := h.Get(t.Context(), open.ID); err != nil || r.Status != Open {
			t.Errorf("what is open after %d days: %+v, %v", days, r, err)
		}
	}
}

// jumping returns a hub whose wall clock is ahead of the machine's.
func jumping(t *testing.T, ahead *atomic.Int64) *Hub {
	t.Helper()
	db, err := store.Open(t.Context(), t.TempDir(), Schema())
	if err != nil {
		t.Fatal(err)
	}
	db.SetClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	h := New(db, attended)
	t.Cleanup(func() { h.Close(); db.Close() })
	return h
}

// TestClocksMayJump changes a store's wall clock while requests are open.
func TestClocksMayJump(t *testing.T) {
	var ahead atomic.Int64
	h := jumping(t, &ahead)
	done := asking(t, t.Context(), h, greeting())
	id := asked(t, h).ID
	ahead.Store(int64(-time.Hour))
	must(t, h, Action{Type: AnswerChanged, RequestID: id, QuestionID: "name", Answer: draft("A")})
	if err := h.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := h.Get(t.Context(), id); err != nil || r.Status != Open {
		t.Errorf("an hour back: %s, %v; want it open", r.Status, err)
	}
	ahead.Store(int64(time.Hour)) // as after a long sleep
	since := time.Now()
	if got := <-done; got.err != nil || got.r.Completion.Outcome != Timeout || time.Since(since) > 30*time.Second {
		t.Errorf("an hour on: %+v, %v after %v; want a timeout soon", got.r.Completion, got.err, time.Since(since))
	}
}

func TestCloseEndsWaitersAndLeavesTheirRequestsOpen(t *testing.T) {
	place := t.TempDir()
	h, other := peer(t, place, attended), peer(t, place, Options{})
	var waits []<-chan outcome
	for i := range 20 {
		r := greeting()
		r.Title = fmt.Sprint(i)
		waits = append(waits, asking(t, t.Context(), h, r))
	}
	first(t, other, 20)
	h.Close()
	for _, w := range waits {
		if got := <-w; got.err != ErrClosed {
			t.Errorf("Ask in a closed hub = %+v, %v; want ErrClosed", got.r, got.err)
		}
	}
	if list, err := other.List(t.Context(), Filter{}); err != nil || len(list.Requests) != 20 {
		t.Errorf("%d requests are open, %v; want 20", len(list.Requests), err)
	}
}
