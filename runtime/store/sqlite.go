package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	goose "github.com/pressly/goose/v3/database"
	"modernc.org/sqlite"
)

// SQLiteFile is the name of the database file in its folder. While the database
// is open, SQLite keeps two more files next to it.
const SQLiteFile = "deskhand.db"

// lockWait is the maximum time that a process waits for another process's
// transaction. deskhand's transactions take about a millisecond. After half a
// minute, the other process must be suspended or broken.
const lockWait = 30 * time.Second

// sqliteStore uses few connections. It has one for writing and one for reading.
// If there are concurrent readers, it opens more connections for a while. An
// idle process has the file open twice.
type sqliteStore struct {
	folder string
	queue  chan struct{} // the DB's queue, which has one place; the writer occupies it
	writer *sql.DB       // one connection, for the goroutine that occupies queue
	firm   bool          // whether the writer's commits are durable
	reader *sql.DB       // one connection, for the goroutine that occupies turn
	turn   chan struct{}
	others *sql.DB     // for readers that do not get reader within readerWait
	crowd  *time.Timer // calls shrink when others has not been used for shrinkAfter

	byClock bool // see ByClock
}

// readerWait is how long a reader waits for the first connection. After that,
// it uses another connection. Nearly all reads take less than a millisecond.
const readerWait = 10 * time.Millisecond

// shrinkAfter is how long unused additional connections are kept.
const shrinkAfter = 2 * time.Second

// shrink closes all connections if none of them is in use. It closes all of
// them because SQLite does not close a connection's file while another
// connection of the same process has the file open. The next reader or writer
// opens a new connection.
func (s *sqliteStore) shrink() {
	select {
	case s.queue <- struct{}{}:
		defer func() { <-s.queue }()
	default:
		s.crowd.Reset(shrinkAfter)
		return
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	default:
		s.crowd.Reset(shrinkAfter)
		return
	}
	for _, pool := range []*sql.DB{s.others, s.reader, s.writer} {
		pool.SetMaxIdleConns(0)
	}
	s.others.SetMaxIdleConns(maxOthers)
	s.reader.SetMaxIdleConns(1)
	s.writer.SetMaxIdleConns(1)
	s.firm = true // a new connection's commits are durable by default
	if s.others.Stats().OpenConnections > 0 {
		s.crowd.Reset(shrinkAfter) // retry later, because a connection was in use
	}
}

// maxOthers is the maximum number of additional reading connections.
const maxOthers = 3

func (db *DB) openSQLite(ctx context.Context, folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	db.place = folder
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("%w: %w", errFolder, err)
	}
	file := filepath.Join(folder, SQLiteFile)
	if err := private(file); err != nil {
		return err
	}
	s := &sqliteStore{folder: folder, queue: db.queue, firm: true, turn: make(chan struct{}, 1), byClock: ctx.Value(clockKey{}) != nil}
	s.crowd = time.AfterFunc(time.Hour, s.shrink)
	s.crowd.Stop()
	// Inside SQLite, writers wait only briefly; begin waits longer. Readers
	// wait only while another process recovers the database after a crash.
	for _, p := range []struct {
		pool        **sql.DB
		connections int
		settings    []string
	}{
		{&s.reader, 1, []string{"_pragma=busy_timeout(10000)", "_pragma=query_only(1)"}},
		{&s.others, maxOthers, []string{"_pragma=busy_timeout(10000)", "_pragma=query_only(1)"}},
		{&s.writer, 1, []string{"_txlock=immediate", "_pragma=busy_timeout(10)", "_pragma=synchronous(FULL)", fmt.Sprintf("_pragma=journal_size_limit(%d)", keptLog)}},
	} {
		if *p.pool, err = openFile(file, p.connections, p.settings...); err != nil {
			return err
		}
		db.pools = append(db.pools, *p.pool)
	}
	db.read, db.dialect = s.reader, s
	return nil
}

// keptLog is the maximum size in bytes of SQLite's log after it was copied to the database.
// While a backup reads, the log has all pages of all changes, and it would keep that size.
const keptLog = 8 << 20

// private creates an empty file that only its owner can read. SQLite gives its
// other files the same mode. private does not open an existing file, because
// closing it would drop this process's locks on the file.
func private(file string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	return f.Close()
}

func openFile(file string, connections int, settings ...string) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(addressOf(file, settings...))
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(preparing{connector})
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return pool, nil
}

// addressOf returns a file and settings in the form that SQLite's driver reads.
func addressOf(file string, settings ...string) string {
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/state becomes file:///C:/state
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: strings.Join(settings, "&")}
	return u.String()
}

func (s *sqliteStore) goose() gooseDialect { return goose.DialectSQLite3 }

func (s *sqliteStore) bind(query string) string { return query }

// liteTx is a transaction of SQLite.
type liteTx struct {
	*sql.Tx
	done func()
}

// rowsAtOnce is the maximum number of rows in an INSERT. SQLite allows 32,766
// parameters, but longer statements gain nothing.
const rowsAtOnce = 64

