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
		if old.Holder != l.Holder && old.Until.After(tx.Now) {
			l = old
			return nil
		}
		held = true
		if l.Data == "" {
			l.Data = old.Data
		}
		l.Until = tx.Now.Add(ttl)
		_, err = tx.Exec(ctx, `INSERT INTO leases (name, holder, data, until) VALUES (?, ?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, data = excluded.data, until = excluded.until`,
			l.Name, l.Holder, l.Data, l.Until.UnixMilli())
		return err
	})
	if err != nil {
		return Lease{}, false, fmt.Errorf("claim %s: %w", l.Name, err)
	}
	return l, held, nil
}

// Release lets go of a lease, if holder has it. Its data stays.
func (db *DB) Release(ctx context.Context, name, holder string) error {
	err := db.UpdateFast(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM leases WHERE name = ? AND holder = ? AND data = ''", name, holder)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE leases SET until = ? WHERE name = ? AND holder = ? AND until > ?",
			tx.Now.UnixMilli(), name, holder, tx.Now.UnixMilli())
		return err
	})
	if err != nil {
		return fmt.Errorf("release %s: %w", name, err)
	}
	return nil
}

// Leases are the leases that have not lapsed and whose names start with prefix.
func (tx *Tx) Leases(ctx context.Context, prefix string) ([]Lease, error) {
	rows, err := tx.Query(ctx, "SELECT name, holder, data, until FROM leases WHERE until > ? ORDER BY name", tx.Now.UnixMilli())
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
		if strings.HasPrefix(l.Name, prefix) {
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
	l, err := scanLease(tx.QueryRow(ctx, "SELECT name, holder, data, until FROM leases WHERE name = ?", name))
	if errors.Is(err, sql.ErrNoRows) {
		return Lease{}, nil
	}
	return l, err
}

func scanLease(row interface{ Scan(...any) error }) (l Lease, err error) {
	var until int64
	if err = row.Scan(&l.Name, &l.Holder, &l.Data, &until); err != nil {
		return Lease{}, fmt.Errorf("read lease: %w", err)
	}
	l.Until = time.UnixMilli(until).UTC()
	return l, nil
}
