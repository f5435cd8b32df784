// Package simulate gives tests a small world of hosts that share a store: a virtual clock,
// clocks that step, hosts that are cut off, and a store that is away. Everything follows
// from a seed, so a failure can be repeated.
package simulate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// World is the state of the hosts. It is for one goroutine.
type World struct {
	*rand.Rand
	now   time.Time
	away  bool // the store
	hosts []host
	trail []string
}

type host struct {
	skew time.Duration // of its clock
	cut  bool          // off the store
}

// New returns a world.
func New(seed uint64, hosts int) *World {
	return &World{Rand: rand.New(rand.NewPCG(seed, 0)), now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), hosts: make([]host, hosts)}
}

// Hosts returns how many hosts there are.
func (w *World) Hosts() int { return len(w.hosts) }

// Clock returns the wall clock of a host.
func (w *World) Clock(i int) func() time.Time {
	return func() time.Time { return w.now.Add(w.hosts[i].skew) }
}

// Now returns the true time, which only advances.
func (w *World) Now() time.Time { return w.now }

// Advance lets time pass.
func (w *World) Advance(d time.Duration) { w.now = w.now.Add(d) }

// mostSkew is how far a clock may be off.
const mostSkew = 6 * time.Hour

// Weather lets some time pass and, now and then, steps a clock, cuts a host off or brings it
// back, or takes the store away.
func (w *World) Weather() {
	w.Advance(time.Duration(w.IntN(3000)) * time.Millisecond)
	h := &w.hosts[w.IntN(len(w.hosts))]
	switch n := w.IntN(1000); {
	case n < 4:
		h.skew = time.Duration(w.Int64N(int64(2*mostSkew))) - mostSkew
		w.Note("a clock is %v off", h.skew)
	case n < 8:
		h.skew = 0
	case n < 16:
		h.cut = !h.cut
		w.Note("hosts cut off: %v", w.hosts)
	case n < 30:
		h.cut = false
	case n < 32:
		w.away = true
		w.Note("the store is away")
	case n < 60:
		w.away = false
	}
}

// Heal ends all troubles and corrects all clocks.
func (w *World) Heal() {
	w.away = false
	clear(w.hosts)
	w.Note("all is well")
}

// ErrAway is returned by Do if the store was not reached.
var ErrAway = errors.New("the store cannot be reached")

// ErrUnsure is returned by Do if f was called, but its result did not arrive.
var ErrUnsure = errors.New("the result did not arrive")

// Do calls f for a host, unless it cannot reach the store. Now and then, the result is lost.
func (w *World) Do(i int, f func() error) error {
	if w.away || w.hosts[i].cut {
		return ErrAway
	}
	err := f()
	if w.IntN(50) == 0 {
		return ErrUnsure
	}
	return err
}

// Note records what happened, for the report of a failure.
func (w *World) Note(format string, args ...any) {
	if len(w.trail) >= 60 {
		w.trail = append(w.trail[:0], w.trail[1:]...)
	}
	w.trail = append(w.trail, w.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// Broken returns the error of a rule that was broken, with what happened before.
func (w *World) Broken(format string, args ...any) error {
	return fmt.Errorf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.trail, "\n"))
}

// Steps returns the length and the seed of a simulation: SIMULATE_STEPS and SIMULATE_SEED,
// or otherwise short and seed 1.
func Steps(t testing.TB, short int) (steps int, seed uint64) {
	t.Helper()
	steps, seed = short, 1
	var err error
	if text := os.Getenv("SIMULATE_STEPS"); text != "" {
		if steps, err = strconv.Atoi(text); err != nil {
			t.Fatalf("SIMULATE_STEPS=%s: %v", text, err)
		}
	}
	if text := os.Getenv("SIMULATE_SEED"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("SIMULATE_SEED=%s: %v", text, err)
		}
	}
	return steps, seed
}

// Folder returns an empty folder, in memory if the system has one: a simulation commits
// thousands of times a second, and no machine crashes in it.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "simulate-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
