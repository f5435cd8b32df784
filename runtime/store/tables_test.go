package store_test

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// Other programs may have tables in the database, also ones that are named like the tables
// of versions.
func TestVersionsAreThoseOfTheStore(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place, notes)
		err := db.Update(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.Exec(t.Context(), "CREATE TABLE schema_migrations (version TEXT)"); err != nil {
				return err
			}
			versions, err := tx.Versions(t.Context())
			if err == nil && (len(versions) != 2 || versions["migrations"] != 0 || versions["notes"] == 0) {
				t.Errorf("versions %v, want those of the store and of notes", versions)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
