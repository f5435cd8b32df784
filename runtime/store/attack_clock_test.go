package store_test

import (
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// Over SQLite each process has its own clock. A lease of one whose clock was
// ahead, or of the time before the clock was set back, does not outlive its
// holder by more than its length.
func TestAttackDoorsLeasesSurviveClocks(t *testing.T) {
	const ttl = 20 * time.Second
	for name, c := range map[string]struct {
		taken, looked time.Duration // by which the clocks are off
		release       bool
		once          bool
		up            bool
	}{
		"the clocks agree":                           {up: true},
		"the holder is a little ahead":               {taken: 15 * time.Second, up: true},
		"the holder was two hours ahead":             {taken: 2 * time.Hour},
		"the clock was set back by two hours":        {looked: -2 * time.Hour},
		"the holder was ahead and let go":            {taken: 2 * time.Hour, release: true},
		"the holder was a little ahead and let go":   {taken: 15 * time.Second, release: true},
		"what is used once stays used":               {looked: -2 * time.Hour, once: true, up: true},
		"the holder was behind: it lapses by itself": {taken: -time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			place := t.TempDir()
			holder, other := open(t, place), open(t, place)
			start := time.Now()
			holder.SetClock(func() time.Time { return start.Add(c.taken) })
			other.SetClock(func() time.Time { return start.Add(c.looked) })
			for _, data := range []string{"", "127.0.0.1:7000"} {
				l := store.Lease{Name: "station/inbox" + data, Holder: "a", Data: data, Once: c.once}
				if _, held, err := holder.Claim(t.Context(), l, ttl); !held || err != nil {
					t.Fatalf("Claim = %v, %v", held, err)
				}
				if c.release {
					if err := holder.Release(t.Context(), l.Name, "a"); err != nil {
						t.Fatal(err)
					}
				}
				if !c.once {
					if up := len(live(t, other, l.Name)) == 1; up != c.up {
						t.Errorf("Leases: up is %v, want %v", up, c.up)
					}
				}
				l.Holder, l.Data = "b", ""
				if got, held, err := other.Claim(t.Context(), l, ttl); err != nil || held == c.up || got.Data != data {
					t.Errorf("Claim by another = %+v, %v, %v; want held %v", got, held, err, !c.up)
				}
			}
		})
	}
}
