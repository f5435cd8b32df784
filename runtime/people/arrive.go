package people

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Codes of faults about signing in with an identity provider.
const (
	NotAllowed = "not_allowed"    // no group of the person allows anything
	Removed    = "person_removed" // the person was removed here
	NameTaken  = "name_taken"     // the name belongs to a person who was added here
)

// Grant is what a person may do.
type Grant struct {
	Scopes []access.Scope
	Roles  []string
	Guest  bool
}

// Arrival is a person whom an identity provider has identified.
type Arrival struct {
	// Issuer and Subject identify the person for ever, Name only at the first sign-in.
	Issuer, Subject, Name string
	// Grant is what the person's groups allow; nil if they allow nothing.
	Grant *Grant
	// Projects are the IDs of projects that the groups make the person a member of.
	// Managed are those that the groups decide on: the person leaves the others of these.
	Projects, Managed []string
	// Adopt lets a person whom the owner added, and who has never signed in with a
	// provider, be this one if the names are equal.
	Adopt bool
}

// Arrive records a sign-in. At the first one it adds the person; at each one it sets what the
// groups allow. It returns what [Register.Session] needs. Fails with code [NotAllowed],
// [Removed], [NameTaken] or [BadName]. Sessions and invitations of a person whose groups
// allow nothing any more end; it then calls also, as [Register.SignOut] does.
func (r *Register) Arrive(ctx context.Context, a Arrival, also ...Also) (name string, turn int64, err error) {
	var refusal error
	ctx = access.With(ctx, access.Caller{How: access.ByOIDC, Address: access.Of(ctx).Address}) // in the audit log
	err = r.db.Update(ctx, func(tx *store.Tx) error {
		p, ended, err := identified(ctx, tx, a)
		if err != nil {
			return err
		}
		if p != nil && !ended && p.removed == 0 && a.Grant == nil {
			refusal = notAllowed(p.Name)
			return signOut(ctx, tx, p.Name, also)
		}
		if p, err = a.person(ctx, tx, p, ended); err != nil {
			return err
		}
		name, turn = p.Name, p.turn
		return a.settle(ctx, tx, p)
	})
	if err = errors.Join(err, refusal); err != nil {
		return "", 0, err
	}
	return name, turn, nil
}

func notAllowed(name string) error {
	return fault.New(NotAllowed, fmt.Sprintf("no group of %.80q may use this installation", name), "ask its owner to add one of your groups to people.oidc.groups")
}

// identified returns the person who has signed in with the identity before, or nil. ended
// reports whether that person has been removed since, even if the name was added again.
func identified(ctx context.Context, tx *store.Tx, a Arrival) (p *row, ended bool, err error) {
	var name string
	var at int64
	err = tx.QueryRow(ctx, "SELECT person, ended FROM people_identities WHERE issuer = ? AND subject = ?", a.Issuer, a.Subject).Scan(&name, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read identity: %w", err)
	}
	p, err = find(ctx, tx, name)
	return p, at != 0, err
}

// person returns the person who arrives, given the one of the identity, and adds a new one.
// An identity that ended may only adopt the person who has its name now.
func (a Arrival) person(ctx context.Context, tx *store.Tx, known *row, ended bool) (*row, error) {
	if known != nil && !ended {
		return known, a.out(known)
	}
	if known != nil && (known.removed != 0 || !strings.EqualFold(known.Name, a.Name)) {
		return nil, gone(known.Name)
	}
	if a.Grant == nil {
		return nil, notAllowed(a.Name)
	}
	if err := CheckName(a.Name); err != nil {
		return nil, err
	}
	p, err := find(ctx, tx, a.Name)
	if err != nil {
		return nil, err
	}
	if p != nil {
		if err := a.mayAdopt(ctx, tx, p); err != nil {
			return nil, err
		}
	} else if err := admit(ctx, tx, Newcomer{Name: a.Name, Scopes: a.Grant.Scopes, Roles: a.Grant.Roles, Guest: a.Grant.Guest}); err != nil {
		return nil, err
	}
	if p == nil {
		if p, err = find(ctx, tx, a.Name); err != nil {
			return nil, err
		}
	}
	if _, err := tx.Exec(ctx, "INSERT INTO people_identities (issuer, subject, person) VALUES (?, ?, ?) ON CONFLICT (issuer, subject) DO UPDATE SET person = excluded.person, ended = 0", a.Issuer, a.Subject, p.Name); err != nil {
		return nil, fmt.Errorf("write identity: %w", err)
	}
	return p, nil
}

