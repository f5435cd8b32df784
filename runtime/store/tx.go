package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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

	tx     transaction
	db     *DB
	ctx    context.Context // of the Update, for [Tx.Audit]
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
	raw, at, err := db.dialect.begin(ctx, firm)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	defer raw.rollback()
	tx := db.open(raw, at)
	tx.ctx = ctx
	if err := f(tx); err != nil {
		return err
	}
	if err := raw.commit(ctx, tx.events); err != nil {
		return err
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
	raw, at, err := db.dialect.read(ctx)
	if err != nil {
		return fmt.Errorf("begin reading: %w", err)
	}
	defer raw.rollback()
	return f(db.open(raw, at))
}

func (db *DB) open(raw transaction, at position) *Tx {
	if at.now.IsZero() {
		at.now = db.now()
	} else {
		db.clock.set(at.now)
	}
	return &Tx{Now: at.now.UTC().Truncate(time.Millisecond), Seq: at.seq, tx: raw, db: db}
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
