package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/deskhand/deskhand/runtime/store"
)

// Recover copies into the raw log what a killed writer left in the spool, and
// ends the logs. It may be called again, and concurrently. A missing spool is
// no error.
func Recover(ctx context.Context, db *store.DB, process, spool string, o Options) error {
	w, err := NewWriter(ctx, db, process, Options{Raw: o.Raw, Normalized: o.Normalized})
	if err != nil {
		return err
	}
	f, err := os.Open(spool)
	if err == nil {
		defer f.Close()
		// What is in the spool was cleaned of secrets when it was written.
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
		closed = nil // another one recovers it
	}
	if err != nil {
		return fmt.Errorf("recover log of %s: %w", process, err)
	}
	return closed
}

// recovered takes a record that the spool already has.
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
