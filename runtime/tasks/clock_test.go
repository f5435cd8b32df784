package tasks

import (
	"testing"
	"time"
)

// TestTheClockStandsStillForAPerson checks that neither the time worked nor the silence
// grows while a question is open, however it was asked.
func TestTheClockStandsStillForAPerson(t *testing.T) {
	t0 := time.Unix(1_000, 0)
	after := func(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }
	var c clock
	c.begin(t0)
	check := func(at int, worked, silent int, waits bool) {
		t.Helper()
		w, s, _, now := c.times(after(at))
		if w != time.Duration(worked)*time.Second || s != time.Duration(silent)*time.Second || now != waits {
			t.Errorf("after %d s: worked %v, silent %v, waits %v; want %d s, %d s, %v", at, w, s, now, worked, silent, waits)
		}
	}
	same := func(open bool) bool { return open }
	check(5, 5, 5, false)
	c.change(after(5), 1, same) // the agent asks a question
	check(1000, 5, 0, true)
	c.change(after(1000), 0, func(bool) bool { return true }) // the question is also in the inbox
	c.change(after(2000), -1, same)
	check(3000, 5, 0, true)
	c.change(after(3000), 0, func(bool) bool { return false })
	check(3004, 9, 4, false)
	c.touch(after(3005))
	check(3007, 12, 2, false)
	c.begin(after(3007)) // the next process
	check(3008, 1, 1, false)
}
