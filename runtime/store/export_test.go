package store

import (
	"context"
	"testing"
	"time"
)

// Poll is the reading that [sqliteStore.poll] repeats.
func Poll(db *DB) (func() error, error) {
	query, err := db.read.Prepare("PRAGMA data_version")
	return func() error {
		var version int64
		return query.QueryRowContext(context.Background()).Scan(&version)
	}, err
}

// KeepIdle sets how long connections are kept that nobody uses, for one test.
func KeepIdle(t testing.TB, d time.Duration) {
	old := idleFor
	idleFor = d
	t.Cleanup(func() { idleFor = old })
}
