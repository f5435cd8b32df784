package people

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// usedEvery is how exactly the last use of a token is known. A write for each request
// would take longer than most requests.
const usedEvery = time.Minute

// CreateToken creates a token for a person and returns it. Nothing returns it again.
// expires is zero for a token that does not expire. projects are the IDs of the projects
// that it is for; none means all that the person knows of. Fails with code [NoPerson],
// [BadScope] or [NotSeen].
func (r *Register) CreateToken(ctx context.Context, name string, scopes []access.Scope, expires time.Time, projects ...string) (secret string, t Token, err error) {
	if len(scopes) == 0 {
		return "", Token{}, fault.New(BadScope, "a token without a scope opens nothing", "use one or more of "+Words(access.Scopes)+", separated by commas")
	}
	secret = newSecret(tokenPrefix)
	err = r.db.Update(ctx, func(tx *store.Tx) error {
		p, err := must(ctx, tx, name)
		if err != nil {
			return err
		}
		if err := mustSee(ctx, tx, p, projects); err != nil {
			return err
		}
		t = Token{ID: newTokenID(), For: p.Name, Scopes: inOrder(scopes), Created: tx.Now, Expires: expires.UTC(), Projects: projects}
		if expires.IsZero() {
			t.Expires = time.Time{}
		}
		if _, err := tx.Exec(ctx, "INSERT INTO people_tokens (id, person, hash, scopes, created, expires, projects) VALUES (?, ?, ?, ?, ?, ?, ?)",
			t.ID, t.For, hashOf(secret), join(t.Scopes, " "), millis(t.Created), millis(t.Expires), strings.Join(projects, " ")); err != nil {
			return fmt.Errorf("create token: %w", err)
		}
		return tell(tx, t.For, Event{Type: "tokenCreated", Token: t.ID, Detail: t.allows()})
	})
	if err != nil {
		return "", Token{}, err
	}
	return secret, t, nil
}

// allows returns what a token opens, for the audit log.
func (t Token) allows() string {
	text := "scopes " + join(t.Scopes, ",")
	if len(t.Projects) > 0 {
		text += ", projects " + strings.Join(t.Projects, ",")
	}
	if !t.Expires.IsZero() {
		text += ", until " + t.Expires.Format(time.RFC3339)
	}
	return text
}

// Revoke ends a token. Revoking it again changes nothing. Fails with code [NoToken].
func (r *Register) Revoke(ctx context.Context, id string) (t Token, err error) {
	err = r.db.Update(ctx, func(tx *store.Tx) error {
		found, err := listTokens(ctx, tx, "WHERE id = ?", id)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fault.New(NoToken, fmt.Sprintf("there is no token %.80q", id), "deskhand token list shows their IDs")
		}
		if t = found[0]; !t.Revoked.IsZero() {
			return nil
		}
		t.Revoked = tx.Now
		if _, err := tx.Exec(ctx, "UPDATE people_tokens SET revoked = ? WHERE id = ?", millis(tx.Now), id); err != nil {
			return fmt.Errorf("revoke token: %w", err)
		}
		return tell(tx, t.For, Event{Type: "tokenRevoked", Token: id})
	})
	return t, err
}

// Tokens lists all tokens, also those that have ended, by the time of their creation.
// It is empty, not nil, if there are none.
func (r *Register) Tokens(ctx context.Context) (all []Token, err error) {
	err = r.db.View(ctx, func(tx *store.Tx) error {
		all, err = listTokens(ctx, tx, "")
		return err
	})
	return all, err
}

func listTokens(ctx context.Context, tx *store.Tx, where string, args ...any) ([]Token, error) {
	rows, err := tx.Query(ctx, "SELECT "+tokenColumns+" FROM people_tokens "+where+" ORDER BY created, id", args...)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	defer rows.Close()
	all := []Token{}
	for rows.Next() {
		t, err := scanToken(rows)
		if err != nil {
			return nil, fmt.Errorf("read token: %w", err)
		}
		all = append(all, t)
	}
	return all, rows.Err()
}

const tokenColumns = "id, person, scopes, created, expires, used, revoked, projects"

func scanToken(row interface{ Scan(...any) error }) (t Token, err error) {
	var scopes, projects string
	var created, expires, used, revoked int64
	err = row.Scan(&t.ID, &t.For, &scopes, &created, &expires, &used, &revoked, &projects)
	t.Scopes, t.Projects = splitScopes(scopes), strings.Fields(projects)
	t.Created, t.Expires, t.Used, t.Revoked = at(created), at(expires), at(used), at(revoked)
	return t, err
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Bearer returns the caller that sent a token, and when the token expires (zero:
// never). It records the use. Fails with code [Unknown], [Expired] or [Revoked].
func (r *Register) Bearer(ctx context.Context, secret string) (c access.Caller, until time.Time, err error) {
	var t Token
	var now time.Time
	var sees access.Boundary
	var roles []string
	err = r.db.View(ctx, func(tx *store.Tx) (err error) {
		now = tx.Now
		t, err = scanToken(tx.QueryRow(ctx, "SELECT "+tokenColumns+" FROM people_tokens WHERE hash = ?", hashOf(secret)))
		if err == nil {
			sees, roles, err = boundaryOf(ctx, tx, t)
		}
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return c, until, fault.New(Unknown, "the token is wrong", "")
	}
	if err != nil {
		return c, until, fmt.Errorf("check token: %w", err)
	}
	if err := refused(t, now); err != nil {
		return c, until, err
	}
	if now.Sub(t.Used) >= usedEvery {
		// A full disk must not lock people out, and a running removal wins.
		_ = r.db.UpdateFast(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE people_tokens SET used = ? WHERE id = ? AND used < ?", millis(now), t.ID, millis(now))
			return err
		})
	}
	return access.Caller{Level: access.Agents, How: access.ByNamed, Name: t.For, Scopes: t.Scopes, Roles: roles, Token: t.ID, Boundary: sees}, t.Expires, nil
}

// refused returns the fault for a token that has ended, or nil.
func refused(t Token, now time.Time) error {
	switch t.Ended(now) {
	case Revoked:
		return fault.New(Revoked, fmt.Sprintf("the token %s of %s was revoked", t.ID, t.For), "")
	case Expired:
		return fault.New(Expired, fmt.Sprintf("the token %s of %s expired at %s", t.ID, t.For, t.Expires.Format(time.RFC3339)), "")
	}
	return nil
}

// Valid reports whether a token that was valid still is, and which projects it knows of.
func (r *Register) Valid(ctx context.Context, id string) (valid bool, sees access.Boundary, err error) {
	s, err := r.Snapshot(ctx, nil, []string{id})
	if err == nil {
		valid, sees = s.Valid(id)
	}
	return valid, sees, err
}
