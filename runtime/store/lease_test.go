package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

func TestALeaseHasOneHolderUntilItLapses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db, ctx := open(t, place), t.Context()
		claim := func(holder, data string, ttl time.Duration) (store.Lease, bool) {
			t.Helper()
			l, held, err := db.Claim(ctx, store.Lease{Name: "inbox", Holder: holder, Data: data}, ttl)
			if err != nil {
				t.Fatal(err)
			}
			return l, held
		}
		if l, held := claim("a", "127.0.0.1:7000", time.Hour); !held || l.Holder != "a" {
			t.Fatalf("first claim = %+v, %v; want it held by a", l, held)
		}
		if l, held := claim("b", "127.0.0.1:8000", time.Hour); held || l.Holder != "a" || l.Data != "127.0.0.1:7000" {
			t.Fatalf("second claim = %+v, %v; want a's", l, held)
		}
		if l, held := claim("a", "", time.Nanosecond); !held || l.Data != "127.0.0.1:7000" {
			t.Fatalf("renewal = %+v, %v; want it held, with the old data", l, held)
		}
		lapsed(t)
		if l, held := claim("b", "", time.Hour); !held || l.Data != "127.0.0.1:7000" {
			t.Fatalf("claim of a lapsed lease = %+v, %v; want it held by b at the old address", l, held)
		}
		if err := db.Release(ctx, "inbox", "a"); err != nil {
			t.Fatal(err)
		}
		if got := live(t, db, "in"); len(got) != 1 || got[0].Holder != "b" {
			t.Errorf("leases after a stranger's Release = %+v, want b's", got)
		}
		if err := db.Release(ctx, "inbox", "b"); err != nil {
			t.Fatal(err)
		}
		if got := live(t, db, ""); len(got) != 0 {
			t.Errorf("leases after Release = %+v, want none", got)
		}
	})
}

// lapsed waits until a lease of no time has lapsed: the store counts in
// milliseconds.
func lapsed(t *testing.T) {
	t.Helper()
	since := time.Now()
	waittest.Until(t, "two milliseconds are over", func() (bool, any) { return time.Since(since) > 2*time.Millisecond, nil })
}

func TestOfLeasesThatEndedTheirDataStays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db, ctx := open(t, place), t.Context()
		for name, ttl := range map[string]time.Duration{"released": time.Hour, "released with data": time.Hour, "lapsed": 0, "lapsed with data": 0, "held": time.Hour} {
			l := store.Lease{Name: name, Holder: "a"}
			if strings.HasSuffix(name, "data") {
				l.Data = "127.0.0.1:7000"
			}
			if _, held, err := db.Claim(ctx, l, ttl); !held || err != nil {
				t.Fatalf("Claim(%s) = %v, %v", name, held, err)
			}
			if strings.HasPrefix(name, "released") {
				if err := db.Release(ctx, name, "a"); err != nil {
					t.Fatal(err)
				}
			}
		}
		lapsed(t)
		for _, step := range []struct {
			before time.Duration // ago
			want   int
		}{{time.Hour, 3}, {-time.Minute, 1}} {
			if _, err := db.Prune(ctx, time.Now().Add(-step.before)); err != nil {
				t.Fatal(err)
			}
			var n int
			err := db.View(ctx, func(tx *store.Tx) error {
				return tx.QueryRow(ctx, "SELECT COUNT(*) FROM leases").Scan(&n)
			})
			if err != nil || n != step.want {
				t.Errorf("after Prune of what lapsed %v ago there are %d leases, %v; want %d", step.before, n, err, step.want)
			}
		}
	})
}

func live(t *testing.T, db *store.DB, prefix string) (leases []store.Lease) {
	t.Helper()
	err := db.View(t.Context(), func(tx *store.Tx) (err error) {
		leases, err = tx.Leases(t.Context(), prefix)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return leases
}
