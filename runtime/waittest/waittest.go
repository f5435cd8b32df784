// Package waittest waits, in tests, for something that is about to happen: one
// loop with one deadline, in place of a loop in each test. Where time itself is
// the subject and nothing real is read or written, use testing/synctest.
package waittest

import (
	"fmt"
	"testing"
	"time"
)

// Patience is how long Until waits. A test that passes never waits for it, so
// it is long enough for a machine that has much else to do.
const Patience = time.Minute

// The first looks come quickly, later ones spare the machine.
const (
	firstPause = time.Millisecond
	mostPause  = 20 * time.Millisecond
)

// Until calls look again and again until it is done, on the goroutine of the
// test, so look may end the test itself. After Patience the test fails with
// what was waited for and what look saw last; a nil seen is left out.
func Until(t testing.TB, what string, look func() (done bool, seen any)) {
	t.Helper()
	pause := firstPause
	for since := time.Now(); ; pause = min(2*pause, mostPause) {
		done, seen := look()
		if done {
			return
		}
		if waited := time.Since(since); waited > Patience {
			t.Fatal(failure(what, waited, seen))
		}
		time.Sleep(pause)
	}
}

func failure(what string, waited time.Duration, seen any) string {
	text := fmt.Sprintf("waited %v for this: %s", waited.Round(time.Second), what)
	switch seen := seen.(type) {
	case nil:
		return text
	case error, string, fmt.Stringer:
		return fmt.Sprintf("%s\nseen last: %v", text, seen)
	default:
		return fmt.Sprintf("%s\nseen last: %+v", text, seen)
	}
}

// Quiet is how long Nothing and Settled watch.
const Quiet = 100 * time.Millisecond

// Nothing checks that nothing comes from a channel for as long as Quiet: what
// must not happen would mostly have happened by then. It cannot prove more, so
// it is for what a test forbids, never for what it waits for.
func Nothing[T any](t testing.TB, what string, from <-chan T) {
	t.Helper()
	select {
	case got := <-from:
		t.Fatalf("%s: came %+v, want nothing", what, got)
	case <-time.After(Quiet):
	}
}

// Settled waits until a value has been the same for as long as Quiet, and
// returns it: for what goes on by itself until it is stuck.
func Settled[T comparable](t testing.TB, what string, value func() T) T {
	t.Helper()
	last, since := value(), time.Now()
	Until(t, what, func() (bool, any) {
		if now := value(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) >= Quiet, last
	})
	return last
}
