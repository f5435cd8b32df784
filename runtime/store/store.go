// Package store owns the database that all deskhand processes share, and its
// feed of events.
//
// A process opens the store with [Open]. There is no server; all processes are
// peers. State changes only in [DB.Update] and [DB.UpdateFast]. Only one such
// call runs at a time across all processes. The call may append events to the
// feed in the same transaction. Readers follow the feed with [DB.Watch] from
// any sequence number.
//
// The database is SQLite in a folder, or PostgreSQL if several machines share
// it. Queries are written in SQL that both understand, with ? for parameters.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Schema is the set of tables that one package keeps in the store.
type Schema struct {
	// Name consists of the letters a-z. The table schema_<Name> holds the
	// schema's versions.
	Name string
	// Migrations holds SQL files in its top folder. A file is named, for example,
	// 0001_what.sql, and runs in one transaction. The SQL must work in both databases.
	Migrations fs.FS
}

// NewSchema returns a schema. Its migrations are in the folder "migrations" in
// files. NewSchema panics if files has no such folder.
func NewSchema(name string, files embed.FS) Schema {
	migrations, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err)
	}
	return Schema{Name: name, Migrations: migrations}
}

// DB is an open store. Its methods may be called concurrently.
type DB struct {
	dialect dialect
	place   string        // for messages; does not contain the password
	schemas []Schema      // nil after Peek
	read    *sql.DB       // for reads before the feed exists
	pools   []*sql.DB     // all pools, in the order in which Close closes them
	queue   chan struct{} // capacity 1: one Update at a time in this process
	feed    feed
	probe   probe
	clock   clock
	now     func() time.Time
	actor   Record // Who and Way of what this process does by itself
	close   sync.Once
}

// dialect holds the operations that differ between the two databases.
type dialect interface {
	// migrationLock calls f while no other process migrates.
	migrationLock(ctx context.Context, f func(*sql.DB) error) error
	goose() gooseDialect
	// begin starts a transaction that holds the lock of all writers. If firm, the data is
	// on disk when the commit returns; otherwise a crash of the machine, but nothing else,
	// can lose it. Only one transaction is started at a time.
	begin(ctx context.Context, firm bool) (transaction, position, error)
	// read starts a transaction whose statements all see the same state.
	read(ctx context.Context) (transaction, position, error)
	// bind replaces each ? with the driver's placeholders.
	bind(query string) string
	// listen calls wake whenever the feed may have grown, until ctx is done. It
	// survives connection failures.
	listen(ctx context.Context, wake func())
}

// transaction is a running transaction.
type transaction interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	// commit appends events to the feed, commits and wakes other processes.
	commit(ctx context.Context, events []Event) error
	// rollback ends the transaction. It does nothing after commit.
	rollback()
}

// position is where the feed was when a transaction began.
type position struct {
	seq int64     // of the newest event
	now time.Time // the database's clock; zero if the process's own clock should be used
}

// Open opens the store at place, which is a folder or a postgres:// URL, and
// migrates the tables of schemas. If the folder is missing, Open creates it
// with mode 0700. It returns a [*NewerError] if a newer deskhand has changed
// the store, and a [*ReadOnlyError] if the folder is not writable and SQLite
// cannot read there.
func Open(ctx context.Context, place string, schemas ...Schema) (*DB, error) {
	db := &DB{queue: make(chan struct{}, 1), now: time.Now}
	var err error
	if IsPostgres(place) {
		err = db.openPostgres(ctx, place)
	} else {
		err = db.openSQLite(ctx, place)
	}
	if err == nil {
		db.schemas = append([]Schema{ownSchema}, schemas...)
		err = db.migrate(ctx, db.schemas)
	}
	if err != nil {
		db.Close()
		if err = db.readOnly(err); errors.As(err, new(*ReadOnlyError)) {
			return nil, err
		}
		return nil, fmt.Errorf("open store %s: %w", db.place, err)
	}
	db.feed.db = db
	return db, nil
}

// IsPostgres reports whether place is the URL of a PostgreSQL database.
func IsPostgres(place string) bool {
	return strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://")
}

// Place returns the store's folder or URL, without the password.
func (db *DB) Place() string { return db.place }

// Now returns this process's wall clock, which is also the clock of a store on
// SQLite.
func (db *DB) Now() time.Time { return db.now() }

// SetClock replaces the clock, for tests whose clocks jump. It must be called
// before anything else uses the store.
func (db *DB) SetClock(now func() time.Time) { db.now = now }

// Close ends every watch with [ErrClosed] and closes the database. It may be
// called twice.
func (db *DB) Close() (err error) {
	db.close.Do(func() {
		db.feed.close()
		for _, pool := range db.pools {
			if e := pool.Close(); e != nil && err == nil {
				err = fmt.Errorf("close store %s: %w", db.place, e)
			}
		}
	})
	return err
}

// Rest frees the memory of connections that are not in use. Call it when the process is
// about to do little for a while: the next call has to open a connection again.
func (db *DB) Rest() {
	if s, ok := db.dialect.(*sqliteStore); ok {
		s.shrink()
	}
}

// Shown returns place without the password in its URL.
func Shown(place string) string {
	if !IsPostgres(place) {
		return place
	}
	return withoutPassword(place)
}

// withoutPassword returns a URL with its password removed.
func withoutPassword(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "postgres://..."
	}
	q := u.Query()
	if q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}
