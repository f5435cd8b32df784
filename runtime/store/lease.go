package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Lease is a name that one holder has for a while. Whoever holds it renews it;
// when the holder dies, it lapses, and others may take it.
type Lease struct {
	Name   string
	Holder string
	// Data is the holder's, such as an address, and outlives it: the next
	// holder can read it and carry on with the same. A lease without data is
	// nothing once it has ended.
	Data string
	// Until is when it lapses, by the clock of the store.
	Until time.Time
	// Once says that nobody renews it: it counts until it lapses, whatever clocks
	// say. It is of who claims, and not kept.
	Once bool

	taken time.Time // by the clock of who took it; zero: not known
}

// held says whether a lease counts. Over SQLite each process has its own clock: a
// lease that lies further ahead than it is long was taken before the clock was set
// back, or by a clock that is ahead. Its holder, if it lives, renews it soon;
// nobody else would ever see it lapse.
func (l Lease) held(now time.Time) bool {
	if !l.Until.After(now) {
		return false
	}
	length := l.Until.Sub(l.taken)
	return l.taken.UnixMilli() == 0 || l.Once || l.Until.Sub(now) <= 2*length
}

// Claim takes or renews the lease for ttl and reports whether it is held now.
// If not, it returns the lease of the one who holds it. An empty Data leaves
// what is there.
func (db *DB) Claim(ctx context.Context, l Lease, ttl time.Duration) (Lease, bool, error) {
	held := false
	err := db.UpdateFast(ctx, func(tx *Tx) error {
		old, err := readLease(ctx, tx, l.Name)
		if err != nil {
			return err
		}
		old.Once = l.Once
		if old.Holder != l.Holder && old.held(tx.Now) {
			l = old
			return nil
		}
		held = true
		if l.Data == "" {
			l.Data = old.Data
		}
		l.Until = tx.Now.Add(ttl)
		_, err = tx.Exec(ctx, `INSERT INTO leases (name, holder, data, until, taken) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, data = excluded.data, until = excluded.until, taken = excluded.taken`,
			l.Name, l.Holder, l.Data, l.Until.UnixMilli(), tx.Now.UnixMilli())
		return err
	})
	if err != nil {
		return Lease{}, false, fmt.Errorf("claim %s: %w", l.Name, err)
	}
	return l, held, nil
}

// Release lets go of a lease, if holder has it, for others at once, whatever
// their clocks say. Its data stays.
func (db *DB) Release(ctx context.Context, name, holder string) error {
	return db.UpdateFast(ctx, func(tx *Tx) error { return tx.Release(ctx, name, holder) })
}

// Release is [DB.Release] together with what else is true from then on.
func (tx *Tx) Release(ctx context.Context, name, holder string) error {
	_, err := tx.Exec(ctx, "DELETE FROM leases WHERE name = ? AND holder = ? AND data = ''", name, holder)
	if err == nil {
		// A lease without length has lapsed, also for one whose clock is behind.
		_, err = tx.Exec(ctx, "UPDATE leases SET until = ?, taken = ? WHERE name = ? AND holder = ? AND until > ?",
			tx.Now.UnixMilli(), tx.Now.UnixMilli(), name, holder, tx.Now.UnixMilli())
	}
	if err != nil {
		return fmt.Errorf("release %s: %w", name, err)
	}
	return nil
}

// Leases are the leases that have not lapsed and whose names start with prefix.
func (tx *Tx) Leases(ctx context.Context, prefix string) ([]Lease, error) {
	rows, err := tx.Query(ctx, "SELECT name, holder, data, until, taken FROM leases WHERE until > ? ORDER BY name", tx.Now.UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("read leases: %w", err)
	}
	defer rows.Close()
	var leases []Lease
	for rows.Next() {
		l, err := scanLease(rows)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(l.Name, prefix) && l.held(tx.Now) {
			leases = append(leases, l)
		}
	}
	return leases, rows.Err()
}

// Lease is the lease of a name, lapsed or not; the zero one if nobody ever had it.
func (tx *Tx) Lease(ctx context.Context, name string) (Lease, error) {
	return readLease(ctx, tx, name)
}

// readLease returns the lease of a name, lapsed or not; the zero one if nobody
// ever had it.
func readLease(ctx context.Context, tx *Tx, name string) (Lease, error) {
	l, err := scanLease(tx.QueryRow(ctx, "SELECT name, holder, data, until, taken FROM leases WHERE name = ?", name))
	if errors.Is(err, sql.ErrNoRows) {
		return Lease{}, nil
	}
	return l, err
}

func scanLease(row interface{ Scan(...any) error }) (l Lease, err error) {
	var until, taken int64
	if err = row.Scan(&l.Name, &l.Holder, &l.Data, &until, &taken); err != nil {
		return Lease{}, fmt.Errorf("read lease: %w", err)
	}
	l.Until, l.taken = time.UnixMilli(until).UTC(), time.UnixMilli(taken).UTC()
	return l, nil
}
