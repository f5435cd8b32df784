package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

func TestWhatAilsAStoreIsSaidInWords(t *testing.T) {
	writing := func(db *store.DB, before string) error {
		return db.Update(t.Context(), func(tx *store.Tx) error {
			if before != "" {
				if _, err := tx.Exec(t.Context(), before); err != nil {
					return err
				}
			}
			_, err := tx.Exec(t.Context(), "INSERT INTO notes (id, text) VALUES (?, ?)", "a", strings.Repeat("x", 1<<20))
			return err
		})
	}
	for want, fail := range map[string]func(t *testing.T) error{
		"store_full": func(t *testing.T) error { return writing(open(t, t.TempDir(), notes), "PRAGMA max_page_count = 1") },
		"store_read_only": func(t *testing.T) error {
			db := open(t, t.TempDir(), notes)
			return db.View(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Exec(t.Context(), "DELETE FROM notes")
				return err
			})
		},
		"store_damaged": func(t *testing.T) error {
			place := t.TempDir()
			if err := os.WriteFile(filepath.Join(place, "deskhand.db"), []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := store.Open(t.Context(), place, notes)
			return err
		},
		"store_away": func(t *testing.T) error {
			_, err := store.Open(t.Context(), "postgres://nobody:hunter2@127.0.0.1:1/none?sslmode=disable", notes)
			return err
		},
		"store_newer": func(t *testing.T) error {
			place := t.TempDir()
			open(t, place, schema("notes", "CREATE TABLE notes (id TEXT PRIMARY KEY);", "ALTER TABLE notes ADD COLUMN colour TEXT;")).Close()
			_, err := store.Open(t.Context(), place, notes)
			return err
		},
	} {
		t.Run(want, func(t *testing.T) {
			err := fail(t)
			if got, ok := store.TroubleOf(err); !ok || got.Code != want || got.Message == "" || got.Hint == "" {
				t.Errorf("TroubleOf(%v) = %+v, %v; want %s in words", err, got, ok, want)
			}
		})
	}
	for _, err := range []error{nil, errors.New("a bug"), context.Canceled, store.ErrGone} {
		if got, ok := store.TroubleOf(err); ok {
			t.Errorf("TroubleOf(%v) = %+v, want none", err, got)
		}
	}
}

// A process that runs while a newer version changes the tables says so.
func TestAProcessWhoseTablesHaveChangedSaysSo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place, notes)
		mustWrite(t, db, "k", "v")
		open(t, place, schema("notes", "CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL);",
			"ALTER TABLE notes RENAME COLUMN text TO words;", "CREATE TABLE more (id TEXT);"))
		err := write(t.Context(), db, "l", "v")
		if got, ok := store.TroubleOf(err); !ok || got.Code != "store_newer" || !strings.Contains(got.Hint, "restart") {
			t.Errorf("TroubleOf(%v) = %+v, %v; want that a newer version has changed the store", err, got, ok)
		}
	})
}
