// Package waittest waits for conditions in tests, with one loop and one
// deadline instead of a loop in each test. To test timing without real input or
// output, use testing/synctest instead.
package waittest

import (
	"fmt"
	"testing"
	"time"
)

// Patience is the maximum time that Until waits. A passing test never waits
// that long, so Patience allows for a busy machine.
const Patience = time.Minute

// Soon is the maximum time that a test allows for what takes no time on an idle
// machine, if the alternative is to wait for longer.
const Soon = 20 * time.Second

// The pauses between calls to look are short at first and then grow, to put less
// load on the machine.
const (
	firstPause = time.Millisecond
	mostPause  = 20 * time.Millisecond
)

// Until calls look repeatedly until done is true. look runs on the test's
// goroutine, so it may end the test. After Patience, the test fails. Its message
// contains the given description and, unless it is nil, the last value of seen.
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

// Quiet is how long Nothing and Settled wait and watch.
const Quiet = 100 * time.Millisecond

// Nothing checks that nothing arrives on a channel for the duration of Quiet. It
// cannot prove more than that, so use it only to check that something forbidden
// does not happen, and never to wait.
func Nothing[T any](t testing.TB, what string, from <-chan T) {
	t.Helper()
	select {
	case got := <-from:
		t.Fatalf("%s: came %+v, want nothing", what, got)
	case <-time.After(Quiet):
	}
}

// Settled waits until value has returned the same result for the duration of
// Quiet, and returns that result. It is for a process that runs on its own until
// it can go no further.
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