func (a Arrival) out(p *row) error {
	if p.removed != 0 {
		return gone(p.Name)
	}
	return nil
}

func gone(name string) error {
	return fault.New(Removed, name+" was removed from this installation", "ask its owner to add you again")
}

// mayAdopt refuses a name that belongs to somebody else.
func (a Arrival) mayAdopt(ctx context.Context, tx *store.Tx, p *row) error {
	if err := a.out(p); err != nil {
		return err
	}
	var others int
	if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM people_identities WHERE person = ? AND ended = 0", p.Name).Scan(&others); err != nil {
		return fmt.Errorf("count identities: %w", err)
	}
	if others > 0 || !a.Adopt {
		return fault.New(NameTaken, "the name "+p.Name+" belongs to a person who does not sign in with this account", "ask the owner to remove that person, or to set people.oidc.adopt if it is you")
	}
	return nil
}

// settle sets what the groups allow.
func (a Arrival) settle(ctx context.Context, tx *store.Tx, p *row) error {
	guest := 0
	if a.Grant.Guest {
		guest = 1
	}
	if _, err := tx.Exec(ctx, "UPDATE people SET scopes = ?, roles = ?, guest = ? WHERE name = ?",
		join(inOrder(a.Grant.Scopes), " "), strings.Join(a.Grant.Roles, " "), guest, p.Name); err != nil {
		return fmt.Errorf("change person: %w", err)
	}
	now := p.Person
	now.Scopes, now.Roles, now.Guest = inOrder(a.Grant.Scopes), a.Grant.Roles, a.Grant.Guest
	if now.allows() != p.allows() {
		if err := tell(tx, p.Name, Event{Type: "changed", Detail: now.allows() + ", by the groups"}); err != nil {
			return err
		}
	}
	all, err := members(ctx, tx)
	if err != nil {
		return err
	}
	for _, project := range a.Projects {
		if !slices.Contains(all[project], p.Name) {
			if err := enter(ctx, tx, project, p.Name); err != nil {
				return err
			}
		}
	}
	for _, project := range a.Managed {
		if slices.Contains(all[project], p.Name) && !slices.Contains(a.Projects, project) {
			if err := drop(ctx, tx, project, p.Name); err != nil {
				return err
			}
		}
	}
	if err := signed(ctx, tx, p); err != nil {
		return err
	}
	return tell(tx, p.Name, Event{Type: "arrived"})
}

// drop ends a membership and keeps the project closed.
func drop(ctx context.Context, tx *store.Tx, project, name string) error {
	for _, change := range []struct{ query, person string }{
		{"INSERT INTO people_projects (project, person) VALUES (?, ?) ON CONFLICT (project, person) DO NOTHING", nobody},
		{"DELETE FROM people_projects WHERE project = ? AND person = ?", name},
	} {
		if _, err := tx.Exec(ctx, change.query, project, change.person); err != nil {
			return fmt.Errorf("remove member: %w", err)
		}
	}
	return tell(tx, name, Event{Type: "memberRemoved", Project: project})
}

// Known returns the caller whom a trusted proxy names, and what [Register.Session] needs. ok is
// false if nobody has the name.
func (r *Register) Known(ctx context.Context, name string) (c access.Caller, turn int64, ok bool, err error) {
	err = r.db.View(ctx, func(tx *store.Tx) error {
		p, err := find(ctx, tx, name)
		if err != nil || p == nil || p.removed != 0 {
			return err
		}
		all, err := members(ctx, tx)
		c = callerOf(p, all)
		turn, ok = p.turn, err == nil
		return err
	})
	return c, turn, ok, err
}
