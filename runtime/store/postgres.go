package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
	goose "github.com/pressly/goose/v3/database"
)

// channel is the PostgreSQL notification channel for new events.
const channel = "deskhand_feed"

// migrationKey is the key of the advisory lock for migrations: "deskhand" in
// ASCII.
const migrationKey = 0x6465736b68616e64

// postgresStore uses one connection while it can, because each agent and each
// attempt has its own process, and a PostgreSQL server allows 100 connections by
// default. The same connection waits for notifications. Others are opened when
// the first one is busy for longer than laneWait, and closed soon after.
type postgresStore struct {
	first  *sql.DB       // one connection, for the goroutine that occupies turn
	others *sql.DB       // for those that do not get first within laneWait
	turn   chan struct{} // capacity 1
	bound  sync.Map      // query with ? -> query with $n
	pooled bool          // behind a pooler: no state of a session is kept

	wanted    atomic.Int32 // goroutines that wait for turn
	mu        sync.Mutex
	yield     func()    // ends the listener's wait; nil if it does not wait
	wake      func()    // called for each notification; nil if nobody listens
	listening *pgx.Conn // where LISTEN was last executed
}

func (db *DB) openPostgres(ctx context.Context, place string) error {
	db.place = withoutPassword(place)
	place, pooled, err := pooling(place)
	if err != nil {
		return err
	}
	config, err := pgx.ParseConfig(place)
	if err != nil {
		return err
	}
	s := &postgresStore{turn: make(chan struct{}, 1), pooled: pooled}
	if pooled {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // no prepared statement stays in a session
		config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
			return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn(), DeadlineDelay: pooledGrace}
		}
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = ownName()
	}
	config.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) { s.notified() }
	s.first, s.others = pool(config, 1, idleFor), pool(config, maxLanes, laneIdle)
	db.pools = []*sql.DB{s.others, s.first}
	db.read, db.dialect = s.first, s
	_, err = again(ctx, func() (struct{}, error) { return struct{}{}, db.read.PingContext(ctx) })
	return err
}

// poolerParameter of a store's URL says that the address is that of a pooler that gives each
// transaction another session. The only value is transaction.
const poolerParameter = "pooler"

// pooling returns the URL without [poolerParameter], and whether it was set.
func pooling(place string) (string, bool, error) {
	u, err := url.Parse(place)
	if err != nil || !u.Query().Has(poolerParameter) {
		return place, false, nil // pgx reports what is wrong
	}
	q := u.Query()
	if mode := q.Get(poolerParameter); mode != "transaction" {
		return "", false, fmt.Errorf("%s=%.40s in the store's URL: write %s=transaction, or leave it out", poolerParameter, mode, poolerParameter)
	}
	q.Del(poolerParameter)
	u.RawQuery = q.Encode()
	return u.String(), true, nil
}

// pooledLook is how often the feed is checked behind a pooler, which passes on no
// notifications.
const pooledLook = 250 * time.Millisecond

// pooledGrace is how long a statement behind a pooler may go on after its caller has given it
// up. Otherwise, its connection ends with a request to cancel the statement, and PgBouncer 1.18
// can crash when it gets one (its issue 801).
const pooledGrace = 2 * time.Second

// look checks at intervals whether the feed has grown, for a store behind a pooler.
func (s *postgresStore) look(ctx context.Context, wake func()) {
	last := int64(-1)
	for ctx.Err() == nil {
		if seq, err := s.seq(ctx); err == nil && seq != last {
			last = seq
			wake()
		}
		sleep(ctx, pooledLook)
	}
}

