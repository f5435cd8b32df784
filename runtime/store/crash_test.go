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

	next := add(writer.Update, "next")
	if next <= lost {
		t.Errorf("the event after the crash has the number %d, and the lost one had %d", next, lost)
	}
	if e := read(t, w, 1, false); string(e[0].Data) != "next" || e[0].Seq != next {
		t.Errorf("after the crash, the follower sees %+v", e[0])
	}
	if planned, err := writer.Apply(t.Context(), false, store.Plan{At: writer.Now(), Events: []store.Event{{Topic: "test", Key: "key", Data: []byte("planned")}}}); err != nil || planned != next+1 {
		t.Errorf("Apply = %d, %v; want the number %d", planned, err, next+1)
	}
	if e := read(t, w, 1, true); string(e[0].Data) != "planned" {
		t.Errorf("the follower then sees %q", e[0].Data)
	}

	// A server that stops in order loses nothing, so no number is skipped.
	server.Stop()
	server.Start()
	if after := add(writer.Update, "after a stop"); after != next+2 {
		t.Errorf("after a stop, the number is %d, want %d", after, next+2)
	}
}
