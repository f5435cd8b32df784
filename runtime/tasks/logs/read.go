package logs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// Query selects entries. Set at most one of Before, After and AfterRevision. If
// none is set, the query returns the newest entries.
type Query struct {
	// Limit is the maximum number of entries. 0 means 20, or 200 in the raw
	// channel; the maximum is 1,000.
	Limit int
	// MaxBytes limits the total size of the entries. 0 means 1 MiB. At least one entry
	// is always returned.
	MaxBytes int64
	// Before selects the newest entries with a lower index.
	Before *int64
	// After selects the oldest entries with a higher index.
	After *int64
	// AfterRevision selects entries that were added or replaced after that
	// revision, in order of revision.
	AfterRevision *int64
}

func (q Query) limit(c Channel) int {
	switch {
	case q.Limit > 0:
		return min(q.Limit, 1000)
	case c == Raw:
		return 200
	}
	return 20
}

// Stored is a stored entry.
type Stored struct {
	Index, Revision int64
	Entry           json.RawMessage
}

// Page is one page of a log. Its entries are in the order of Index, or of
// Revision if AfterRevision was set.
type Page struct {
	Entries []Stored
	// More reports whether there are older entries, or newer ones if After or
	// AfterRevision was set.
	More bool
	// Next is the Before value for the previous (older) page, or nil if there is none.
	Next *int64
	// NextAfter is the value of After or AfterRevision that continues from
	// here. It is nil if the query set neither.
	NextAfter *int64
	// Truncated reports whether entries were dropped permanently.
	Truncated bool
	// Revision is the log's newest revision.
	Revision int64
	// Ended reports whether the log is complete.
	Ended bool
}

// Read returns a page of a log. The page is empty if the process has no log.
func Read(ctx context.Context, tx *store.Tx, process string, c Channel, q Query) (Page, error) {
	page := Page{}
	if q.After != nil {
		page.NextAfter = q.After
	} else if q.AfterRevision != nil {
		page.NextAfter = q.AfterRevision
	}
	h, err := readHead(ctx, tx, process, c)
	if err != nil || h == nil {
		return page, err
	}
	page.Truncated, page.Revision, page.Ended = h.first > 0, h.revision, h.ended
	limit, budget := q.limit(c), q.MaxBytes
	if budget <= 0 {
		budget = 1 << 20
	}
	found, err := readEntries(ctx, tx, h, q, limit+1, budget)
	if err != nil {
		return Page{}, err
	}
	for _, s := range found {
		budget -= int64(len(s.Entry))
		if len(page.Entries) == limit || budget < 0 && len(page.Entries) > 0 {
			page.More = true
			break
		}
		page.Entries = append(page.Entries, s)
	}
	page.finish(q)
	return page, nil
}

// order is the order of a query's entries.
type order struct {
	rows, blocks string // conditions, and the order of what they select
	from         int64  // entries before it, in this order, are not selected
	key          func(Stored) int64
	down         bool
}

func (q Query) order(next int64) order {
	index := func(s Stored) int64 { return s.Index }
	switch {
	case q.After != nil:
		return order{"entry_index > ? ORDER BY entry_index", "first_index > ? AND last_index > ? ORDER BY first_index", *q.After, index, false}
	case q.AfterRevision != nil:
		return order{"revision > ? ORDER BY revision", "first_revision > ? AND last_revision > ? ORDER BY first_revision",
			*q.AfterRevision, func(s Stored) int64 { return s.Revision }, false}
	case q.Before != nil:
		next = *q.Before
	}
	return order{"entry_index < ? ORDER BY entry_index DESC", "first_index < ? AND first_index < ? ORDER BY first_index DESC", next, index, true}
}

// compare returns a negative number if a comes before b.
func (o order) compare(a, b int64) int {
	if o.down {
		a, b = b, a
	}
	return cmp.Compare(a, b)
}

