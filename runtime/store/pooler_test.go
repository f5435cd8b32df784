package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// TestAStoreBehindAPooler writes, watches, migrates and applies plans from more clients than
// the pooler has sessions.
func TestAStoreBehindAPooler(t *testing.T) {
	place := storetest.Pooled(t)
	const clients, each = 5, 20
	first := open(t, place, notes)
	w := watch(t, first, 0, store.Filter{})
	var all sync.WaitGroup
	for c := range clients {
		db := open(t, place, notes)
		all.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d/%d", c, i)
				if err := write(context.Background(), db, id, "x"); err != nil {
					t.Errorf("write %s: %v", id, err)
					return
				}
				err := store.ErrChanged
				for since := time.Now(); errors.Is(err, store.ErrChanged) && time.Since(since) < waittest.Patience; { // it waited for longer than a second
					at, _ := db.Estimate()
					_, err = db.Apply(context.Background(), true, store.Plan{At: at,
						Changes: []store.Statement{{Query: "UPDATE notes SET text = ? WHERE id = ? AND text = ?", Args: []any{"y", id, "x"}, Rows: 1}},
						Events:  []store.Event{{Topic: "notes", Key: id, Data: []byte("y")}}})
				}
				if err != nil {
					t.Errorf("apply %s: %v", id, err)
					return
				}
				var text string
				if err := db.ReadRow(context.Background(), "SELECT text FROM notes WHERE id = ?", []any{id}, &text); err != nil || text != "y" {
					t.Errorf("note %s = %q, %v", id, text, err)
				}
			}
		})
	}
	all.Wait()
	read(t, w, 2*clients*each, true)
	newer := schema("notes", "CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL);", "ALTER TABLE notes ADD COLUMN more TEXT NOT NULL DEFAULT 'm';")
	var opening sync.WaitGroup
	for range 3 {
		opening.Go(func() {
			db, err := store.Open(context.Background(), place, newer)
			if err != nil {
				t.Errorf("migrate: %v", err)
				return
			}
			db.Close()
		})
	}
	opening.Wait()
	if _, err := store.Open(t.Context(), strings.Replace(place, "=transaction", "=session", 1)); err == nil || !strings.Contains(err.Error(), "pooler=transaction") {
		t.Errorf("another mode: %v", err)
	}
}
