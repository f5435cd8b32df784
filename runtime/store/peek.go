package store

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"time"
)

// Peek opens a SQLite file for reading only and does not migrate it. Use only [DB.View]
// and [DB.Close].
func Peek(ctx context.Context, file string) (*DB, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	db := &DB{queue: make(chan struct{}, 1), now: time.Now, place: file}
	s := &sqliteStore{folder: filepath.Dir(file), queue: db.queue, firm: true, turn: make(chan struct{}, 1)}
	s.crowd = time.AfterFunc(time.Hour, s.shrink)
	s.crowd.Stop()
	for _, pool := range []**sql.DB{&s.reader, &s.others, &s.writer} {
		if *pool, err = openFile(file, 1, "mode=ro", "_pragma=busy_timeout(10000)", "_pragma=query_only(1)"); err != nil {
			db.Close()
			return nil, err
		}
		db.pools = append(db.pools, *pool)
	}
	db.read, db.dialect, db.feed.db = s.reader, s, db
	if err := db.View(ctx, func(*Tx) error { return nil }); err != nil {
		db.Close()
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return db, nil
}

// Seal makes the file of a SQLite store complete in itself: afterwards, it can be moved and
// read without the files next to it. No other process may have the store open. Only
// [DB.Close] may follow.
func (db *DB) Seal(ctx context.Context) error {
	s, ok := db.dialect.(*sqliteStore)
	if !ok {
		return nil
	}
	for _, pool := range []*sql.DB{s.others, s.reader, s.writer} {
		pool.SetMaxIdleConns(0)
	}
	w, err := openFile(filepath.Join(s.folder, SQLiteFile), 1, "_pragma=busy_timeout(10000)", "_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer w.Close()
	var mode string
	if err := w.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode); err != nil {
		return fmt.Errorf("seal store: %w", err)
	}
	if mode != "delete" {
		return fmt.Errorf("seal store: the journal's mode is %s", mode)
	}
	return nil
}

// File returns the path of a SQLite store's file, or "" on PostgreSQL.
func (db *DB) File() string {
	if IsPostgres(db.place) {
		return ""
	}
	return filepath.Join(db.place, SQLiteFile)
}
