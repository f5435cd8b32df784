package store_test

import (
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
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
		time.Sleep(2 * time.Millisecond)
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
