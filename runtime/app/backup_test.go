package app

import (
	"reflect"
	"testing"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// TestACopyOfTheStoreHasEveryTable compares the tables that a copy has with those that
// exist, and looks for columns that the database counts by itself: a copy would have to
// set their counters.
func TestACopyOfTheStoreHasEveryTable(t *testing.T) {
	lite, err := (&App{}).openStore(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer lite.Close()
	raw, err := store.Peek(t.Context(), lite.File())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	postgres, err := (&App{}).openStore(t.Context(), storetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer postgres.Close()
	var all [3][]store.Table
	for i, db := range []*store.DB{raw, lite, postgres} {
		err := db.View(t.Context(), func(tx *store.Tx) error {
			all[i], err = tx.Tables(t.Context())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all[0]) < 30 || !reflect.DeepEqual(all[0], all[1]) || !reflect.DeepEqual(all[1], all[2]) {
		t.Errorf("tables in the file, of SQLite and of PostgreSQL:\n%v\n%v\n%v", all[0], all[1], all[2])
	}
	err = postgres.View(t.Context(), func(tx *store.Tx) error {
		rows, err := tx.Query(t.Context(), `SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = current_schema()
			AND (is_identity = 'YES' OR column_default LIKE 'nextval%') AND table_name NOT LIKE 'schema!_%' ESCAPE '!'`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var column string
			if err := rows.Scan(&column); err != nil {
				return err
			}
			t.Errorf("%s is counted by the database", column)
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}
