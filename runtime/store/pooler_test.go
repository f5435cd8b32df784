package store_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
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

// A request to cancel a statement can crash PgBouncer, so a statement that is given up ends by
// itself, and its connection stays.
func TestAStatementBehindAPoolerIsNotCancelled(t *testing.T) {
	place, opened, cancels := counted(t, storetest.Postgres(t))
	db := open(t, place+"&pooler=transaction", notes)
	mustWrite(t, db, "k", "v")
	before := opened.Load()
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		err := db.View(ctx, func(tx *store.Tx) error {
			time.AfterFunc(time.Millisecond, cancel)
			var none any
			return tx.QueryRow(ctx, "SELECT CAST(pg_sleep(0.02) AS text)").Scan(&none)
		})
		if cancel(); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	mustWrite(t, db, "k", "w")
	if n := cancels.Load(); n != 0 {
		t.Errorf("%d statements were cancelled", n)
	}
	if n := opened.Load() - before; n > 1 {
		t.Errorf("%d connections were opened for statements that were given up", n)
	}
}

// counted returns the URL of a database behind a relay that counts the connections, and those
// among them that cancel a statement.
func counted(t *testing.T, place string) (behind string, opened, cancels *atomic.Int64) {
	t.Helper()
	u, err := url.Parse(storetest.Over(t, place, 0))
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	opened, cancels = new(atomic.Int64), new(atomic.Int64)
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				near.Close()
				continue
			}
			opened.Add(1)
			go func() {
				defer near.Close()
				io.Copy(near, far)
			}()
			go func() {
				defer far.Close()
				head := make([]byte, 8) // length and code of the first message
				if _, err := io.ReadFull(near, head); err != nil {
					return
				}
				if binary.BigEndian.Uint32(head[4:]) == 80877102 { // CancelRequest
					cancels.Add(1)
				}
				if _, err := far.Write(head); err == nil {
					io.Copy(far, near)
				}
			}()
		}
	}()
	u.Host = l.Addr().String()
	return u.String(), opened, cancels
}
