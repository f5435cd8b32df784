package elicit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
)

func TestACallerGivesUpWhileTheStoreIsLocked(t *testing.T) {
	place := t.TempDir()
	open := func() *store.DB {
		db, err := store.Open(t.Context(), place, Schema())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	h, other := New(open(), attended), open()
	t.Cleanup(h.Close)
	locked, free := make(chan struct{}), make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() {
		err := other.Update(t.Context(), func(*store.Tx) error {
			close(locked)
			<-free
			return nil
		})
		if err != nil {
			t.Errorf("Update = %v", err)
		}
	})
	<-locked
	patient, stop := context.WithCancel(t.Context())
	beside.Go(func() { h.Ask(patient, greeting()) }) // claims the lease of this process, which takes until the store is free
	defer beside.Wait()
	defer stop()
	defer close(free)
	for range 20 { // only the first may come before the patient one
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		ended := make(chan error, 1)
		go func() {
			_, err := h.Ask(ctx, greeting())
			ended <- err
		}()
		select {
		case err := <-ended:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Ask = %v; want the deadline of its context", err)
			}
		case <-time.After(waittest.Soon):
			t.Error("Ask did not return at its deadline, because another one waits for the store")
		}
		if cancel(); t.Failed() {
			return
		}
	}
}
