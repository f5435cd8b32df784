package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// notes is a schema with one table.
var notes = schema("notes", "CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL);")

func schema(name string, migrations ...string) store.Schema {
	files := fstest.MapFS{}
	for i, up := range migrations {
		files[fmt.Sprintf("%04d_change.sql", i+1)] = &fstest.MapFile{Data: []byte(up)}
	}
	return store.Schema{Name: name, Migrations: files}
}

func open(t testing.TB, place string, schemas ...store.Schema) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), place, schemas...)
	if err != nil {
		t.Fatalf("Open(%s) = %v", place, err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return db
}

// write puts a note into the store and an event into the feed.
func write(ctx context.Context, db *store.DB, id, text string) error {
	return db.UpdateFast(ctx, func(tx *store.Tx) error {
		tx.Append("notes", id, []byte(text))
		_, err := tx.Exec(ctx, `INSERT INTO notes (id, text) VALUES (?, ?)
			ON CONFLICT (id) DO UPDATE SET text = excluded.text`, id, text)
		return err
	})
}

func mustWrite(t testing.TB, db *store.DB, id, text string) {
	t.Helper()
	if err := write(context.Background(), db, id, text); err != nil {
		t.Fatalf("write %s: %v", id, err)
	}
}

func TestAnUpdateIsAllOrNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db, ctx := open(t, place, notes), t.Context()
		mustWrite(t, db, "a", "kept ? 'quoted' \u2028 €")
		refused := errors.New("refused")
		err := db.Update(ctx, func(tx *store.Tx) error {
			tx.Append("notes", "b", []byte("lost"))
			if _, err := tx.Exec(ctx, "UPDATE notes SET text = ?", "lost"); err != nil {
				return err
			}
			return refused
		})
		if !errors.Is(err, refused) {
			t.Fatalf("Update = %v, want %v", err, refused)
		}
		var text string
		err = db.View(ctx, func(tx *store.Tx) error {
			if tx.Seq != 1 {
				t.Errorf("Seq = %d after one event, want 1", tx.Seq)
			}
			return tx.QueryRow(ctx, "SELECT text FROM notes WHERE id = ?", "a").Scan(&text)
		})
		if err != nil || text != "kept ? 'quoted' \u2028 €" {
			t.Errorf("note a = %q, %v; want what was written", text, err)
		}
	})
}

func TestAPanicInAnUpdateLeavesTheStoreUsable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place, notes)
		func() {
			defer func() { recover() }()
			db.Update(t.Context(), func(tx *store.Tx) error { panic("a bug") })
		}()
		mustWrite(t, db, "a", "after")
	})
}

func TestUpdatesOfManyPeersRunAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		const peers, each = 4, 50
		first := open(t, place, notes)
		mustWrite(t, first, "sum", "")
		var wg sync.WaitGroup
		for range peers {
			db := open(t, place, notes)
			wg.Go(func() {
				for range each {
					err := db.UpdateFast(t.Context(), func(tx *store.Tx) error {
						var text string
						if err := tx.QueryRow(t.Context(), "SELECT text FROM notes WHERE id = ?", "sum").Scan(&text); err != nil {
							return err
						}
						tx.Append("notes", "sum", []byte(text+"x"))
						_, err := tx.Exec(t.Context(), "UPDATE notes SET text = ? WHERE id = ?", text+"x", "sum")
						return err
					})
					if err != nil {
						t.Errorf("UpdateFast = %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
		var text string
		err := first.View(t.Context(), func(tx *store.Tx) error {
			if want := int64(1 + peers*each); tx.Seq != want {
				t.Errorf("Seq = %d, want %d", tx.Seq, want)
			}
			return tx.QueryRow(t.Context(), "SELECT text FROM notes WHERE id = ?", "sum").Scan(&text)
		})
		if err != nil || len(text) != peers*each {
			t.Errorf("%d additions are left of %d (%v)", len(text), peers*each, err)
		}
	})
}

func TestAStoreOfANewerVersionIsRefusedInOneSentence(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		newer := schema("notes", "CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL);", "ALTER TABLE notes ADD COLUMN colour TEXT;")
		open(t, place, newer).Close()
		_, err := store.Open(t.Context(), place, notes)
		var e *store.NewerError
		if !errors.As(err, &e) || e.Schema != "notes" || e.Found != 2 || e.Known != 1 {
			t.Fatalf("Open with an older schema = %v, want a NewerError for notes, 2 and 1", err)
		}
		if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, "newer deskhand") {
			t.Errorf("Open says %q, want one sentence about a newer deskhand", text)
		}
	})
}

