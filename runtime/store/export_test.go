package store

import (
	"context"
	"database/sql"
	"testing"
	"time"
)

// Look is the reading that [sqliteStore.listen] repeats.
func Look(db *DB) (int64, error) { return db.dialect.(*sqliteStore).seq(context.Background()) }

// NoBell makes listeners look by the clock alone, for one test.
func NoBell(t testing.TB) {
	old := newBell
	newBell = func(string) (<-chan struct{}, func()) { return nil, func() {} }
	t.Cleanup(func() { newBell = old })
}

// HoldReaders takes every connection that reads use: until release, who reads
// waits.
func HoldReaders(db *DB) (release func()) {
	var pool *sql.DB
	var turn chan struct{}
	switch s := db.dialect.(type) {
	case *sqliteStore:
		pool, turn = s.others, s.turn
	case *postgresStore:
		pool, turn = s.others, s.turn
		s.wanted.Add(1) // the listener hands over
		defer s.wanted.Add(-1)
		s.interrupt()
	}
	turn <- struct{}{}
	var held []*sql.Conn
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		conn, err := pool.Conn(ctx)
		cancel()
		if err != nil {
			break
		}
		held = append(held, conn)
	}
	return func() {
		<-turn
		for _, conn := range held {
			conn.Close()
		}
	}
}

// LookAtFeed makes the watchers of db look for events of other processes.
func LookAtFeed(db *DB) { db.feed.pump.signal() }

// KeepIdle sets how long connections are kept that nobody uses, for one test.
func KeepIdle(t testing.TB, d time.Duration) {
	old := idleFor
	idleFor = d
	t.Cleanup(func() { idleFor = old })
}