func (t *liteTx) commit(ctx context.Context, events []Event) error {
	for rest := events; len(rest) > 0; {
		n := min(len(rest), rowsAtOnce)
		args := make([]any, 0, 5*n)
		for _, e := range rest[:n] {
			args = append(args, e.Seq, e.At.UnixMilli(), e.Topic, e.Key, string(e.Data))
		}
		values := strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?), ", n), ", ")
		if _, err := t.ExecContext(ctx, "INSERT INTO events (seq, at, topic, key, data) VALUES "+values, args...); err != nil {
			return fmt.Errorf("append to feed: %w", err)
		}
		rest = rest[n:]
	}
	if err := t.Commit(); err != nil {
		return &uncertain{err}
	}
	return nil
}

func (t *liteTx) rollback() {
	t.Rollback() // does nothing after Commit
	t.done()
}

// open reads the newest sequence number. It has no clock.
func (t *liteTx) open(ctx context.Context) (transaction, position, error) {
	var at position
	if err := t.QueryRowContext(ctx, newest).Scan(&at.seq); err != nil {
		t.rollback()
		return nil, at, fmt.Errorf("read feed: %w", err)
	}
	return t, at, nil
}

// read sets no isolation level, because every SQLite transaction is a snapshot.
func (s *sqliteStore) read(ctx context.Context) (transaction, position, error) {
	pool, done, err := s.lane(ctx)
	if err != nil {
		return nil, position{}, err
	}
	tx, err := pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		done()
		return nil, position{}, err
	}
	return (&liteTx{tx, done}).open(ctx)
}

// lane returns a pool for a reader. The reader may use the pool until it calls
// done.
func (s *sqliteStore) lane(ctx context.Context) (pool *sql.DB, done func(), err error) {
	take := func() (*sql.DB, func(), error) { return s.reader, func() { <-s.turn }, nil }
	select {
	case s.turn <- struct{}{}:
		return take()
	default:
	}
	late := time.NewTimer(readerWait)
	defer late.Stop()
	select {
	case s.turn <- struct{}{}:
		return take()
	case <-late.C:
		return s.others, func() { s.crowd.Reset(shrinkAfter) }, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// begin retries with short random pauses. SQLite's own pauses grow to 100 ms
// each, and it serves latecomers first.
func (s *sqliteStore) begin(ctx context.Context, firm bool) (transaction, position, error) {
	if err := s.commitTo(ctx, firm); err != nil {
		return nil, position{}, err
	}
	tx, err := s.beginOn(ctx, s.writer)
	if err != nil {
		return nil, position{}, err
	}
	return (&liteTx{tx, func() {}}).open(ctx)
}

// commitTo sets whether the writer's commits are durable. If a connection is
// broken, its replacement starts with durable commits.
func (s *sqliteStore) commitTo(ctx context.Context, firm bool) error {
	if firm == s.firm {
		return nil
	}
	level := map[bool]string{true: "FULL", false: "NORMAL"}[firm]
	if _, err := s.writer.ExecContext(ctx, "PRAGMA synchronous = "+level); err != nil {
		return err
	}
	s.firm = firm
	return nil
}

func (s *sqliteStore) beginOn(ctx context.Context, w *sql.DB) (*sql.Tx, error) {
	since := time.Now()
	for pause := 200 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		tx, err := w.BeginTx(ctx, nil)
		if err == nil || !busy(err) {
			return tx, err
		}
		if waited := time.Since(since); waited > lockWait {
			return nil, fmt.Errorf("another process has locked the store for %v: %w", waited.Round(time.Second), err)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// busy reports whether another process holds a lock.
func busy(err error) bool {
	const sqliteBusy = 5 // the low byte of all SQLITE_BUSY codes
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqliteBusy
}

// migrationLock calls f while it holds an exclusive transaction on an empty
// database next to the real one. This lock works wherever SQLite works, and is
// released when the process exits.
func (s *sqliteStore) migrationLock(ctx context.Context, f func(*sql.DB) error) error {
	file := filepath.Join(s.folder, "migrate.lock")
	if err := private(file); err != nil {
		return err
	}
	lock, err := openFile(file, 1, "_txlock=exclusive")
	if err != nil {
		return err
	}
	defer lock.Close()
	tx, err := s.beginOn(ctx, lock)
	if err != nil {
		return fmt.Errorf("lock migrations: %w", err)
	}
	defer tx.Rollback()
	// SQLite closes the files of pool only if the reader has closed its own
	// file.
	s.reader.SetMaxIdleConns(0)
	defer func() {
		s.reader.SetMaxIdleConns(1)
		s.seq(ctx) // reopen the reader's connection before it is needed; the next read would return the same error
	}()
	pool, err := openFile(filepath.Join(s.folder, SQLiteFile), 2, "_txlock=immediate",
		"_pragma=busy_timeout(10000)", "_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer pool.Close()
	return f(pool)
}
