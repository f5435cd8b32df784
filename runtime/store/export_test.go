package store

import (
	"context"
	"database/sql"
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

// HoldReaders takes every connection that reads use: until release, who reads
// waits.
func HoldReaders(db *DB) (release func()) {
	var held []*sql.Conn
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		conn, err := db.read.Conn(ctx)
		cancel()
		if err != nil {
			break
		}
		held = append(held, conn)
	}
	return func() {
		for _, conn := range held {
			conn.Close()
		}
	}
}

// KeepIdle sets how long connections are kept that nobody uses, for one test.
func KeepIdle(t testing.TB, d time.Duration) {
	old := idleFor
	idleFor = d
	t.Cleanup(func() { idleFor = old })
}
