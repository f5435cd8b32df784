package logs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/deskhand/deskhand/runtime/racetest"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// pages reads a whole log with pages of n entries: from is a query's first cursor.
func pages(t *testing.T, db *store.DB, q Query, n int, maxBytes int64) (found []Stored) {
	t.Helper()
	q.Limit, q.MaxBytes = n, maxBytes
	for {
		page := read(t, db, Normalized, q)
		switch {
		case q.After != nil:
			found, q.After = append(found, page.Entries...), page.NextAfter
		case q.AfterRevision != nil:
			found, q.AfterRevision = append(found, page.Entries...), page.NextAfter
		default:
			found, q.Before = append(page.Entries, found...), page.Next
		}
		if !page.More {
			return found
		}
	}
}

// TestBlocksAndRowsReadAsOneLog: whether entries are in blocks or in rows, and whether
// they were replaced there, every way of reading finds each exactly once, in order, as it
// is now. A follower of revisions ends with the same log.
func TestBlocksAndRowsReadAsOneLog(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		random := rand.New(rand.NewPCG(1, 2))
		db := open(t, place)
		w := writer(t, db, Options{})
		var want []string
		follower := map[int64]string{}
		seen := int64(0)
		rounds := 25
		if racetest.On {
			rounds = 10
		}
		for round := range rounds {
			for range []int{1, 5, 40, 300, 1300}[random.IntN(5)] {
				want = append(want, fmt.Sprint("entry ", len(want)))
				w.Append(Say(want[len(want)-1]))
			}
			for range random.IntN(4) {
				i := random.IntN(len(want))
				want[i] = fmt.Sprintf("replaced %d in round %d", i, round)
				w.Replace(int64(i), Say(want[i]))
			}
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, s := range pages(t, db, Query{AfterRevision: &seen}, 200, 0) {
				if s.Revision <= seen {
					t.Fatalf("revision %d follows %d", s.Revision, seen)
				}
				seen, follower[s.Index] = s.Revision, texts(t, []Stored{s})[0]
			}
			start, n := int64(-1), 1+random.IntN(900)
			maxBytes := int64(0)
			if round%2 == 1 {
				maxBytes = int64(1000 + random.IntN(100_000))
			}
			for name, found := range map[string][]Stored{
				"after": pages(t, db, Query{After: &start}, n, maxBytes), "before": pages(t, db, Query{}, n, maxBytes),
			} {
				if len(found) != len(want) {
					t.Fatalf("round %d: %s has %d entries with pages of %d entries and %d bytes, want %d", round, name, len(found), n, maxBytes, len(want))
				}
				for i, text := range texts(t, found) {
					if text != want[i] || found[i].Index != int64(i) || follower[int64(i)] != want[i] {
						t.Fatalf("round %d: %s has %q at %d, and the follower %q; want %q", round, name, text, found[i].Index, follower[int64(i)], want[i])
					}
				}
			}
		}
		closeIt(t, w)
		blocks := 0
		err := db.View(t.Context(), func(tx *store.Tx) error {
			return tx.QueryRow(t.Context(), "SELECT COUNT(*) FROM log_blocks").Scan(&blocks)
		})
		if err != nil || blocks < 5 {
			t.Errorf("%d blocks, %v: the test wants some", blocks, err)
		}
		err = db.Update(t.Context(), func(tx *store.Tx) error {
			if err := Delete(t.Context(), tx, process); err != nil {
				return err
			}
			return tx.QueryRow(t.Context(), "SELECT COUNT(*) FROM log_blocks").Scan(&blocks)
		})
		if err != nil || blocks != 0 {
			t.Errorf("after Delete, %d blocks are left, %v", blocks, err)
		}
	})
}

// TestBytesOfBlocksAreBounded: old blocks are dropped, and the size of a log stays right
// when entries in blocks are replaced.
func TestBytesOfBlocksAreBounded(t *testing.T) {
	db := open(t, t.TempDir())
	w := writer(t, db, Options{Raw: Limit{Entries: 5000, Bytes: 1 << 30}})
	for range 20 {
		for i := range 1000 {
			w.Raw(Stdout, fmt.Appendf(nil, "line %d\n", i))
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		w.Append(Say(fmt.Sprint(i)))
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Replace(10, Say("another one"))
	w.Replace(10, Say("and another one"))
	closeIt(t, w)
	if found := all(t, db, Raw); len(found) > 5000 || len(found) < 4000 || found[len(found)-1].Index != 19_999 {
		t.Errorf("%d entries are kept", len(found))
	}
	err := db.View(t.Context(), func(tx *store.Tx) error {
		for _, c := range []Channel{Raw, Normalized} {
			h, err := readHead(t.Context(), tx, process, c)
			if err != nil {
				return err
			}
			var rows, blocks int64
			for from, n := range map[string]*int64{"log_entries": &rows, "log_blocks": &blocks} {
				if err := tx.QueryRow(t.Context(), "SELECT COALESCE(SUM(size), 0) FROM "+from+" WHERE log_id = ?", h.id).Scan(n); err != nil {
					return err
				}
			}
			if h.bytes != rows+blocks || c == Raw && blocks > 7000*50 {
				t.Errorf("%s: the log says %d bytes, rows have %d and blocks %d", c, h.bytes, rows, blocks)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// FuzzUnpack: a damaged block is an error.
func FuzzUnpack(f *testing.F) {
	items := []item{}
	for i := range 20 {
		items = append(items, item{index: int64(i), revision: int64(i + 7), entry: fmt.Appendf(nil, "entry %d", i)})
	}
	_, blocks, err := pack(items)
	if err != nil || len(blocks) != 1 {
		f.Fatalf("pack = %d blocks, %v", len(blocks), err)
	}
	b := blocks[0]
	if found, err := b.unpack(); err != nil || len(found) != 20 || string(found[19].Entry) != "entry 19" || found[19].Revision != 26 {
		f.Fatalf("unpack = %v, %v", found, err)
	}
	f.Add(b.first, b.last, b.revision, b.newest, b.size, b.data)
	f.Add(b.first, b.last, b.revision, b.newest, b.size, bytes.Repeat([]byte{0xff}, 40))
	f.Add(b.first, b.last-1, b.revision, b.newest-1, b.size, b.data)
	f.Fuzz(func(t *testing.T, first, last, revision, newest, size int64, data []byte) {
		b := block{first, last, revision, newest, size, data}
		found, err := b.unpack()
		if err == nil && int64(len(found)) != last-first+1 {
			t.Errorf("%d entries of %d to %d", len(found), first, last)
		}
	})
}
