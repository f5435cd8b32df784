package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Plan is a change that its caller has already worked out from a state that it has
// read, so that the change can be checked and made without another round trip to the
// database.
type Plan struct {
	// At is the time of the change, from [DB.Estimate].
	At time.Time
	// Inserts only add rows that no other process adds. They run first, outside the
	// order of all writers.
	Inserts []Statement
	// Changes run in the order of all writers.
	Changes []Statement
	// Events are appended to the feed. Their Seq and At are ignored.
	Events []Event
	// Latest removes the earlier events with the same topic and key as each event.
	Latest bool
}

// Statement is a statement of a [Plan], as for [Tx.Exec].
type Statement struct {
	Query string
	Args  []any
	// Rows is the number of rows that the statement must change. If it is negative,
	// any number is accepted.
	Rows int64
}

// ErrChanged is returned by [DB.Apply] if the state has changed since the plan was made.
// Nothing was stored.
var ErrChanged = errors.New("the state has changed since it was read")

// PlansPay reports whether [DB.Apply] is faster than [DB.Update], because the database
// is reached over a network.
func (db *DB) PlansPay() bool { return IsPostgres(db.place) }

// Apply makes a planned change, on PostgreSQL in one round trip: the lock of all writers
// is held only while the server executes the statements. It is all or nothing, and as
// durable as [DB.Update] if firm, otherwise as [DB.UpdateFast]. It returns the sequence
// number of the first event, [ErrChanged], or the errors of Update. On ErrChanged, read
// the state again.
func (db *DB) Apply(ctx context.Context, firm bool, p Plan) (seq int64, err error) {
	p.At = p.At.UTC().Truncate(time.Millisecond)
	for i := range p.Events {
		p.Events[i].At = p.At
	}
	if !db.PlansPay() {
		return db.applySlowly(ctx, firm, &p)
	}
	seq, err = db.dialect.(*postgresStore).apply(ctx, firm, &p)
	if err != nil {
		return 0, err
	}
	for i := range p.Events {
		p.Events[i].Seq = seq + int64(i)
	}
	db.feed.publish(p.Events)
	return seq, nil
}

func (db *DB) applySlowly(ctx context.Context, firm bool, p *Plan) (seq int64, err error) {
	return seq, db.readOnly(db.update(ctx, firm, func(tx *Tx) error {
		seq = tx.Seq + 1
		for _, list := range [][]Statement{p.Inserts, p.Changes} {
			for _, s := range list {
				result, err := tx.Exec(ctx, s.Query, s.Args...)
				if err != nil {
					return err
				}
				if n, err := result.RowsAffected(); err != nil || s.Rows >= 0 && n != s.Rows {
					return cmp.Or(err, ErrChanged)
				}
			}
		}
		for _, e := range p.Events {
			if !p.Latest {
				tx.Append(e.Topic, e.Key, e.Data)
			} else if _, err := tx.AppendLatest(ctx, e.Topic, e.Key, e.Data); err != nil {
				return err
			}
		}
		return nil
	}))
}

// clock estimates the database's clock.
type clock struct {
	mu  sync.Mutex
	now time.Time // of the database
	at  time.Time // when it was read, with its monotonic reading
}

func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.at = now, time.Now()
}

// MostOff is the maximum difference between the time of a [Plan] and the store's clock.
const MostOff = time.Second

// Estimate returns the store's clock without asking it, or false if it is unknown. [DB.Apply]
// refuses a time that is wrong by [MostOff] or more with [ErrChanged].
func (db *DB) Estimate() (time.Time, bool) {
	if !db.PlansPay() {
		return db.now(), true
	}
	c := &db.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return time.Time{}, false
	}
	return c.now.Add(time.Since(c.at)), true
}

// ReadRow reads the row of a query into dest, on PostgreSQL in one round trip. If there
// is none, it returns [sql.ErrNoRows]. It also sets the clock of [DB.Estimate].
func (db *DB) ReadRow(ctx context.Context, query string, args []any, dest ...any) error {
	s, ok := db.dialect.(*postgresStore)
	if !ok {
		return db.View(ctx, func(tx *Tx) error { return tx.QueryRow(ctx, query, args...).Scan(dest...) })
	}
	b := &pgx.Batch{}
	var now time.Time
	var rowErr error
	b.Queue("SELECT clock_timestamp()").QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
	b.Queue(s.bind(query), args...).QueryRow(func(row pgx.Row) error {
		rowErr = row.Scan(dest...)
		return nil
	})
	_, err := again(ctx, func() (struct{}, error) {
		conn, done, err := s.lane(ctx)
		if err != nil {
			return struct{}{}, err
		}
		defer done()
		return struct{}{}, raw(conn, func(c *pgx.Conn) error { return c.SendBatch(ctx, unsent(b)).Close() })
	})
	if err != nil {
		return err
	}
	db.clock.set(now)
	return rowErr
}

// A check that fails divides by zero, which ends the transaction within the round trip.
const (
	checkFailed = "22012" // division_by_zero
	checkClock  = "SELECT 1 / (CASE WHEN abs(extract(epoch FROM clock_timestamp()) * 1000 - $1::bigint) < 1000 THEN 1 ELSE 0 END)"
	checkRows   = "WITH changed AS (%s RETURNING 1) SELECT 1 / (CASE WHEN (SELECT count(*) FROM changed) = %d THEN 1 ELSE 0 END)"
)

// replaceEvents removes what the event with the given number of newer ones replaces. It runs
// after that event was added, because the newest event gives the next one its number.
const replaceEvents = "DELETE FROM events WHERE topic = $1 AND key = $2 AND seq < (" + newest + ") - $3"

// apply sends all statements in one pipeline, which is one implicit transaction. It is
// retried only if nothing was sent.
func (s *postgresStore) apply(ctx context.Context, firm bool, p *Plan) (seq int64, err error) {
	b := &pgx.Batch{}
	b.Queue(setLocal, localSettings(firm)...)
	s.queueStatements(b, p.Inserts)
	b.Queue(lockWriters)
	b.Queue(checkClock, p.At.UnixMilli())
	s.queueStatements(b, p.Changes)
	queueEvents(b, afterCrash, p.Events)
	added := b.Len() - 1
	for i, e := range p.Events {
		if p.Latest {
			b.Queue(replaceEvents, e.Topic, e.Key, len(p.Events)-1-i)
		}
	}
	var before int64
	_, err = again(ctx, func() (struct{}, error) {
		conn, done, err := s.lane(ctx)
		if err != nil {
			return struct{}{}, err
		}
		defer done()
		var none any
		err = raw(conn, func(c *pgx.Conn) error { return flight(ctx, c, b, added, &before, &none) })
		if err != nil && !tooManyConnections(err) && !pgconn.SafeToRetry(err) {
			err = &sent{notSure(err)} // not to be sent again
		}
		return struct{}{}, err
	})
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == checkFailed {
		return 0, ErrChanged
	}
	return before + 1, err
}

func (s *postgresStore) queueStatements(b *pgx.Batch, list []Statement) {
	for _, one := range list {
		query := s.bind(one.Query)
		if one.Rows >= 0 {
			query = fmt.Sprintf(checkRows, query, one.Rows)
		}
		b.Queue(query, one.Args...)
	}
}

// sent is the error of statements that the server may have executed.
type sent struct{ err error }

func (s *sent) Error() string { return s.err.Error() }
func (s *sent) Unwrap() error { return s.err }
