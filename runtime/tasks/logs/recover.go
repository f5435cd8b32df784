package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/deskhand/deskhand/runtime/store"
)

// Recover copies the lines that a killed writer left in the spool to the raw
// log, and ends the logs. It may be called repeatedly and concurrently. A
// missing spool is not an error.
func Recover(ctx context.Context, db *store.DB, process, spool string, o Options) error {
	w, err := NewWriter(ctx, db, process, Options{Raw: o.Raw, Normalized: o.Normalized})
	if err != nil {
		return err
	}
	f, err := os.Open(spool)
	if err == nil {
		defer f.Close()
		// Secrets were removed from the spool when it was written.
		_, err = readSpool(f, w.heads[Raw].spooled, func(r record, end int64) error {
			w.recovered(r, end)
			return nil
		})
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	closed := w.Close(ctx)
	if errors.Is(closed, ErrTaken) {
		closed = nil // another process is recovering it
	}
	if err != nil {
		return fmt.Errorf("recover log of %s: %w", process, err)
	}
	return closed
}

// recovered adds a record that is already in the spool. end is the offset of
// the record's end.
func (w *Writer) recovered(r record, end int64) {
	entry, err := line(r.stream, r.content, r.cut)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waitForSpace()
	w.raw = append(w.raw, item{entry: entry, spooled: end})
	w.waiting += len(entry)
	w.added++
	w.ring()
}
