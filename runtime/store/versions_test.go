package store_test

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// While a backup reads PostgreSQL, each version of a row stays, and every change that uses the
// row walks through them. So there is no row that all changes update.
func TestNoRowIsUpdatedByEveryChange(t *testing.T) {
	db := open(t, storetest.Postgres(t), notes)
	place := func() (at string) {
		t.Helper()
		err := db.View(t.Context(), func(tx *store.Tx) error {
			return tx.QueryRow(t.Context(), "SELECT CAST(ctid AS text) FROM feed").Scan(&at)
		})
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	before := place()
	mustWrite(t, db, "k", "by a transaction")
	if _, err := db.Apply(t.Context(), true, store.Plan{At: db.Now(), Events: []store.Event{{Topic: "notes", Key: "k"}}}); err != nil {
		t.Fatal(err)
	}
	if after := place(); after != before {
		t.Errorf("two changes moved the feed's row from %s to %s", before, after)
	}
}

// The newest event gives the next one its number, also if the next one replaces it.
func TestAnEventThatReplacesTheNewestHasAnotherNumber(t *testing.T) {
	db := open(t, storetest.Postgres(t), notes)
	for want := int64(1); want <= 3; want++ {
		seq, err := db.Apply(t.Context(), true, store.Plan{At: db.Now(), Latest: true, Events: []store.Event{{Topic: "notes", Key: "k"}}})
		if err != nil || seq != want {
			t.Errorf("Apply = %d, %v; want %d", seq, err, want)
		}
	}
	err := db.View(t.Context(), func(tx *store.Tx) error {
		events, err := tx.Events(t.Context(), 0, store.Filter{}, 10)
		if err == nil && (len(events) != 1 || events[0].Seq != 3) {
			t.Errorf("the feed has %+v, want only the third event", events)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
