package logs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/store"
)

// head is the row of a log.
type head struct {
	id       int64
	next     int64 // index of the next entry
	revision int64
	first    int64
	bytes    int64
	spooled  int64
	ended    bool
}

// readHead reads the row of a log. It returns nil if the log has no row.
func readHead(ctx context.Context, tx *store.Tx, process string, c Channel) (*head, error) {
	var h head
	var ended int
	err := tx.QueryRow(ctx, "SELECT id, next_index, revision, first_index, bytes, spooled, ended FROM logs WHERE process_id = ? AND channel = ?", process, c).
		Scan(&h.id, &h.next, &h.revision, &h.first, &h.bytes, &h.spooled, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	h.ended = ended == 1
	return &h, nil
}

func makeHead(ctx context.Context, tx *store.Tx, process string, c Channel) (*head, error) {
	h := &head{}
	if err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(id), 0) + 1 FROM logs").Scan(&h.id); err != nil {
		return nil, fmt.Errorf("assign a log ID: %w", err)
	}
	_, err := tx.Exec(ctx, `INSERT INTO logs (id, process_id, channel, next_index, revision, first_index, bytes, spooled, ended)
		VALUES (?, ?, ?, 0, 0, 0, 0, 0, 0)`, h.id, process, c)
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	return h, nil
}

// ErrTaken is returned if another writer has taken over the log.
var ErrTaken = errors.New("another writer has taken over the log")

// writeHead replaces the row old with next. It returns ErrTaken if the row is
// no longer equal to old.
func writeHead(ctx context.Context, tx *store.Tx, old, next head) error {
	s := headChange(old, next)
	res, err := tx.Exec(ctx, s.Query, s.Args...)
	if err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return ErrTaken
	}
	return nil
}

// headChange returns the statement that replaces the row old with next.
func headChange(old, next head) store.Statement {
	ended := 0
	if next.ended {
		ended = 1
	}
	return store.Statement{Query: `UPDATE logs SET next_index = ?, revision = ?, first_index = ?, bytes = ?, spooled = ?, ended = ?
		WHERE id = ? AND revision = ?`, Args: []any{next.next, next.revision, next.first, next.bytes, next.spooled, ended, old.id, old.revision}, Rows: 1}
}

// item is an entry to write.
type item struct {
	index, revision int64
	entry           []byte
	spooled         int64 // offset, in the spool, of the end of a raw entry
}

// rowsAtOnce is the maximum number of rows in one INSERT. SQLite handles this
// number easily.
const rowsAtOnce = 100

// insert writes entries with new indexes.
func insert(ctx context.Context, tx *store.Tx, log int64, items []item, blocks []block) error {
	for _, b := range blocks {
		s := b.insertion(log)
		if _, err := tx.Exec(ctx, s.Query, s.Args...); err != nil {
			return fmt.Errorf("write log entries: %w", err)
		}
	}
	for len(items) > 0 {
		n := min(len(items), rowsAtOnce)
		args := make([]any, 0, 5*n)
		for _, i := range items[:n] {
			args = append(args, log, i.index, i.revision, len(i.entry), string(i.entry))
		}
		values := strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?), ", n), ", ")
		if _, err := tx.Exec(ctx, "INSERT INTO log_entries (log_id, entry_index, revision, size, entry) VALUES "+values, args...); err != nil {
			return fmt.Errorf("write log entries: %w", err)
		}
		items = items[n:]
	}
	return nil
}

