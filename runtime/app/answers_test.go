package app

import (
	"context"
	"errors"
	"testing"

	"github.com/deskhand/deskhand/runtime/store"
)

// shaken is a watcher whose first Next fails, as when the database restarts.
type shaken struct {
	*store.Watcher
	failed bool
}

func (w *shaken) Next(ctx context.Context) ([]store.Event, error) {
	if !w.failed {
		w.failed = true
		return nil, errors.New("the database restarts")
	}
	return w.Watcher.Next(ctx)
}

// TestLateAnswersFollowTheFeedAgain: after an error of the store, answers would otherwise wait
// for the next minute, every time, until the server restarts.
func TestLateAnswersFollowTheFeedAgain(t *testing.T) {
	db, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Watch(t.Context(), 0, store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	wake, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		wakeOn(ctx, &shaken{Watcher: w}, wake, func(e store.Event) bool { return e.Key == "concerns" })
	}()
	<-wake // something may have been missed
	for _, key := range []string{"other", "concerns"} {
		if err := db.Update(ctx, func(tx *store.Tx) error { tx.Append("t", key, nil); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-wake:
	case <-done:
		t.Error("nothing follows the feed any more")
	}
	cancel()
	<-done
}
