package store_test

import (
	"context"
	"testing"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// A crash of the database loses a change that did not wait for the disk, after another
// process has seen its event. That process then learns of the next change, although it
// would have the same number.
func TestAFollowerOfALostEventHearsOfTheNextOne(t *testing.T) {
	t.Run("transaction", func(t *testing.T) {
		crashes(t, func(db *store.DB, text string) (seq int64, err error) {
			return seq, db.Update(t.Context(), func(tx *store.Tx) error { seq = tx.Append("test", "key", []byte(text)); return nil })
		})
	})
	t.Run("plan", func(t *testing.T) {
		crashes(t, func(db *store.DB, text string) (seq int64, err error) {
			return db.Apply(t.Context(), true, store.Plan{At: db.Now(), Events: []store.Event{{Topic: "test", Key: "key", Data: []byte(text)}}})
		})
	})
}

// crashes is the test, with the first change after the crash made by change.
func crashes(t *testing.T, change func(db *store.DB, text string) (seq int64, err error)) {
	server := storetest.NewServer(t, "-c", "wal_writer_delay=10s")
	place := server.Database()
	writer, follower := open(t, place), open(t, place)
	add := func(how func(context.Context, func(*store.Tx) error) error, text string) (seq int64) {
		t.Helper()
		if err := how(t.Context(), func(tx *store.Tx) error { seq = tx.Append("test", "key", []byte(text)); return nil }); err != nil {
			t.Fatal(err)
		}
		return seq
	}
	kept := add(writer.Update, "kept")
	w := watch(t, follower, kept, store.Filter{})
	lost := add(writer.UpdateFast, "lost")
	if e := read(t, w, 1, true); string(e[0].Data) != "lost" {
		t.Fatalf("the follower sees %q", e[0].Data)
	}
	server.Crash()
	server.Start()

	next, err := change(writer, "next")
	if err != nil || next <= lost {
		t.Errorf("the event after the crash has the number %d, and the lost one had %d, %v", next, lost, err)
	}
	if e := read(t, w, 1, false); string(e[0].Data) != "next" || e[0].Seq != next {
		t.Errorf("after the crash, the follower sees %+v", e[0])
	}
	if again, err := change(writer, "again"); err != nil || again != next+1 {
		t.Errorf("the next number is %d, %v; want %d", again, err, next+1)
	}
	if e := read(t, w, 1, true); string(e[0].Data) != "again" {
		t.Errorf("the follower then sees %q", e[0].Data)
	}

	// A server that stops in order loses nothing, so no number is skipped.
	server.Stop()
	server.Start()
	if after := add(writer.Update, "after a stop"); after != next+2 {
		t.Errorf("after a stop, the number is %d, want %d", after, next+2)
	}
}
