package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Tx is a running transaction. Use it in only one goroutine, and only until the
// function that received it returns.
type Tx struct {
	// Now is the store's wall clock at the start of the transaction, in UTC
	// with millisecond precision.
	Now time.Time
	// Seq is the sequence number of the newest event that this transaction
	// sees, including its own events.
	Seq int64

	tx     *sql.Tx
	db     *DB
	events []Event
	after  []func()
}

// Update runs f in a transaction. No other Update runs in any process between
// f's first statement and the commit. If Update returns nil, f's changes and
// events survive a crash of the machine. If f or Update returns an error,
// nothing is stored, except possibly in the case of [ErrUncertain]. Update
// waits until other updates have ended. It returns an error if another process
// has held the store for half a minute.
func (db *DB) Update(ctx context.Context, f func(*Tx) error) error {
	return db.readOnly(db.update(ctx, true, f))
}

// UpdateFast does the same as [DB.Update], but does not wait for the disk. The
// changes survive the end of any process, but a crash of the machine may lose
// about the last second.
func (db *DB) UpdateFast(ctx context.Context, f func(*Tx) error) error {
	return db.readOnly(db.update(ctx, false, f))
}

// update commits to disk if firm is true, and otherwise only to the operating
// system.
func (db *DB) update(ctx context.Context, firm bool, f func(*Tx) error) error {
	select {
	case db.queue <- struct{}{}:
		defer func() { <-db.queue }()
	case <-ctx.Done():
		return ctx.Err()
	}
	raw, err := db.dialect.begin(ctx, firm)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	defer raw.Rollback() // has no effect after Commit
	tx, err := db.open(ctx, raw)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return err
	}
	if err := tx.flush(ctx); err != nil {
		return fmt.Errorf("append to feed: %w", err)
	}
	if err := raw.Commit(); err != nil {
		return &uncertain{err}
	}
	db.feed.publish(tx.events)
	for _, f := range tx.after {
		f()
	}
	return nil
}

// After registers f to be called once the transaction has been committed. If
// the transaction fails, f is not called.
func (tx *Tx) After(f func()) { tx.after = append(tx.after, f) }

// ErrUncertain marks the error of an Update whose commit was not acknowledged.
// The changes may have been stored. Read the state before you retry.
var ErrUncertain = errors.New("the commit was not acknowledged")

type uncertain struct{ err error }

func (u *uncertain) Error() string        { return "commit: " + u.err.Error() }
func (u *uncertain) Unwrap() error        { return u.err }
func (u *uncertain) Is(target error) bool { return target == ErrUncertain }

// View runs f in a read-only transaction on one snapshot of the store. It never
// waits for an Update.
func (db *DB) View(ctx context.Context, f func(*Tx) error) error {
	raw, done, err := db.dialect.read(ctx)
	if err != nil {
		return fmt.Errorf("begin reading: %w", err)
	}
	defer done()
	defer raw.Rollback()
	tx, err := db.open(ctx, raw)
	if err != nil {
		return err
	}
	return f(tx)
}

func (db *DB) open(ctx context.Context, raw *sql.Tx) (*Tx, error) {
	seq, now, err := db.dialect.head(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("read feed: %w", err)
	}
	if now.IsZero() {
		now = db.now()
	}
	return &Tx{Now: now.UTC().Truncate(time.Millisecond), Seq: seq, tx: raw, db: db}, nil
}

// Exec runs a statement. Every ? in query is a placeholder, even inside quotes.
// Pass constants that contain a question mark as arguments.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return tx.tx.ExecContext(ctx, tx.db.dialect.bind(query), args...)
}

// Query runs a statement that returns rows. Close the rows before the next
// statement.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return tx.tx.QueryContext(ctx, tx.db.dialect.bind(query), args...)
}

// QueryRow runs a statement that returns at most one row.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return tx.tx.QueryRowContext(ctx, tx.db.dialect.bind(query), args...)
}

// Append adds an event to the feed and returns its sequence number. Readers see
// the event after the transaction has committed.
func (tx *Tx) Append(topic, key string, data []byte) int64 {
	tx.Seq++
	tx.events = append(tx.events, Event{Seq: tx.Seq, At: tx.Now, Topic: topic, Key: key, Data: data})
	return tx.Seq
}

// AppendLatest does the same as [Tx.Append], and also removes the earlier
// events with the same topic and key. It is for events of which only the newest
// matters. A watcher may still see the earlier events, and always sees the
// newest. key must not be empty.
func (tx *Tx) AppendLatest(ctx context.Context, topic, key string, data []byte) (seq int64, err error) {
	if _, err := tx.Exec(ctx, "DELETE FROM events WHERE topic = ? AND key = ?", topic, key); err != nil {
		return 0, fmt.Errorf("remove events of %s: %w", key, err)
	}
	return tx.Append(topic, key, data), nil
}

// rowsAtOnce is the maximum number of rows in an INSERT. SQLite allows 32,766
// parameters, but longer statements are not faster.
const rowsAtOnce = 64

// flush writes the appended events.
func (tx *Tx) flush(ctx context.Context) error {
	if len(tx.events) == 0 {
		return nil
	}
	for rest := tx.events; len(rest) > 0; {
		n := min(len(rest), rowsAtOnce)
		args := make([]any, 0, 5*n)
		for _, e := range rest[:n] {
			args = append(args, e.Seq, e.At.UnixMilli(), e.Topic, e.Key, string(e.Data))
		}
		values := strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?), ", n), ", ")
		if _, err := tx.Exec(ctx, "INSERT INTO events (seq, at, topic, key, data) VALUES "+values, args...); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if _, err := tx.Exec(ctx, "UPDATE feed SET seq = ? WHERE id = 1", tx.Seq); err != nil {
		return err
	}
	return tx.db.dialect.notify(ctx, tx.tx)
}
