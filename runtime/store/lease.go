package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Lease is a name that has at most one holder at a time. The holder must renew
// the lease. If the holder dies, the lease expires, and another holder may take
// it.
type Lease struct {
	Name   string
	Holder string
	// Data belongs to the holder and is, for example, an address. It outlives
	// the lease, so that the next holder can read it. If a lease has no data,
	// it is deleted some time after it has expired.
	Data string
	// Until is the time at which the lease expires, by the store's clock.
	Until time.Time
	// Once is set by a claimer that will not renew the lease. The lease then
	// stays in force until it expires, even if a clock is set back. Once is not
	// stored.
	Once bool

	taken time.Time // when the lease was taken, by the taker's clock; zero if unknown
}

// held reports whether the lease is in force. With SQLite, each process uses
// its own clock. If a lease expires later than its length allows, a clock was
// set back after the lease was taken, or the taker's clock is ahead. Such a
// lease is not in force.
func (l Lease) held(now time.Time) bool {
	if !l.Until.After(now) {
		return false
	}
	length := l.Until.Sub(l.taken)
	return l.taken.UnixMilli() == 0 || l.Once || l.Until.Sub(now) <= 2*length
}

// Claim takes or renews the lease for the duration ttl. It reports whether
// l.Holder now holds the lease. If another holder has it, Claim returns that
// holder's lease. If Data is empty, the stored data stays.
func (db *DB) Claim(ctx context.Context, l Lease, ttl time.Duration) (Lease, bool, error) {
	held := false
	err := db.UpdateFast(ctx, func(tx *Tx) (err error) {
		l, held, err = tx.Claim(ctx, l, ttl)
		return err
	})
	if err != nil {
		return Lease{}, false, fmt.Errorf("claim %s: %w", l.Name, err)
	}
	return l, held, nil
}

// Claim does the same as [DB.Claim] within a transaction.
func (tx *Tx) Claim(ctx context.Context, l Lease, ttl time.Duration) (Lease, bool, error) {
	old, err := readLease(ctx, tx, l.Name)
	if err != nil {
		return l, false, err
	}
	old.Once = l.Once
	if old.Holder != l.Holder && old.held(tx.Now) {
		return old, false, nil
	}
	if l.Data == "" {
		l.Data = old.Data
	}
	l.Until = tx.Now.Add(ttl)
	_, err = tx.Exec(ctx, `INSERT INTO leases (name, holder, data, until, taken) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, data = excluded.data, until = excluded.until, taken = excluded.taken`,
		l.Name, l.Holder, l.Data, l.Until.UnixMilli(), tx.Now.UnixMilli())
	return l, true, err
}

// Release ends a lease immediately, if it is held by holder. The lease's data
// stays.
func (db *DB) Release(ctx context.Context, name, holder string) error {
	return db.UpdateFast(ctx, func(tx *Tx) error { return tx.Release(ctx, name, holder) })
}

// Release does the same as [DB.Release] within a transaction.
func (tx *Tx) Release(ctx context.Context, name, holder string) error {
	_, err := tx.Exec(ctx, "DELETE FROM leases WHERE name = ? AND holder = ? AND data = ''", name, holder)
	if err == nil {
		// A lease of length zero has expired even for a process whose clock is
		// behind.
		_, err = tx.Exec(ctx, "UPDATE leases SET until = ?, taken = ? WHERE name = ? AND holder = ? AND until > ?",
			tx.Now.UnixMilli(), tx.Now.UnixMilli(), name, holder, tx.Now.UnixMilli())
	}
	if err != nil {
		return fmt.Errorf("release %s: %w", name, err)
	}
	return nil
}

// Leases returns the unexpired leases whose names start with prefix.
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

// Lease returns the lease with this name, expired or not. It returns the zero
// Lease if there has never been one.
func (tx *Tx) Lease(ctx context.Context, name string) (Lease, error) {
	return readLease(ctx, tx, name)
}

// readLease returns the lease with this name, expired or not, or the zero Lease
// if there is none.
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
