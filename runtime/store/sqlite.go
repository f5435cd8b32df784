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

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
)

// sqliteFile is the name of the database in its folder. SQLite puts two more
// beside it while it is open.
const sqliteFile = "deskhand.db"

// lockWait bounds how long a process waits for another one's transaction. Ours
// take a millisecond; half a minute means that something is stopped or broken.
const lockWait = 30 * time.Second

type sqliteStore struct {
	folder  string
	readers *sql.DB
}

func (db *DB) openSQLite(folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	db.place = folder
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	file := filepath.Join(folder, sqliteFile)
	if err := private(file); err != nil {
		return err
	}
	// Writers wait a little inside SQLite and long in begin. Readers wait only
	// while another process recovers the database after a crash.
	if db.write.firm, err = openFile(file, 1, "_txlock=immediate", "_pragma=busy_timeout(10)", "_pragma=synchronous(FULL)"); err != nil {
		return err
	}
	if db.write.fast, err = openFile(file, 1, "_txlock=immediate", "_pragma=busy_timeout(10)", "_pragma=synchronous(NORMAL)"); err != nil {
		return err
	}
	if db.read, err = openFile(file, 4, "_pragma=busy_timeout(10000)", "_pragma=query_only(1)"); err != nil {
		return err
	}
	db.dialect = &sqliteStore{folder: folder, readers: db.read}
	return nil
}

// private makes an empty file that its owner alone can read; SQLite gives its
// other files the same mode. A file that exists is not opened: closing it would
// drop the locks that this process has on it.
func private(file string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make database: %w", err)
	}
	return f.Close()
}

func openFile(file string, connections int, settings ...string) (*sql.DB, error) {
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/state is file:///C:/state
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: strings.Join(settings, "&")}
	pool, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return pool, nil
}

func (s *sqliteStore) goose() gooseDialect { return goose.DialectSQLite3 }

func (s *sqliteStore) bind(query string) string { return query }

// read needs no level of isolation: a transaction of SQLite is a snapshot.
func (s *sqliteStore) read(ctx context.Context, pool *sql.DB) (*sql.Tx, error) {
	return pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
}

func (s *sqliteStore) notify(context.Context, *sql.Tx) error { return nil } // data_version tells

func (s *sqliteStore) head(ctx context.Context, tx *sql.Tx) (seq int64, now time.Time, err error) {
	err = tx.QueryRowContext(ctx, "SELECT seq FROM feed WHERE id = 1").Scan(&seq)
	return seq, now, err
}

// begin tries again and again, with short pauses of random length: SQLite's own
// waiting grows to 100 ms a step, and whoever comes later is served first.
func (s *sqliteStore) begin(ctx context.Context, w *sql.DB) (*sql.Tx, error) {
	since := time.Now()
	for pause := 200 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		tx, err := w.BeginTx(ctx, nil)
		if err == nil || !busy(err) {
			return tx, err
		}
		if waited := time.Since(since); waited > lockWait {
			return nil, fmt.Errorf("another process has not let go of the store for %v: %w", waited.Round(time.Second), err)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// busy says that another process holds a lock.
func busy(err error) bool {
	const sqliteBusy = 5 // the low byte of every SQLITE_BUSY code
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqliteBusy
}

// migrationLock is an exclusive transaction on an empty database beside the
// real one: it works wherever SQLite does, and ends with the process.
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
	tx, err := s.begin(ctx, lock)
	if err != nil {
		return fmt.Errorf("lock migrations: %w", err)
	}
	defer tx.Rollback()
	pool, err := openFile(filepath.Join(s.folder, sqliteFile), 2, "_txlock=immediate",
		"_pragma=busy_timeout(10000)", "_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer pool.Close()
	return f(pool)
}

// pollEvery is how long another process's change may go unseen.
const pollEvery = 25 * time.Millisecond

// listen polls a number that SQLite keeps in shared memory: it changes when
// another connection commits, and reading it takes some 25 microseconds
// (BenchmarkPoll).
func (s *sqliteStore) listen(ctx context.Context, wake func()) {
	for ctx.Err() == nil {
		s.poll(ctx, wake)
		select { // the connection broke
		case <-time.After(10 * pollEvery):
		case <-ctx.Done():
		}
	}
}

func (s *sqliteStore) poll(ctx context.Context, wake func()) {
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	query, err := conn.PrepareContext(ctx, "PRAGMA data_version")
	if err != nil {
		return
	}
	defer query.Close()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for last := int64(-1); ; {
		var version int64
		if err := query.QueryRowContext(ctx).Scan(&version); err != nil {
			return
		}
		if version != last {
			last = version
			wake()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