// seq returns the sequence number of the newest event.
func (s *postgresStore) seq(ctx context.Context) (seq int64, err error) {
	conn, done, err := s.lane(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	err = conn.QueryRowContext(ctx, newest).Scan(&seq)
	return seq, err
}

// idleFor is how long an idle first connection is kept open. It is a variable only
// for tests.
var idleFor = 10 * time.Second

const (
	// maxLanes is the maximum number of connections in addition to the first.
	maxLanes = 7
	// laneWait is how long a transaction waits for the first connection before it
	// uses another one. A transaction on a near database takes less.
	laneWait = 5 * time.Millisecond
	// laneIdle is how long other connections are kept open.
	laneIdle = 2 * time.Second
	// connectionPatience is how long an operation waits for a free connection of
	// the server. Other processes close idle connections after idleFor.
	connectionPatience = 20 * time.Second
)

func pool(config *pgx.ConnConfig, connections int, idle time.Duration) *sql.DB {
	p := stdlib.OpenDB(*config)
	p.SetMaxOpenConns(connections)
	p.SetMaxIdleConns(connections)
	p.SetConnMaxIdleTime(idle)
	return p
}

// lane returns a connection for one transaction. The caller must call done with
// it.
func (s *postgresStore) lane(ctx context.Context) (conn *sql.Conn, done func(), err error) {
	leave := func() { <-s.turn }
	pool := s.first
	select {
	case s.turn <- struct{}{}:
	default:
		if pool, err = s.otherLane(ctx); err != nil {
			return nil, nil, err
		}
		if pool == s.others {
			leave = func() {}
		}
	}
	if conn, err = pool.Conn(ctx); err != nil {
		leave()
		return nil, nil, err
	}
	return conn, func() { conn.Close(); leave() }, nil
}

// otherLane waits for the first connection, which it then occupies, or returns
// the others.
func (s *postgresStore) otherLane(ctx context.Context) (*sql.DB, error) {
	if s.others.Stats().Idle > 0 {
		return s.others, nil
	}
	s.wanted.Add(1)
	defer s.wanted.Add(-1)
	s.interrupt()
	late := time.NewTimer(laneWait)
	defer late.Stop()
	select {
	case s.turn <- struct{}{}:
		return s.first, nil
	case <-late.C:
		return s.others, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// interrupt makes the listener hand over the first connection.
func (s *postgresStore) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.yield != nil {
		s.yield()
	}
}

// pgTx is a transaction of PostgreSQL. Its begin and its end are one round trip
// each.
type pgTx struct {
	*sql.Conn
	s     *postgresStore
	done  func()
	ended bool
}

// raw calls f with the connection below conn.
func raw(conn *sql.Conn, f func(*pgx.Conn) error) error {
	return conn.Raw(func(c any) error { return f(c.(*stdlib.Conn).Conn()) })
}

// unsent returns the statements of b in a batch that was never sent. A batch remembers the
// statements that its first connection has prepared, which another connection has not.
func unsent(b *pgx.Batch) *pgx.Batch {
	fresh := &pgx.Batch{}
	for _, q := range b.QueuedQueries {
		fresh.Queue(q.SQL, q.Arguments...).Fn = q.Fn
	}
	return fresh
}

// flight sends the statements of b in one round trip, and calls row for the rows
// of the statement with the index of.
func flight(ctx context.Context, c *pgx.Conn, b *pgx.Batch, of int, row ...any) error {
	results := c.SendBatch(ctx, unsent(b))
	var err error
	for i := range b.Len() {
		var e error
		if i == of {
			e = results.QueryRow().Scan(row...)
		} else {
			_, e = results.Exec()
		}
		err = cmp.Or(err, e)
	}
	return cmp.Or(err, results.Close())
}

// start runs the statements that begin a transaction, of which the last one reads
// the position.
func (s *postgresStore) start(ctx context.Context, b *pgx.Batch) (t transaction, at position, err error) {
	t, err = again(ctx, func() (transaction, error) {
		conn, done, err := s.lane(ctx)
		if err != nil {
			return nil, err
		}
		t := &pgTx{Conn: conn, s: s, done: done}
		if err := raw(conn, func(c *pgx.Conn) error { return flight(ctx, c, b, b.Len()-1, &at.seq, &at.now) }); err != nil {
			t.rollback()
			return nil, err
		}
		return t, nil
	})
	return t, at, err
}

// readPosition reads the clock in a statement of its own, because a wait for the
// lock in an earlier one may have taken a while.
const readPosition = "SELECT (" + newest + "), clock_timestamp()"

// lockWriters locks the row that every writer locks before it changes what others
// may change. Only one transaction writes at a time, so that sequence numbers appear
// in order and no deadlock is possible. Locking makes no new version of the row.
const lockWriters = "SELECT 1 FROM feed WHERE id = 1 FOR UPDATE"

// After a crash or a failover, changes that did not wait for the disk may be lost, and other
// processes may have seen their events. So no later event gets one of their numbers, which
// those processes would skip. There are never as many such changes as numbers are skipped.
// The events before count as pruned, so that every follower reads the state again: it may show
// a change that was lost.
//
// markCrash inserts the row that such a crash has removed, while the writers' lock is held, and
// computes the number before the next event's. skipNumbers is for the rest of that statement.
const (
	markCrash = "WITH lost AS (INSERT INTO crash_marker (id) VALUES (1) ON CONFLICT DO NOTHING RETURNING id), " +
		"numbers AS (SELECT (" + newest + ") + 1000000 * (SELECT COUNT(*) FROM lost) AS before)"
	skipNumbers = "UPDATE feed SET floor = before, pruned = before FROM numbers, lost WHERE feed.id = 1"
)

// Beginnings of the statement that appends events after the number before. Either the
// transaction knows that number ($5), or it has not looked for a crash yet.
const (
	afterKnown = "WITH numbers AS (SELECT $5::bigint AS before)"
	afterCrash = markCrash + ", skip AS (" + skipNumbers + ")"
)

// setLocal sets the settings of one transaction. Without synchronous_commit, the
// commit may not be on disk yet when it returns. A firm commit waits for what the
// database's administrator has configured, for example a replica.
const setLocal = `SELECT set_config('lock_timeout', $1, true),
	set_config('synchronous_commit', CASE WHEN $2 THEN current_setting('synchronous_commit') ELSE 'off' END, true)`

func localSettings(firm bool) []any {
	return []any{strconv.FormatInt(lockWait.Milliseconds(), 10), firm}
}

func (s *postgresStore) read(ctx context.Context) (transaction, position, error) {
	b := &pgx.Batch{}
	b.Queue("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	b.Queue(readPosition)
	return s.start(ctx, b)
}

func (s *postgresStore) begin(ctx context.Context, firm bool) (transaction, position, error) {
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	b.Queue(setLocal, localSettings(firm)...)
	b.Queue(lockWriters)
	b.Queue(markCrash + " " + skipNumbers)
	b.Queue(readPosition)
	return s.start(ctx, b)
}

func (t *pgTx) commit(ctx context.Context, events []Event) error {
	b := &pgx.Batch{}
	if len(events) > 0 {
		queueEvents(b, afterKnown, events, events[0].Seq-1)
	}
	b.Queue("COMMIT")
	err := raw(t.Conn, func(c *pgx.Conn) error {
		err := flight(ctx, c, b, -1)
		if err == nil && c.PgConn().TxStatus() != 'I' {
			err = errors.New("the transaction did not end")
		}
		return err
	})
	if err == nil {
		t.close()
		return nil
	}
	return notSure(err)
}

// notSure marks err as uncertain unless the server has refused a statement.
func notSure(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && !broken(err) || pgconn.SafeToRetry(err) {
		return err
	}
	return &uncertain{err}
}

// queueEvents adds the statement that appends events to the feed and notifies the
// listeners of the commit. Its beginning, with args from $5 on, gives the number before the
// first event's: writers hold their lock until the commit, so the numbers have no gaps and
// become visible in order.
func queueEvents(b *pgx.Batch, beginning string, events []Event, args ...any) {
	var at []int64
	var topics, keys, data []string
	for _, e := range events {
		at, topics = append(at, e.At.UnixMilli()), append(topics, e.Topic)
		keys, data = append(keys, e.Key), append(data, string(e.Data))
	}
	b.Queue(beginning+`,
		added AS (INSERT INTO events (seq, at, topic, key, data) SELECT before + n, at, topic, key, data
			FROM numbers, unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS e (at, topic, key, data, n))
		SELECT before, pg_notify('`+channel+`', '') FROM numbers`, append([]any{at, topics, keys, data}, args...)...)
}

func (t *pgTx) rollback() {
	if t.ended {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTime)
	defer cancel()
	raw(t.Conn, func(c *pgx.Conn) error {
		if c.PgConn().TxStatus() == 'I' && !c.PgConn().IsBusy() {
			return nil
		}
		if _, err := c.Exec(ctx, "ROLLBACK"); err != nil {
			c.Close(ctx)
		}
		return nil
	})
	t.close()
}

// rollbackTime is how long a rollback may take before its connection is closed
// instead.
const rollbackTime = 3 * time.Second

func (t *pgTx) close() {
	t.ended = true
	t.done()
}

func (s *postgresStore) goose() gooseDialect { return goose.DialectPostgres }

// again calls begin, and repeats the call while it fails because of a broken
// connection, for example after a restart of the server. It must be used only
// for the start of an operation, when nothing has been done yet. It gives up
// after 3 seconds. If the server has no free connection, it waits longer, until
// other processes have closed their idle connections.
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
	if errors.As(err, new(*sent)) {
		return false
	}
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

func (s *postgresStore) migrationLock(ctx context.Context, f func(*sql.DB) error) error {
	conn, err := again(ctx, func() (*sql.Conn, error) { return s.others.Conn(ctx) })
	if err != nil {
		return err
	}
	defer conn.Close()
	// A transaction's lock also holds behind a pooler. Who waits holds no transaction, because
	// the pooler may have no other session for the one who migrates.
	for {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return fmt.Errorf("lock migrations: %w", err)
		}
		defer tx.Rollback()
		var held bool
		if err := tx.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(migrationKey)).Scan(&held); err != nil {
			return fmt.Errorf("lock migrations: %w", err)
		}
		if held {
			return f(s.others)
		}
		tx.Rollback()
		sleep(ctx, migrationLook)
	}
}

// migrationLook is how often a process that waits checks whether another one has migrated.
const migrationLook = 50 * time.Millisecond

// listenAgain is the interval at which the feed is checked even without a
// notification, because notifications can be lost if a connection breaks.
const listenAgain = 5 * time.Second

// notified passes on a notification, which may arrive with the result of any
// statement.
func (s *postgresStore) notified() {
	s.mu.Lock()
	wake := s.wake
	s.mu.Unlock()
	if wake != nil {
		wake()
	}
}

func (s *postgresStore) listen(ctx context.Context, wake func()) {
	s.mu.Lock()
	s.wake = wake
	s.mu.Unlock()
	if s.pooled {
		s.look(ctx, wake)
		return
	}
	wake() // the connection may have received notifications before
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wake = nil
	}()
	for ctx.Err() == nil {
		if s.listenOnce(ctx, wake) == nil {
			continue
		}
		sleep(ctx, 200*time.Millisecond)
	}
}

// listenOnce waits on the first connection until another goroutine needs it, or for
// listenAgain.
func (s *postgresStore) listenOnce(ctx context.Context, wake func()) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-s.turn }()
	conn, err := s.first.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return raw(conn, func(c *pgx.Conn) error {
		if s.listening != c || c.IsClosed() {
			if _, err := c.Exec(ctx, "LISTEN "+channel); err != nil {
				return err
			}
			s.listening = c
			wake()
		}
		wait, cancel := context.WithTimeout(ctx, listenAgain)
		defer cancel()
		s.setYield(cancel)
		defer s.setYield(nil)
		if s.wanted.Load() > 0 {
			return nil
		}
		for {
			switch err := c.PgConn().WaitForNotification(wait); {
			case errors.Is(wait.Err(), context.DeadlineExceeded):
				wake() // a notification may have been lost
				return nil
			case wait.Err() != nil && !c.IsClosed():
				return nil
			case err != nil:
				return err
			}
		}
	})
}

func (s *postgresStore) setYield(yield func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.yield = yield
}
