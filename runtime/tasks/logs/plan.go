package logs

import (
	"context"
	"errors"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// mostSizes is the maximum number of entries whose sizes a writer remembers. An agent
// replaces an entry while its text grows, so only the newest ones matter.
const mostSizes = 1000

// storePlanned writes items in one round trip if the database is reached over a network and
// the writer knows everything that the batch depends on. Otherwise it returns nil, and the
// caller uses a transaction.
func (w *Writer) storePlanned(ctx context.Context, raw, normal []item) (heads map[Channel]head, err error) {
	at, known := w.db.Estimate()
	if !w.db.PlansPay() || !known {
		return nil, nil
	}
	p := store.Plan{At: at, Latest: true}
	heads = map[Channel]head{}
	revisions := map[Channel]int64{}
	for c, items := range map[Channel][]item{Normalized: normal, Raw: raw} {
		if len(items) == 0 {
			continue
		}
		ch, err := w.heads[c].change(c, items)
		if err != nil {
			return nil, err
		}
		next := ch.next
		for _, i := range ch.replaced {
			size, known := w.sizes[i.index]
			if !known {
				return nil, nil
			}
			next.bytes += int64(len(i.entry) - size)
			p.Changes = append(p.Changes, replacement(next.id, i))
		}
		if limit, least := w.limit(c); next.full(limit, least) {
			return nil, nil
		}
		p.Inserts = append(p.Inserts, insertions(next.id, ch.rows)...)
		for _, b := range ch.blocks {
			p.Inserts = append(p.Inserts, b.insertion(next.id))
		}
		p.Changes = append(p.Changes, headChange(w.heads[c], next))
		heads[c], revisions[c] = next, next.revision
	}
	data, err := noteData(revisions, false)
	if err != nil {
		return nil, err
	}
	p.Events = []store.Event{{Topic: Topic, Key: w.process, Data: data}}
	if _, err = w.db.Apply(ctx, false, p); err != nil && !errors.Is(err, store.ErrUncertain) {
		return nil, nil // a transaction finds out why
	}
	return heads, err
}

// settle finds out whether a batch whose commit was not acknowledged is stored, so that the
// writer neither stores it twice nor takes its own entries for another writer's. heads are
// the batch's. It returns nil if the batch is stored, and the error of its commit if not.
func (w *Writer) settle(ctx context.Context, heads map[Channel]head, uncertain error) error {
	for {
		stored := false
		err := w.db.View(ctx, func(tx *store.Tx) error {
			for c, want := range heads {
				now, err := readHead(ctx, tx, w.process, c)
				if err != nil {
					return err
				}
				stored = now != nil && now.revision == want.revision
			}
			return nil
		})
		switch {
		case err == nil && stored:
			return nil
		case err == nil || ctx.Err() != nil:
			return uncertain
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// remember records the sizes of stored normalized entries. It forgets those of a batch that
// may be in blocks, which storePlanned cannot replace.
func (w *Writer) remember(stored []item) {
	if len(stored) >= leastBlock {
		w.sizes = nil
		return
	}
	if w.sizes == nil || len(w.sizes)+len(stored) > mostSizes {
		w.sizes = map[int64]int{}
	}
	for _, i := range stored {
		w.sizes[i.index] = len(i.entry)
	}
}

// insertions returns the statements that write entries with new indexes.
func insertions(log int64, items []item) []store.Statement {
	if len(items) == 0 {
		return nil
	}
	var indexes, revisions, sizes []int64
	var entries []string
	for _, i := range items {
		indexes, revisions = append(indexes, i.index), append(revisions, i.revision)
		sizes, entries = append(sizes, int64(len(i.entry))), append(entries, string(i.entry))
	}
	return []store.Statement{{Query: `INSERT INTO log_entries (log_id, entry_index, revision, size, entry)
		SELECT CAST(? AS bigint), i, r, s, e FROM unnest(CAST(? AS bigint[]), CAST(? AS bigint[]), CAST(? AS bigint[]), CAST(? AS text[])) AS t (i, r, s, e)`,
		Args: []any{log, indexes, revisions, sizes, entries}, Rows: int64(len(items))}}
}
