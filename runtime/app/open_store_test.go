package app

import (
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// TestANewStoreIsLikeOneThatHadEveryUpdate opens a store with one migration of each schema,
// then with two, and so on, and compares it with a store that had all at once.
func TestANewStoreIsLikeOneThatHadEveryUpdate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, updated string) {
		fresh := t.TempDir()
		if store.IsPostgres(updated) {
			fresh = storetest.Postgres(t)
		}
		want := shape(t, fresh, schemas())
		var got []string
		for n, more := 1, true; more; n++ {
			var some []store.Schema
			more = false
			for _, s := range schemas() {
				part, whole := first(t, s, n)
				some = append(some, part)
				more = more || !whole
			}
			got = shape(t, updated, some)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after every update: %q\nnew: %q", got, want)
		}
	})
}

// first returns a schema with its first n versions, and whether these are all.
func first(t *testing.T, s store.Schema, n int) (part store.Schema, whole bool) {
	t.Helper()
	names, err := fs.Glob(s.Migrations, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	files, versions := fstest.MapFS{}, map[string]bool{}
	for _, name := range names {
		if version := name[:4]; len(versions) < n || versions[version] {
			text, err := fs.ReadFile(s.Migrations, name)
			if err != nil {
				t.Fatal(err)
			}
			files[name], versions[version] = &fstest.MapFile{Data: text}, true
		}
	}
	return store.Schema{Name: s.Name, Migrations: files}, len(files) == len(names)
}

// shape opens a store and returns the definitions of all that is in its schema, and the
// migrations that it has had.
func shape(t *testing.T, place string, schemas []store.Schema) (all []string) {
	t.Helper()
	db, err := store.Open(t.Context(), place, schemas...)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	queries := []string{"SELECT type || ' ' || name || ': ' || COALESCE(sql, '') FROM sqlite_master ORDER BY 1"}
	if store.IsPostgres(place) {
		queries = []string{
			`SELECT concat_ws(' ', table_name, ordinal_position, column_name, data_type, is_nullable, column_default)
				FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1`,
			"SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1",
			"SELECT pg_get_triggerdef(oid) FROM pg_trigger ORDER BY 1",
		}
	}
	for _, s := range schemas {
		queries = append(queries, fmt.Sprintf("SELECT '%s ' || version_id || ' ' || is_applied FROM schema_%s ORDER BY id", s.Name, s.Name))
	}
	err = db.View(t.Context(), func(tx *store.Tx) error {
		for _, query := range queries {
			rows, err := tx.Query(t.Context(), query)
			if err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
			defer rows.Close()
			for rows.Next() {
				var text string
				if err := rows.Scan(&text); err != nil {
					return err
				}
				all = append(all, text)
			}
			if err := rows.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// BenchmarkNewStore is what the first command that needs a store takes longer than later
// ones.
func BenchmarkNewStore(b *testing.B) {
	for b.Loop() {
		db, err := store.Open(b.Context(), b.TempDir(), schemas()...)
		if err != nil {
			b.Fatal(err)
		}
		db.Close()
	}
}