// replace replaces a stored entry. It returns the number of bytes by which the log
// grows: in a block, the old entry stays, but no reader sees it. If the entry was dropped
// in the meantime, replace does not restore it.
func replace(ctx context.Context, tx *store.Tx, h head, i item) (longer int64, err error) {
	if i.index < h.first {
		return 0, nil
	}
	var size int64
	err = tx.QueryRow(ctx, "SELECT size FROM log_entries WHERE log_id = ? AND entry_index = ?", h.id, i.index).Scan(&size)
	if errors.Is(err, sql.ErrNoRows) {
		found, err := inBlock(ctx, tx, h.id, i.index)
		if err == nil && found {
			_, err = tx.Exec(ctx, "INSERT INTO log_entries (log_id, entry_index, revision, size, entry) VALUES (?, ?, ?, ?, ?)",
				h.id, i.index, i.revision, len(i.entry), string(i.entry))
		}
		if err != nil {
			return 0, fmt.Errorf("replace log entry: %w", err)
		}
		if found {
			longer = int64(len(i.entry))
		}
		return longer, nil
	}
	if err == nil {
		s := replacement(h.id, i)
		_, err = tx.Exec(ctx, s.Query, s.Args...)
	}
	if err != nil {
		return 0, fmt.Errorf("replace log entry: %w", err)
	}
	return int64(len(i.entry)) - size, nil
}

// replacement returns the statement that replaces a stored entry, if it was not dropped.
func replacement(log int64, i item) store.Statement {
	return store.Statement{Query: "UPDATE log_entries SET revision = ?, size = ?, entry = ? WHERE log_id = ? AND entry_index = ?",
		Args: []any{i.revision, len(i.entry), string(i.entry), log, i.index}, Rows: -1}
}

// full reports whether entries must be dropped.
func (h *head) full(limit Limit, least int64) bool {
	entries := h.next - h.first
	return (entries > limit.Entries || h.bytes > limit.Bytes) && entries > least
}

// trim drops the oldest entries, a tenth of the limit, if the log exceeds limit. It
// always keeps at least least entries.
func (h *head) trim(ctx context.Context, tx *store.Tx, limit Limit, least int64) error {
	if !h.full(limit, least) {
		return nil
	}
	entries := h.next - h.first
	first := h.first
	if entries > limit.Entries {
		first = h.next - limit.Entries*9/10
	}
	if h.bytes > limit.Bytes {
		// This assumes that all entries have the same length. If it drops too few, the
		// next batch drops more.
		first = max(first, h.first+max(1, entries/10))
	}
	first = min(first, h.next-least)
	if first <= h.first {
		return nil
	}
	// A block is deleted with its last entry.
	for _, old := range []string{"log_entries WHERE log_id = ? AND entry_index < ?", "log_blocks WHERE log_id = ? AND last_index < ?"} {
		var freed int64
		err := tx.QueryRow(ctx, "SELECT COALESCE(SUM(size), 0) FROM "+old, h.id, first).Scan(&freed)
		if err == nil {
			_, err = tx.Exec(ctx, "DELETE FROM "+old, h.id, first)
		}
		if err != nil {
			return fmt.Errorf("drop old log entries: %w", err)
		}
		h.bytes -= freed
	}
	h.first = first
	return nil
}

// Delete deletes the logs of a process.
func Delete(ctx context.Context, tx *store.Tx, process string) error {
	for _, query := range []string{
		"DELETE FROM log_entries WHERE log_id IN (SELECT id FROM logs WHERE process_id = ?)",
		"DELETE FROM log_blocks WHERE log_id IN (SELECT id FROM logs WHERE process_id = ?)",
		"DELETE FROM logs WHERE process_id = ?",
	} {
		if _, err := tx.Exec(ctx, query, process); err != nil {
			return fmt.Errorf("delete logs: %w", err)
		}
	}
	return nil
}

// note appends an event to the feed. The event reports the logs' new revisions,
// or the end of the logs.
func note(ctx context.Context, tx *store.Tx, process string, revisions map[Channel]int64, ended bool) error {
	data, err := noteData(revisions, ended)
	if err != nil {
		return err
	}
	_, err = tx.AppendLatest(ctx, Topic, process, data)
	return err
}

func noteData(revisions map[Channel]int64, ended bool) ([]byte, error) {
	return json.Marshal(struct {
		Revisions map[Channel]int64 `json:"revisions"`
		Ended     bool              `json:"ended,omitempty"`
	}{revisions, ended})
}