// Each agent has a process of its own, and a PostgreSQL server takes 100
// connections as it comes: those that wait let go of theirs.
func TestMorePeersStartThanThereAreConnections(t *testing.T) {
	place := storetest.Postgres(t)
	store.KeepIdle(t, 2*time.Second)
	const peers = 80 // of 3 connections each, where there are 200
	var opened, all sync.WaitGroup
	opened.Add(peers)
	for i := range peers {
		all.Go(func() {
			db, err := store.Open(t.Context(), place, notes)
			if err == nil {
				defer db.Close()
				err = write(t.Context(), db, fmt.Sprint(i), "here")
			}
			if err == nil {
				err = db.Update(t.Context(), func(*store.Tx) error { return nil })
			}
			if err != nil {
				t.Errorf("peer %d of %d: %v", i, peers, err)
			}
			opened.Done()
			opened.Wait() // all stay
		})
	}
	all.Wait()
}

func TestTablesAreBroughtUpToDate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		mustWrite(t, open(t, place, notes), "a", "old")
		newer := schema("notes", "CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL);", "ALTER TABLE notes ADD COLUMN colour TEXT;")
		db := open(t, place, newer, schema("more", "CREATE TABLE more (id TEXT PRIMARY KEY);"))
		var text string
		var colour *string
		err := db.View(t.Context(), func(tx *store.Tx) error {
			return tx.QueryRow(t.Context(), "SELECT text, colour FROM notes").Scan(&text, &colour)
		})
		if err != nil || text != "old" || colour != nil {
			t.Errorf("after migrating: %q, %v, %v; want the old note without a colour", text, colour, err)
		}
	})
}

func TestManyPeersMayOpenANewStoreAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				db, err := store.Open(t.Context(), place, notes)
				if err != nil {
					t.Errorf("Open = %v", err)
					return
				}
				defer db.Close()
				if err := write(t.Context(), db, fmt.Sprint(i), "here"); err != nil {
					t.Errorf("write = %v", err)
				}
			})
		}
		wg.Wait()
	})
}

func TestAMigrationThatFailsChangesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		broken := schema("notes", "CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL);\nSELECT nonsense FROM nowhere;")
		if _, err := store.Open(t.Context(), place, broken); err == nil || !strings.Contains(err.Error(), "migrate notes") {
			t.Fatalf("Open = %v, want an error about migrating notes", err)
		}
		mustWrite(t, open(t, place, notes), "a", "works")
	})
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "deskhand.db"), []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		place   string
		schemas []store.Schema
		want    string
	}{
		"another kind of file":     {dir, nil, "not a database"},
		"a file where a folder is": {file, nil, "create folder"},
		"no server":                {"postgres://u:secret@127.0.0.1:1/db?connect_timeout=2", nil, "127.0.0.1"},
		"no such option":           {"postgres://u:secret@127.0.0.1/db?sslmode=perhaps", nil, "sslmode"},
		"a schema without a name":  {t.TempDir(), []store.Schema{{Migrations: fstest.MapFS{}}}, "a-z"},
		"a schema without tables":  {t.TempDir(), []store.Schema{{Name: "x", Migrations: fstest.MapFS{}}}, "no migrations"},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := store.Open(t.Context(), c.place, c.schemas...)
			if err == nil {
				db.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("Open(%s) = %v; want an error with %q and no password", c.place, err, c.want)
			}
		})
	}
}

func TestAWaitingUpdateEndsWithItsContext(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db, other := open(t, place, notes), open(t, place, notes)
		inside, leave := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			db.Update(context.Background(), func(*store.Tx) error { close(inside); <-leave; return nil })
		})
		<-inside
		for name, peer := range map[string]*store.DB{"the same process": db, "another": other} {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			since := time.Now()
			err := write(ctx, peer, "a", "late")
			cancel()
			if err == nil || time.Since(since) > waittest.Soon {
				t.Errorf("write behind an Update in %s = %v after %v, want an error soon", name, err, time.Since(since))
			}
		}
		close(leave)
		wg.Wait()
		mustWrite(t, other, "a", "in time")
	})
}

// The log of changes that SQLite keeps while a backup reads is not kept afterwards.
func TestTheLogShrinksAfterALongRead(t *testing.T) {
	place := t.TempDir()
	db := open(t, place, notes)
	size := func() int64 {
		t.Helper()
		info, err := os.Stat(filepath.Join(place, store.SQLiteFile+"-wal"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	text := strings.Repeat("x", 1<<20)
	err := db.View(t.Context(), func(tx *store.Tx) error {
		for i := range 16 {
			mustWrite(t, db, fmt.Sprint("k", i), text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := size(); n < 16<<20 {
		t.Fatalf("the log has %d bytes; want all that was written while a transaction read", n)
	}
	for i := range 3 { // the first one copies the log, the next one begins a new log
		mustWrite(t, db, fmt.Sprint("k", i), "y")
	}
	if n := size(); n > 8<<20 {
		t.Errorf("the log still has %d bytes", n)
	}
}
