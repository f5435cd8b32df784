package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// channel is the PostgreSQL notification channel for new events.
const channel = "deskhand_feed"

// migrationKey is the key of the advisory lock for migrations: "deskhand" in
// ASCII.
const migrationKey = 0x6465736b68616e64

type postgresStore struct {
	config *pgx.ConnConfig
	firm   *sql.DB // commits are on disk when they return
	fast   *sql.DB // commits may not be on disk yet when they return
	reader *sql.DB
	bound  sync.Map // query with ? -> query with $n
}

func (db *DB) openPostgres(ctx context.Context, place string) error {
	db.place = withoutPassword(place)
	config, err := pgx.ParseConfig(place)
	if err != nil {
		return err
	}
	fast := config.Copy()
	fast.RuntimeParams["synchronous_commit"] = "off"
	s := &postgresStore{
		config: config,
		firm:   pool(config, 2), // two connections, because a migration also holds a lock
		fast:   pool(fast, 1),
		reader: pool(config, 4),
	}
	db.pools = []*sql.DB{s.reader, s.fast, s.firm}
	db.read, db.dialect = s.reader, s
	_, err = again(ctx, func() (struct{}, error) { return struct{}{}, db.read.PingContext(ctx) })
	return err
}

// idleFor is how long an idle connection is kept open. Each agent and each
// attempt has its own process, and a PostgreSQL server allows only 100
// connections by default. An idle process should therefore hold only two or
// three. idleFor is a variable only for tests.
var idleFor = 10 * time.Second

// connectionPatience is how long an operation waits for a free connection.
// Other processes close their idle connections after idleFor.
const connectionPatience = 20 * time.Second

func pool(config *pgx.ConnConfig, connections int) *sql.DB {
	p := stdlib.OpenDB(*config)
	p.SetMaxOpenConns(connections)
	p.SetMaxIdleConns(connections)
	p.SetConnMaxIdleTime(idleFor)
	return p
}

func (s *postgresStore) goose() gooseDialect { return goose.DialectPostgres }

func (s *postgresStore) read(ctx context.Context) (*sql.Tx, func(), error) {
	tx, err := again(ctx, func() (*sql.Tx, error) {
		return s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	})
	return tx, func() {}, err
}

// again calls begin. If the call fails because of a broken connection, for
// example after a restart of the server, it is repeated for up to 3 seconds. If
// the server has no free connection, it is repeated for longer, until other
// processes have closed their idle connections. Use this function only for the
// start of an operation, when nothing has been done yet.
func again[T any](ctx context.Context, begin func() (T, error)) (T, error) {
	since := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		v, err := begin()
		patience := 3 * time.Second
		if tooManyConnections(err) {
			patience = connectionPatience
		}
		if err == nil || ctx.Err() != nil || !broken(err) || time.Since(since) > patience {
			return v, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// broken reports whether err concerns the connection and not a statement. Class
// 57P means that the server is stopping or starting.
func broken(err error) bool {
	var e *pgconn.PgError
	return !errors.As(err, &e) || strings.HasPrefix(e.Code, "57P") || tooManyConnections(err)
}

// tooManyConnections reports whether the server has no free connection.
func tooManyConnections(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "53300"
}

// bind replaces each ? with $1, $2 and so on.
func (s *postgresStore) bind(query string) string {
	if known, ok := s.bound.Load(query); ok {
		return known.(string)
	}
	var b strings.Builder
	n := 0
	for _, r := range query {
		if r == '?' {
			n++
			b.WriteString("$" + strconv.Itoa(n))
			continue
		}
		b.WriteRune(r)
	}
	if n <= 5*rowsAtOnce {
		s.bound.Store(query, b.String())
	}
	return b.String()
}

func (s *postgresStore) begin(ctx context.Context, firm bool) (*sql.Tx, error) {
	w := s.fast
	if firm {
		w = s.firm
	}
	return again(ctx, func() (*sql.Tx, error) {
		tx, err := w.BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		if err := s.lockWriters(ctx, tx); err != nil {
			tx.Rollback()
			return nil, err
		}
		return tx, nil
	})
}

// lockWriters locks the row that every writer locks first. Only one transaction
// writes at a time. Sequence numbers therefore appear in order, and no deadlock
// is possible.
func (s *postgresStore) lockWriters(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", lockWait.Milliseconds())); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "SELECT 1 FROM feed WHERE id = 1 FOR UPDATE")
	return err
}

// head reads the clock after the lock was taken, because waiting for the lock
// may have taken a while.
func (s *postgresStore) head(ctx context.Context, tx *sql.Tx) (seq int64, now time.Time, err error) {
	err = tx.QueryRowContext(ctx, "SELECT seq, clock_timestamp() FROM feed WHERE id = 1").Scan(&seq, &now)
	return seq, now, err
}

func (s *postgresStore) notify(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "NOTIFY "+channel)
	return err
}

func (s *postgresStore) migrationLock(ctx context.Context, f func(*sql.DB) error) error {
	conn, err := again(ctx, func() (*sql.Conn, error) { return s.firm.Conn(ctx) })
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(migrationKey)); err != nil {
		return fmt.Errorf("lock migrations: %w", err)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(migrationKey))
	return f(s.firm)
}

// listenAgain is the interval at which the feed is checked even without a
// notification, because notifications can be lost if a connection breaks.
const listenAgain = 5 * time.Second

func (s *postgresStore) listen(ctx context.Context, wake func()) {
	for ctx.Err() == nil {
		s.listenOnce(ctx, wake)
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (s *postgresStore) listenOnce(ctx context.Context, wake func()) {
	conn, err := pgx.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return
	}
	for {
		wake()
		wait, cancel := context.WithTimeout(ctx, listenAgain)
		_, err := conn.WaitForNotification(wait)
		late := wait.Err() != nil && ctx.Err() == nil
		cancel()
		if err != nil && !late {
			return
		}
	}
}