// readEntries returns the first n entries that q selects, in its order. It may return fewer
// if there are at least two, with a total size of more than budget.
func readEntries(ctx context.Context, tx *store.Tx, h *head, q Query, n int, budget int64) ([]Stored, error) {
	o := q.order(h.next)
	rows, rowsCut, err := readRows(ctx, tx, h, o, n, budget)
	if err != nil {
		return nil, err
	}
	blocks, blocksCut, err := readBlocks(ctx, tx, h, o, n, budget)
	if err != nil {
		return nil, err
	}
	// What follows the end of a list that was cut may not be the next entry.
	drop := func(list, end []Stored, cut bool) []Stored {
		if !cut {
			return list
		}
		last := o.key(end[len(end)-1])
		return slices.DeleteFunc(list, func(s Stored) bool { return o.compare(o.key(s), last) > 0 })
	}
	found := drop(drop(slices.Concat(rows, blocks), rows, rowsCut), blocks, blocksCut)
	slices.SortFunc(found, func(a, b Stored) int { return o.compare(o.key(a), o.key(b)) })
	return found[:min(n, len(found))], nil
}

// readRows returns the first entries that are not in a block. cut reports whether it
// stopped because of their size.
func readRows(ctx context.Context, tx *store.Tx, h *head, o order, n int, budget int64) (found []Stored, cut bool, err error) {
	rows, err := tx.Query(ctx, "SELECT entry_index, revision, entry FROM log_entries WHERE log_id = ? AND "+o.rows+" LIMIT ?", h.id, o.from, n)
	if err != nil {
		return nil, false, fmt.Errorf("read log entries: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s Stored
		var entry []byte
		if err := rows.Scan(&s.Index, &s.Revision, &entry); err != nil {
			return nil, false, fmt.Errorf("read log entry: %w", err)
		}
		s.Entry = entry
		found = append(found, s)
		if budget -= int64(len(entry)); budget < 0 && len(found) > 1 {
			return found, true, nil
		}
	}
	if err := rows.Err(); err != nil {
		return nil, false, fmt.Errorf("read log entries: %w", err)
	}
	return found, false, nil
}

// readBlocks returns the first entries that are in blocks. Blocks do not overlap, so the
// entries of the first blocks are the first entries.
func readBlocks(ctx context.Context, tx *store.Tx, h *head, o order, n int, budget int64) (found []Stored, cut bool, err error) {
	for from := o.from; len(found) < n; {
		least := from - mostBlock // of the first entry of a block that reaches beyond from
		if o.down {
			least = from
		}
		b, entries, err := nextBlock(ctx, tx, h.id, o.blocks, least, from)
		if err != nil || b == nil {
			return found, false, err
		}
		if o.down {
			slices.Reverse(entries)
			from = b.first
		} else {
			from = o.key(Stored{Index: b.last, Revision: b.newest})
		}
		for _, s := range entries {
			if s.Index < h.first || o.compare(o.key(s), o.from) <= 0 {
				continue
			}
			found = append(found, s)
			if budget -= int64(len(s.Entry)); budget < 0 && len(found) > 1 {
				return found, true, nil
			}
		}
	}
	return found, false, nil
}

// finish sorts the entries. It also sets the cursors that a caller uses to get
// the next page.
func (p *Page) finish(q Query) {
	n := len(p.Entries)
	if n == 0 {
		return
	}
	switch {
	case q.After != nil:
		last := p.Entries[n-1].Index
		p.NextAfter = &last
	case q.AfterRevision != nil:
		last := p.Entries[n-1].Revision
		p.NextAfter = &last
	default:
		slices.Reverse(p.Entries)
		if p.More {
			first := p.Entries[0].Index
			p.Next = &first
		}
	}
}

// Tail is like [Read], but if there is no entry, it waits for one. wait is the
// maximum time. It waits only if After or AfterRevision is set and the log has
// not ended. The log need not exist yet.
func Tail(ctx context.Context, db *store.DB, process string, c Channel, q Query, wait time.Duration) (Page, error) {
	read := func() (page Page, seq int64, err error) {
		err = db.View(ctx, func(tx *store.Tx) (err error) {
			seq = tx.Seq
			page, err = Read(ctx, tx, process, c, q)
			return err
		})
		return page, seq, err
	}
	page, seq, err := read()
	if err != nil || wait <= 0 || len(page.Entries) > 0 || page.Ended || q.After == nil && q.AfterRevision == nil {
		return page, err
	}
	until, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	w, err := db.Watch(until, seq, store.Filter{Topic: Topic, Key: process})
	if err != nil {
		return page, err
	}
	defer w.Close()
	for {
		if err := w.Wait(until); err != nil {
			if until.Err() != nil && ctx.Err() == nil {
				return page, nil // no new entry
			}
			return page, err
		}
		if page, _, err = read(); err != nil || len(page.Entries) > 0 || page.Ended {
			return page, err
		}
	}
}
