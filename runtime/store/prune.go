package store

import (
	"context"
	"fmt"
	"time"
)

// pruneAtOnce is the maximum number of events per transaction. A transaction of
// this size takes about 10 ms.
const pruneAtOnce = 1000

// Prune removes events that are older than the given time, from the beginning
// of the feed on. It returns the number of removed events. It never removes the
// newest event. It also removes leases that expired before that time, and all
// expired leases without data.
func (db *DB) Prune(ctx context.Context, before time.Time) (removed int64, err error) {
	for {
		n, err := db.pruneSome(ctx, before)
		removed += n
		if err != nil || n < pruneAtOnce {
			return removed, err
		}
	}
}

func (db *DB) pruneSome(ctx context.Context, before time.Time) (removed int64, err error) {
	err = db.UpdateFast(ctx, func(tx *Tx) error {
		if _, err := tx.Exec(ctx, "DELETE FROM leases WHERE until < ? OR until < ? AND data = ''", before.UnixMilli(), tx.Now.UnixMilli()); err != nil {
			return err
		}
		last, err := tx.lastOld(ctx, before)
		if err != nil || last == 0 {
			return err
		}
		result, err := tx.Exec(ctx, "DELETE FROM events WHERE seq <= ?", last)
		if err != nil {
			return err
		}
		if removed, err = result.RowsAffected(); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE feed SET pruned = ? WHERE id = 1 AND pruned < ?", last, last)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("prune feed: %w", err)
	}
	return removed, nil
}

// lastOld finds the events at the beginning of the feed that are older than the
// given time. It returns the sequence number of the last such event, or 0 if
// there is none. Clocks can be set back, so an old event may follow a newer
// event. Such an event stays, regardless of its time.
func (tx *Tx) lastOld(ctx context.Context, before time.Time) (last int64, err error) {
	rows, err := tx.Query(ctx, "SELECT seq, at FROM events WHERE seq < ? ORDER BY seq LIMIT ?", tx.Seq, pruneAtOnce)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq, at int64
		if err := rows.Scan(&seq, &at); err != nil {
			return 0, err
		}
		if at >= before.UnixMilli() {
			break
		}
		last = seq
	}
	return last, rows.Err()
}
