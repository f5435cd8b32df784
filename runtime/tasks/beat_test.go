package tasks

import (
	"testing"
	"time"
)

// TestOverdue: a runner is overdue if neither its lease nor its beat changes for a term, or
// for two while its lease is valid.
func TestOverdue(t *testing.T) {
	const term = 20 * time.Second
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	beat := func(at time.Duration) time.Time { return start.Add(at) }
	for name, c := range map[string]struct {
		lease time.Time
		beats bool
		after time.Duration // first seen until overdue; 0 means never
	}{
		"an expired lease":               {start.Add(-time.Second), false, term},
		"a valid lease, and no beat":     {start.Add(time.Hour), false, 2 * term},
		"an expired lease, and it beats": {start.Add(-time.Second), true, 0},
		"a valid lease, and it beats":    {start.Add(time.Hour), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			now := start
			seen := leaseObservations{now: func() time.Time { return now }}
			for at := time.Duration(0); at <= 3*term; at += term / 4 {
				now = start.Add(at)
				p := process{lease: c.lease, beat: start}
				if c.beats {
					p.beat = beat(at)
				}
				late := len(seen.overdue([]process{p}, now, term)) == 1
				if want := c.after > 0 && at >= c.after; late != want {
					t.Errorf("after %v overdue is %v, want %v", at, late, want)
				}
			}
		})
	}
}
