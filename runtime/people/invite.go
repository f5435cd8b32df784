package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// InviteTime is how long an invitation can be used.
const InviteTime = 24 * time.Hour

// Invite returns a secret that signs a browser in as the person, once. Earlier
// invitations stay valid, because they may be for another device. Fails with code
// [NoPerson].
func (r *Register) Invite(ctx context.Context, name string) (secret string, expires time.Time, err error) {
	secret = newSecret(invitePrefix)
	err = r.db.Update(ctx, func(tx *store.Tx) error {
		p, err := must(ctx, tx, name)
		if err != nil {
			return err
		}
		expires = tx.Now.Add(InviteTime)
		if _, err := tx.Exec(ctx, "INSERT INTO people_invites (hash, person, created, expires) VALUES (?, ?, ?, ?)",
			hashOf(secret), p.Name, millis(tx.Now), millis(expires)); err != nil {
			return fmt.Errorf("create invitation: %w", err)
		}
		return tell(tx, p.Name, Event{Type: "invited"})
	})
	return secret, expires, err
}

// Accept uses an invitation. It returns the name of the person, and the turn for
// [Register.Session]. Of several concurrent calls, one succeeds. Fails with code
// [InviteUsed].
func (r *Register) Accept(ctx context.Context, secret string) (name string, turn int64, err error) {
	ended := fault.New(InviteUsed, "this invitation was already used or is too old", "ask the person who sent it for a new one")
	if !r.invited(ctx, secret) {
		return "", 0, ended // strangers do not queue with the writers
	}
	err = r.db.Update(ctx, func(tx *store.Tx) error {
		used, err := tx.Exec(ctx, "UPDATE people_invites SET used = ? WHERE hash = ? AND used = 0 AND expires > ?", millis(tx.Now), hashOf(secret), millis(tx.Now))
		if err != nil {
			return fmt.Errorf("use invitation: %w", err)
		}
		if n, err := used.RowsAffected(); err != nil || n != 1 {
			return errors.Join(err, ended)
		}
		if err := tx.QueryRow(ctx, "SELECT person FROM people_invites WHERE hash = ?", hashOf(secret)).Scan(&name); err != nil {
			return fmt.Errorf("read invitation: %w", err)
		}
		p, err := find(ctx, tx, name)
		if err != nil {
			return err
		}
		if p == nil || p.removed != 0 {
			return ended
		}
		turn = p.turn
		if err := signed(ctx, tx, p); err != nil {
			return err
		}
		return tell(tx, name, Event{Type: "joined"})
	})
	if err != nil {
		return "", 0, err
	}
	return name, turn, nil
}

// EndInvitations ends everyone's invitations.
func (r *Register) EndInvitations(ctx context.Context) error {
	return r.db.Update(ctx, func(tx *store.Tx) error { return endInvitations(ctx, tx, "") })
}

// endInvitations ends the invitations of a person, or everyone's if name is empty.
func endInvitations(ctx context.Context, tx *store.Tx, name string) error {
	if _, err := tx.Exec(ctx, "UPDATE people_invites SET used = ? WHERE (person = ? OR ? = '') AND used = 0", millis(tx.Now), name, name); err != nil {
		return fmt.Errorf("end invitations: %w", err)
	}
	return nil
}

// signed records that a browser has signed in: the person can be asked.
func signed(ctx context.Context, tx *store.Tx, p *row) error {
	if _, err := tx.Exec(ctx, "UPDATE people SET signed = turn WHERE name = ?", p.Name); err != nil {
		return fmt.Errorf("record sign-in: %w", err)
	}
	return nil
}

// invitations returns who has an invitation that can be used.
func invitations(ctx context.Context, tx *store.Tx) (map[string]bool, error) {
	rows, err := tx.Query(ctx, "SELECT DISTINCT person FROM people_invites WHERE used = 0 AND expires > ?", millis(tx.Now))
	if err != nil {
		return nil, fmt.Errorf("read invitations: %w", err)
	}
	defer rows.Close()
	all := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("read invitation: %w", err)
		}
		all[name] = true
	}
	return all, rows.Err()
}

// invited reports whether secret may be an invitation. If the store cannot be read, it
// returns true, and the caller finds out why.
func (r *Register) invited(ctx context.Context, secret string) bool {
	var n int
	err := r.db.View(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(ctx, "SELECT COUNT(*) FROM people_invites WHERE hash = ?", hashOf(secret)).Scan(&n)
	})
	return err != nil || n > 0
}
