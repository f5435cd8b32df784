package logs

import (
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
	where, args := "", []any{h.id}
	switch {
	case q.After != nil:
		where, args = "AND entry_index > ? ORDER BY entry_index", append(args, *q.After)
	case q.AfterRevision != nil:
		where, args = "AND revision > ? ORDER BY revision", append(args, *q.AfterRevision)
	case q.Before != nil:
		where, args = "AND entry_index < ? ORDER BY entry_index DESC", append(args, *q.Before)
	default:
		where = "ORDER BY entry_index DESC"
	}
	limit := q.limit(c)
	rows, err := tx.Query(ctx, "SELECT entry_index, revision, entry FROM log_entries WHERE log_id = ? "+where+" LIMIT ?", append(args, limit+1)...)
	if err != nil {
		return Page{}, fmt.Errorf("read log entries: %w", err)
	}
	defer rows.Close()
	budget := q.MaxBytes
	if budget <= 0 {
		budget = 1 << 20
	}
	for rows.Next() {
		var s Stored
		var entry []byte
		if err := rows.Scan(&s.Index, &s.Revision, &entry); err != nil {
			return Page{}, fmt.Errorf("read log entry: %w", err)
		}
		budget -= int64(len(entry))
		if len(page.Entries) == limit || budget < 0 && len(page.Entries) > 0 {
			page.More = true
			break
		}
		s.Entry = entry
		page.Entries = append(page.Entries, s)
	}
	if err := rows.Err(); err != nil {
		return Page{}, fmt.Errorf("read log entries: %w", err)
	}
	page.finish(q)
	return page, nil
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
		if _, err := w.Next(until); err != nil {
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
