package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// A crash of the database loses a change that did not wait for the disk, after another
// process has seen its event. That process then learns that it must read the state again, even
// if nothing else changes, and of the next change, although it would have the same number.
func TestAFollowerOfALostEventReadsTheStateAgain(t *testing.T) {
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
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Patience)
	defer cancel()
	waittest.Until(t, "the follower learns of the crash", func() (bool, any) {
		_, err := w.Next(ctx) // while the server starts, the feed cannot be read
		return errors.Is(err, store.ErrGone), err
	})
	if err := w.Resume(ctx, store.ErrGone); err != nil || w.Seq() != kept {
		t.Fatalf("Resume = %v at %d, want %d", err, w.Seq(), kept)
	}

	next, err := change(writer, "next")
	if err != nil || next <= lost {
		t.Errorf("the event after the crash has the number %d, and the lost one had %d, %v", next, lost, err)
	}
	if events, err := w.Next(ctx); !errors.Is(err, store.ErrGone) {
		t.Errorf("after the next change, the follower sees %+v, %v; want ErrGone again, because it may have looked before the crash", events, err)
	}
	if err := w.Resume(ctx, store.ErrGone); err != nil || w.Seq() != next {
		t.Errorf("Resume = %v at %d, want %d", err, w.Seq(), next)
	}
	if n, err := writer.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || n == 0 {
		t.Errorf("Prune = %d, %v", n, err)
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
